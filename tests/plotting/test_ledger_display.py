import io

import pytest

from skdppca import PrivacyAccountant
from skdppca.plotting import LedgerDisplay
from skdppca.privacy import GaussianEvent, PureEvent, statement

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402

NOTION = {"adjacency": "add-remove", "unit": "$p$"}


@pytest.fixture
def accountant():
    accountant = PrivacyAccountant(2.0, 1e-6, unit="$p$")
    accountant.charge(GaussianEvent(0.1), label="DPGauss $x$", **NOTION)
    accountant.charge_external("counts", epsilon=0.2, delta=0.0, adjacency="add-remove")
    accountant.charge(GaussianEvent(0.1), label="DPGauss", seeded=True, **NOTION)
    return accountant


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.mark.parametrize("over", ["charge", "time"])
def test_the_steps_are_the_running_totals_below_the_budget(accountant, ax, over):
    display = LedgerDisplay.from_ledger(accountant, ax=ax, over=over)
    assert display.ax_ is ax and display.figure_ is ax.figure
    totals = [entry.total for entry in accountant.statement().entries]
    assert list(display.line_.get_ydata())[:4] == [0.0, *totals]
    assert display.line_.get_drawstyle() == "steps-post"
    assert set(display.budget_.get_ydata()) == {2.0}
    ax.figure.savefig(io.BytesIO())


def test_each_kind_of_charge_has_its_mark_below_the_budget_in_words(accountant, ax):
    display = LedgerDisplay.from_ledger(accountant, ax=ax)
    totals = [entry.total for entry in accountant.statement().entries]
    kinds = ["release", "external", "seeded: not private"]
    assert list(display.marks_) == kinds
    for kind, place, total in zip(kinds, (1, 2, 3), totals, strict=True):
        ((x, y),) = display.marks_[kind].get_xydata()
        assert (x, y) == (place, total)
    assert len({mark.get_marker() for mark in display.marks_.values()}) == 3
    assert ax.get_title(loc="left") == (r"Budget: ε = 2, δ = 1e-06 for every \$p\$ (add-remove)")
    assert ax.get_xticklabels()[0].get_text() == r"DPGauss \$x\$"
    assert len(ax.lines) == 5


def test_a_total_that_was_left_out_is_skipped(ax, monkeypatch):
    monkeypatch.setattr(statement, "MOST_PRICED", 2)
    accountant = PrivacyAccountant(2.0, 1e-6, unit="$p$")
    for _ in range(5):
        accountant.charge(PureEvent(0.1), **NOTION)
    display = LedgerDisplay.from_ledger(accountant, ax=ax)
    assert list(display.line_.get_xdata()) == [0.0, 1, 2, 5, 5.5]


@pytest.mark.parametrize("over", ["charge", "time"])
@pytest.mark.parametrize("charges", [0, 1, 30])
def test_any_number_of_charges_is_drawn(ax, over, charges):
    accountant = PrivacyAccountant(2.0, 1e-6, unit="$p$")
    for _ in range(charges):
        accountant.charge(GaussianEvent(0.01), **NOTION)
    display = LedgerDisplay.from_ledger(accountant, ax=ax, over=over)
    ax.figure.savefig(io.BytesIO())
    assert display.alt_text_.startswith(f"{charges} charge")


def test_an_unknown_axis_is_refused(accountant, ax):
    with pytest.raises(ValueError, match="over='charges' is unknown; choose 'charge' or 'time'"):
        LedgerDisplay.from_ledger(accountant, ax=ax, over="charges")


def test_the_line_of_the_budget_does_not_cross_the_words_of_the_legend(ax):
    accountant = PrivacyAccountant(2.0, 1e-6)
    for _ in range(2):
        accountant.charge(GaussianEvent(0.2367 / 2**0.5), adjacency="add-remove", unit="row")
    display = LedgerDisplay.from_ledger(accountant, ax=ax)
    ax.figure.draw_without_rendering()
    words = display.ax_.get_legend().get_window_extent()
    line = display.ax_.transData.transform((0, 2.0))[1]
    assert not words.ymin <= line <= words.ymax
