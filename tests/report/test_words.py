"""The fixed sentences, the context, the rounding, and the schema."""

import math
import re
from importlib.resources import files

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca._text.digits import count, down, percent_up, up
from skdppca.report import Context, ReleaseReport
from skdppca.report._blocks import Block, called_for
from skdppca.report._context import HAZARDS, LABELS, denied
from skdppca.report._document import read
from skdppca.report._sections import templates, words

from ..estimators import on_all_estimators_slowly
from .conftest import text_of

say = words()

SENTENCES = {
    say.protected("patient", "add-remove", True): "Every patient. If one patient's rows were "
    "missing, the probability of any result would hardly change. The lines below say how much.",
    say.protected("row", "replace-one", False): "Every row. If one row were replaced by any other, "
    "the probability of any result could change. The lines below say how much.",
    say.strength("1", "1e-06", "gaussian"): "epsilon 1 at delta 1e-06 (Gaussian differential "
    "privacy).",
    say.exactly("0.237"): "Exactly: mu = 0.237. That is the strength of Gaussian noise, and it "
    "implies all of these deltas and epsilons.",
    say.worst_case("add-remove", "54.8"): "Suppose someone knows everybody else's data, and a coin "
    "decided whether yours were used. After seeing this release they can tell the coin's side in "
    "at most 54.8 % of cases. Without it: 50 %.",
    say.NO_LEDGER: "No ledger was charged. These figures hold for this release alone. Nothing "
    "adds it up with others of the same data.",
    say.definition("patient", "1", "1e-06", "add-remove"): "For any two data sets that differ in "
    "all rows of one patient (added or removed), and any set S of possible releases: P(release in "
    "S | one) <= e^1 P(release in S | other) + 1e-06.",
    say.definition("row", "1", "1e-06", "replace-one"): "For any two data sets that differ in one "
    "row (exchanged), and any set S of possible releases: P(release in S | one) <= e^1 P(release "
    "in S | other) + 1e-06.",
    say.detection("add-remove", "8.0", "1.9"): "No test that raises a false alarm for 5 % of the "
    "absent detects more than 8.0 % of the present; with 1 % false alarms, 1.9 %.",
    say.household("patient", 4, "68.3", "54.8"): "A household of 4 units (patient) is protected "
    "less: the coin's side can then be told in at most 68.3 % of cases, instead of 54.8 %.",
    say.about_delta("0.56", "1.32"): "delta belongs to how the guarantee is written as epsilon. It "
    "is not a chance that data are handed out: the same release has epsilon 0.56 at delta 1e-3 "
    "and 1.32 at 1e-9.",
    say.failure("1e-07"): "With probability at most 1e-07 a check inside the method fails, and no "
    "bound holds then.",
    say.component(2, "13", "97"): "Component 2 holds 13 % of the variance. Its direction agrees to "
    "97 % with that which the same method finds without noise in the covariance matrix (100 %: the "
    "same).",
    say.lost(3, 10): "3 of 10 components cannot be told from noise. Do not interpret them.",
    say.SIGNS: "Components' signs are arbitrary.",
    say.NOT_COVERED[0]: "Rows sent through these components are not protected.",
}


@pytest.mark.parametrize(("said", "expected"), SENTENCES.items())
def test_a_sentence_is_as_it_was_agreed(said, expected):
    assert said == expected


UNUSED = r"\b(anonym\w*|safe|secure\w*|compliant|low risk|re-identif\w*|guaranteed)\b"


SOURCES = sorted((files("skdppca.report") / "templates").glob("*.txt"))


def test_no_sentence_uses_a_word_that_promises_too_much():
    told = {
        source.name: re.sub("{#.*?#}", "", source.read_text(), flags=re.S) for source in SOURCES
    }
    assert {*told} == {"box.txt", "sections.txt", "words.txt"}
    told |= {"labels": str([*LABELS.values(), *HAZARDS.values()])}
    found = {name: re.findall(UNUSED, text, re.IGNORECASE) for name, text in told.items()}
    assert not any(found.values()), found


def test_words_and_values_are_escaped_where_they_are_shown():
    shown = templates().from_string("{{ text }}").render(text="<b>&'\"")
    assert shown == "&lt;b&gt;&amp;&#39;&#34;"
    pages = [path.read_text() for path in SOURCES[0].parent.glob("*.html")]
    assert len(pages) == 3 and not any(".txt" in page for page in pages)


def test_a_template_of_words_prints_nothing_past_the_blocks():
    template = templates().from_string("{{ text('called for') }} {{ value }}")
    found = called_for(template, {"pictures": [], "value": ""})
    assert found == [("", [Block("text", "called for")])]
    with pytest.raises(AssertionError, match="outside of a call"):
        called_for(template, {"pictures": [], "value": "<b>"})


def test_rounding_is_to_the_careful_side():
    values = np.random.default_rng(0).lognormal(sigma=8, size=500)
    assert all(float(up(v)) >= v * (1 - 1e-11) >= float(down(v)) * (1 - 1e-11) for v in values)
    shares = np.random.default_rng(1).uniform(size=500)
    assert all(float(percent_up(s)) >= 100 * s - 1e-9 for s in shares)
    assert (up(0.1 + 0.2), down(0.3), up(1e-6), percent_up(0.05)) == ("0.3", "0.3", "1e-06", "5")
    assert (up(math.inf), count(1234567.2)) == ("infinite", "1 234 567")


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"region": 3}, TypeError),
        ({"place": "here"}, ValueError),
        ({"purpose": "x" * 2001}, ValueError),
        (["purpose"], TypeError),
    ],
)
def test_a_context_refuses_what_it_has_no_place_for(answers, error):
    with pytest.raises(error):
        Context.from_dict(answers)


def test_a_context_reads_back():
    context = Context(purpose="Teach", timing="no")
    assert Context.from_dict(context.to_dict()) == context
    assert Context(purpose="  ").to_dict()["purpose"] is None
    assert set(context.to_dict()) == {*LABELS, *HAZARDS}


@pytest.mark.parametrize(
    ("answer", "no"),
    [
        (" no", True),
        ("Nothing", True),
        ("none", True),
        ("none.", True),
        ("No!", True),
        ("never", True),
        (" No: rows were scaled one by one", False),
        ("No , nothing", False),
        ("No, although we did scale by the sample sd", False),
        ("none; however columns were selected", False),
        ("No.\nWe scaled.", False),
        ("no, yes", False),
        ("none?", False),
        ("not by us", False),
        ("Not known", False),
        ("No idea, perhaps a scaler", False),
        ("None, except a StandardScaler", False),
        ("No. But columns were chosen", False),
        ("yes", False),
        ("normalised columns", False),
        ("I do not know", False),
    ],
)
def test_an_answer_denies_if_it_is_a_plain_no(answer, no):
    assert denied(answer) is no


def test_a_context_that_is_none_is_refused(made):
    with pytest.raises(TypeError, match="Context"):
        ReleaseReport(made.pca, context={"purpose": "Teach"})


X = np.random.default_rng(0).normal(size=(400, 6)) * [5, 4, 1, 1, 1, 1]
MODES = {
    "ledger": {},
    "none": {"accountant": None},
    "seeded": {"random_state": 0},
    "inf": {"epsilon": math.inf, "accountant": None},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@on_all_estimators_slowly
def test_the_schema_describes_every_report(factory, adjacency, mode):
    accountant = PrivacyAccountant(9.0, 1e-5, adjacency=adjacency)
    given = {"accountant": accountant, "epsilon": 8.0} | MODES[mode]
    pca = factory(2, adjacency=adjacency, **given).fit(X)
    report = ReleaseReport(pca, pictures=False)
    document = report.dict()
    assert read(report.json())[0] == document
    assert all(finding.passed for finding in report.check())
    assert (document["ledger"] is None) == (given["accountant"] is None)
    assert document["guarantee"]["private"] == (mode in ("ledger", "none"))
    page = report.html()
    assert ("box private" in page) == (mode == "ledger")
    assert "nan" not in re.sub(r"<[^>]*>", "", page).lower().replace("maintenance", "")


PURE = {"delta": 0, "norm_bound": 20.0, "center": False, "epsilon": 5.0}


def test_a_pure_guarantee_is_told_by_odds():
    from skdppca import PrivatePCA

    report = ReleaseReport(PrivatePCA(2, **PURE).fit(X), pictures=False)
    text = text_of(report)
    assert "epsilon 5, delta 0 (pure differential privacy)." in text
    assert "multiplies anyone's odds that a certain row took part by at most 148.5" in text
    assert read(report.json())[0] == report.dict()


@pytest.mark.parametrize(("answer", "said"), [("No. One.", '"No. One." A'), ("one", '"one". A')])
def test_an_answer_that_ends_a_sentence_gets_no_second_point(answer, said):
    assert f"the curator declares: {said} person" in say.several(answer)


def test_mu_and_shares_of_mu_stand_in_the_sections_only():
    accountant = PrivacyAccountant(3.0, 1e-6)
    rows = np.random.default_rng(0).standard_normal((500, 4))
    page = text_of(ReleaseReport(DPGauss(2, accountant=accountant).fit(rows), pictures=False))
    box, _, sections = page.partition(" 2. ")
    assert "mu" not in box.replace("much", "") and "Exactly: mu = 0.2368." in sections
    assert "costs add up as squares of mu" in sections
    assert "of the ledger's budget" in box
