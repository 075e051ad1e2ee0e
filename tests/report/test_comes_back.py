"""Whatever a user calls things, a release passes its own check, or is refused before the charge."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdppca import KDPPCA, DPGauss, DPPowerMethod, PrivacyAccountant, PrivacyLedger, PrivatePCA
from skdppca._text import printable
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.report import Context, ReleaseReport, render, verify
from skdppca.report._contents import cell

ODD = {
    "return": "a\rb",
    "line": "a\nb",
    "tab": "\ta",
    "bell": "a\x07",
    "turned": "a\u202eb\u202c",
    "separator": "a\u2028b",
    "formula": "=1+1",
    "markup": '"><svg onload="x"> id="p1"',
    "emoji": "\u2764\ufe0f\U0001f600",
    "unseen": "a\u3164\u034f\U000e0147",
    "arabic": "\u0639\u0645\u0631",
}
HALVES = {"pair": "a\ud83d\ude00", "lone": "a\ud83d", "byte": "a\udcff"}
NUL = {"nul": "a\0"}


def fit(names=("age", "height", "weight"), **parameters):
    rows = np.random.default_rng(0).standard_normal((200, len(names)))
    return DPGauss(2, **parameters).fit(pd.DataFrame(rows, columns=pd.Index(names, dtype=object)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
def test_a_name_of_a_column(name, tmp_path):
    pca = fit((name, "height", "weight"))
    ReleaseReport(pca).write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.agrees, str(found)
    text = (tmp_path / "out" / "components.csv").read_bytes().decode()
    assert "\r" not in text
    _, first, *_ = csv.reader(io.StringIO(text, newline=""))
    assert first[0] == cell(name) and first[0].lstrip("'") == printable(name)
    page = (tmp_path / "out" / "report.html").read_text()
    assert printable(name) == name or name not in page


@pytest.mark.parametrize("name", (HALVES | NUL).values(), ids=HALVES | NUL)
def test_a_name_that_no_file_gives_back_is_refused_before_the_charge(name):
    accountant = PrivacyAccountant(2.0, 1e-6)
    with pytest.raises(ValueError, match="rename it"):
        fit((name, "height", "weight"), accountant=accountant)
    assert not accountant.receipts


@pytest.mark.parametrize("name", (HALVES | NUL).values(), ids=HALVES | NUL)
def test_a_name_given_to_the_report_is_refused(name):
    pca = DPGauss(1).fit(np.random.default_rng(0).standard_normal((200, 2)))
    with pytest.raises(ValueError, match="rename it"):
        ReleaseReport(pca, feature_names=[name, "b"], pictures=False)


@pytest.mark.parametrize("text", (HALVES | NUL).values(), ids=HALVES | NUL)
def test_a_title_or_an_answer_that_no_file_gives_back_is_refused(text):
    with pytest.raises(ValueError, match="purpose holds a NUL or half of a letter"):
        Context(purpose=text)
    with pytest.raises(ValueError, match="title holds a NUL or half of a letter"):
        ReleaseReport(fit(), title=text, pictures=False)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_a_title_and_an_answer(text, tmp_path):
    context = Context(purpose=text, fitted_before=("no", text))
    ReleaseReport(fit(), title=text, context=context, pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.agrees, str(found)
    page = (tmp_path / "out" / "report.html").read_text()
    assert printable(text) == text or text not in page


@pytest.mark.slow
@pytest.mark.parametrize("label", ODD.values(), ids=ODD)
def test_a_label(label, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 3.0, 1e-6)
    ledger.charge_external(label, mu=0.1, adjacency="add-remove")
    ReleaseReport(fit(accountant=ledger)).write(tmp_path / "out")
    found = verify(tmp_path / "out", ledger=ledger)
    assert found.agrees, str(found)
    page = (tmp_path / "out" / "report.html").read_text()
    assert printable(label) == label or label not in page


@pytest.mark.parametrize("label", (HALVES | NUL).values(), ids=HALVES | NUL)
def test_a_label_that_no_file_gives_back_is_refused_before_the_charge(label, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 3.0, 1e-6)
    with pytest.raises(ValueError, match="label="):
        ledger.charge_external(label, mu=0.1, adjacency="add-remove")
    assert not ledger.receipts


UNITS = [text for text in (ODD | HALVES | NUL).values() if printable(text) != text]


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_unit_that_cannot_be_printed_is_refused(unit, tmp_path):
    rows = np.random.default_rng(0).standard_normal((200, 3))
    with pytest.raises(ValueError, match="unit=") as refused:
        DPGauss(1, unit=unit).fit(rows, groups=np.arange(200) // 2)
    assert str(refused.value).isprintable()
    with pytest.raises(ValueError, match="unit="):
        PrivacyAccountant(1.0, 1e-6, unit=unit)
    with pytest.raises(ValueError, match="unit="):
        PrivacyLedger.create(tmp_path / "ledger", 1.0, 1e-6, unit=unit)
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("letter", ["\u034f", "\u2800", "\u3164", "\ufe00", "\U000e01ef"])
def test_a_letter_of_which_nothing_is_seen_is_an_escape(letter, tmp_path):
    ReleaseReport(fit((f"a{letter}", "a", "b")), pictures=False).write(tmp_path / "out")
    assert letter not in (tmp_path / "out" / "report.html").read_text()
    assert letter not in (tmp_path / "out" / "components.csv").read_text()
    with pytest.raises(ValueError, match="unit="):
        PrivacyAccountant(1.0, 1e-6, unit=f"person{letter}")


ROWS = np.random.default_rng(0).standard_normal((400, 6)) * [6, 5, 4, 3, 2, 1]
FRAME = pd.DataFrame(ROWS, columns=list("abcdef"))
PURE = {"delta": 0.0, "norm_bound": 9, "center": False, "epsilon": 2.0}
PUBLIC = {"norm_bound": 9, "epsilon": 1, "delta": 1e-5, "scale": [6, 5, 4, 3, 2, 1]}


def a_map():
    accountant = PrivacyAccountant(3.0, 1e-6)
    pca = DPGauss(2, accountant=accountant).fit(FRAME)
    limits = {"epsilon": 0.5, "delta": 1e-6, "extent": [(-9, 9)] * 2}
    return projection_map(pca, FRAME, accountant=accountant, **limits)


RELEASES = {
    "rows without names": lambda: DPGauss(2).fit(ROWS),
    "one component": lambda: DPGauss(1).fit(FRAME),
    "all components": lambda: DPGauss(None).fit(FRAME),
    "float32": lambda: DPGauss(2).fit(FRAME.astype(np.float32)),
    "private scales": lambda: DPGauss(2, scale="private").fit(FRAME),
    "scales by column": lambda: DPGauss(2, scale={"a": "private", "b": 4.5}).fit(FRAME),
    "public facts": lambda: DPGauss(2, **PUBLIC).fit(FRAME),
    "missing": lambda: DPGauss(2, missing="mean").fit(FRAME.mask(FRAME > 9)),
    "seeded": lambda: DPGauss(2, random_state=0).fit(FRAME),
    "no noise": lambda: DPGauss(2, epsilon=np.inf).fit(FRAME),
    "pure": lambda: PrivatePCA(2, **PURE).fit(FRAME),
    "groups": lambda: DPGauss(2, unit="person").fit(FRAME, groups=np.arange(400) // 2),
    "replace-one": lambda: DPGauss(2, adjacency="replace-one").fit(FRAME),
    "no spectrum": lambda: KDPPCA(2).fit(FRAME),
    "power": lambda: DPPowerMethod(2).fit(FRAME),
    "lost in the noise": lambda: DPGauss(6, epsilon=0.1).fit(FRAME),
    "search": lambda: PrivateSearchCV(DPGauss(), {"n_components": [1, 2]}).fit(FRAME),
    "pipeline": lambda: make_pipeline(StandardScaler(), DPGauss(2)).fit(FRAME),
    "grown": lambda: DPGauss(2).partial_fit(FRAME).partial_fit(FRAME),
    "map": a_map,
}


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_what_was_written_verifies_and_is_rendered_anew(release, tmp_path):
    report = ReleaseReport(release())
    report.write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.agrees, str(found)
    assert render(tmp_path / "out") == report.html() and not report.no_pictures
