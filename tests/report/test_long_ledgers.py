"""A report reads a long ledger once, and prices few of its totals."""

import json
from collections import Counter

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca.cli._main import main
from skdppca.plotting import LedgerDisplay, _ledger_display
from skdppca.privacy import GaussianEvent, PureEvent, Statement, chain, verify_report
from skdppca.privacy.composition import Composition
from skdppca.report import ReleaseReport, verify

# Each draws pictures or writes long files; `tests/cli/test_verify.py` has quick forgeries.
pytestmark = pytest.mark.slow

NOTION = {"adjacency": "add-remove", "unit": "row"}
ROWS = np.random.default_rng(0).standard_normal((300, 4))


def charged(path, n_charges, event):
    """A ledger with charges, and two fits that were charged to it."""
    ledger = PrivacyLedger.create(path, 3.0, 1e-6)
    for _ in range(n_charges):
        ledger.charge(event, **NOTION)
    return ledger, [DPGauss(2, epsilon=0.1, accountant=ledger).fit(ROWS) for _ in range(2)]


@pytest.fixture
def released(tmp_path):
    ledger, fits = charged(tmp_path / "ledger", 20, GaussianEvent(1e-4))
    ReleaseReport(fits[0], pictures=False).write(tmp_path / "out")
    return ledger, fits, tmp_path / "out"


@pytest.fixture
def read(monkeypatch):
    """How often each row of the ledger was verified."""
    rows, followed = Counter(), chain.Chain.followed

    def following(one, text, head):
        rows[json.loads(text)["row"]] += 1
        return followed(one, text, head)

    monkeypatch.setattr(chain.Chain, "followed", following)
    return rows


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger, fits, out: verify_report(fits[0].privacy_, ledger=ledger),
        lambda ledger, fits, out: verify(out, ledger=ledger),
        lambda ledger, fits, out: verify(out, ledger=ledger.path, head="0" * 64),
        lambda ledger, fits, out: main(["verify", str(out), "--ledger", ledger.path]),
        lambda ledger, fits, out: main(
            ["ledger", "verify", ledger.path, *2 * ["--report", str(out)]]
        ),
        lambda ledger, fits, out: main(["ledger", "show", ledger.path]),
        lambda ledger, fits, out: LedgerDisplay.from_ledger(PrivacyLedger(ledger.path)),
    ],
    ids=[
        *("verify_report", "verify", "verify a path", "skdppca verify"),
        *("skdppca ledger verify", "skdppca ledger show", "picture"),
    ],
)
def test_every_row_is_read_once(released, read, use):
    use(*released)
    assert read == dict.fromkeys(range(1, 25), 1)


def test_a_statement_is_not_read_again(released, read):
    ledger, fits, out = released
    statement = ledger.statement()
    assert verify(out, ledger=statement).agrees
    assert not verify_report(fits[0].privacy_, ledger=statement)
    assert not read


@pytest.mark.parametrize("event", [GaussianEvent(1e-4), PureEvent(1e-6)])
def test_a_report_prices_no_more_totals_of_a_longer_ledger(tmp_path, monkeypatch, event):
    monkeypatch.setattr("skdppca.privacy.statement.MOST_PRICED", 5)
    price, priced = Composition.epsilon, Counter()

    def counted(total, delta):
        priced[name] += 1
        return price(total, delta)

    monkeypatch.setattr(Composition, "epsilon", counted)
    for n_charges in (30, 60):
        name = "made"
        ledger, fits = charged(tmp_path / f"{n_charges}.ledger", n_charges, event)
        name = n_charges
        ReleaseReport(fits[0]).write(tmp_path / str(n_charges))
        assert verify(tmp_path / str(n_charges), ledger=ledger).agrees
    # a total that is drawn may be one of the last, which are listed, too
    assert 0 < priced[30] <= priced[60] + 5 and priced[60] <= priced[30] + 5


def test_of_many_charges_some_are_drawn_and_the_last_and_all_of_other_kinds(tmp_path, monkeypatch):
    monkeypatch.setattr(_ledger_display, "MOST_DRAWN", 3)
    ledger = PrivacyLedger.create(tmp_path / "ledger", 3.0, 1e-6)
    for i in range(12):
        if i in (4, 7):
            ledger.charge_external("counts", mu=0.1, adjacency="add-remove")
        else:
            ledger.charge(GaussianEvent(0.1), **NOTION)
    display = LedgerDisplay.from_ledger(ledger)
    assert list(display.line_.get_xdata())[1:-1] == [1, 5, 6, 8, 12]
    assert list(display.marks_["external"].get_xdata()) == [5, 8]
    assert display.line_.get_ydata()[-1] == ledger.spent.epsilon
    assert display.alt_text_.startswith("12 charges spent")


def test_totals_of_many_kinds_are_priced_at_two_places_at_least(monkeypatch):
    statement = "skdppca.privacy.statement."
    monkeypatch.setattr(f"{statement}MOST_KINDS", 6)
    account = chain.Chain(chain.Terms("0" * 32, 3.0, 1e-6, "add-remove", "row"))
    for i in range(8):
        account = account.charged(PureEvent(0.01 + 0.001 * (i % 3)), "", False)
    totals = [entry.total for entry in Statement(account).entries]
    assert [i for i, total in enumerate(totals) if total is not None] == [0, 1, 7]
    assert totals[-1] == Statement(account).spent.epsilon
