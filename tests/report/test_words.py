"""The fixed sentences, the context, the rounding, and the schema."""

import math
import re
from importlib.resources import files

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca._text.digits import count, down, percent_up, up
from skdppca.privacy import verify_report
from skdppca.report import Context, ReleaseReport
from skdppca.report._context import DECISIVE, HAZARDS, LABELS
from skdppca.report._document import read
from skdppca.report._sections import templates, words

from ..estimators import on_all_estimators_slowly
from .conftest import text_of

say = words()

UNUSED = r"\b(anonym\w*|safe|secure\w*|compliant|low risk|re-identif\w*|guaranteed)\b"


SOURCES = sorted((files("skdppca.report") / "templates").glob("*.*"))


def test_no_sentence_uses_a_word_that_promises_too_much():
    told = {
        source.name: re.sub("{#.*?#}|{{ style.safe }}", "", source.read_text(), flags=re.S)
        for source in SOURCES
    }
    assert {"box.html", "sections.html", "words.txt"} < {*told}
    told |= {"labels": str([*LABELS.values(), *HAZARDS.values()])}
    found = {name: re.findall(UNUSED, text, re.IGNORECASE) for name, text in told.items()}
    assert not any(found.values()), found


def test_words_and_values_are_escaped_where_they_are_shown():
    shown = templates().from_string("{{ text }}").render(text="<b>&'\"")
    assert shown == "&lt;b&gt;&amp;&#39;&#34;"
    pages = {one.name: one.read_text() for one in SOURCES if one.name.endswith(".html")}
    # a page that imported the words by itself would take them for HTML
    assert len(pages) == 6 and not any(".txt" in page for page in pages.values())
    unescaped = [name for name, page in pages.items() for _ in range(page.count("|safe"))]
    assert unescaped == []


def test_words_are_plain_text_that_is_escaped_where_it_is_shown():
    called = templates().from_string("{{ say.quoted(value) }}").render(say=say, value="<b>")
    assert called == "&#34;&lt;b&gt;&#34;."
    assert say.quoted("<b>") == '"<b>".' and type(say.quoted("<b>")) is str


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
    ("given", "answer", "text"),
    [
        ("no", "no", ""),
        (("yes", " a scaler\n"), "yes", "a scaler"),
        (False, "no", ""),
        ({"answer": True}, "yes", ""),
        ({"answer": "unknown", "text": "We ask."}, "unknown", "We ask."),
    ],
)
def test_a_question_has_an_answer_and_a_text(given, answer, text):
    context = Context(timing=given)
    assert (context.timing.answer, context.timing.text) == (answer, text)
    assert Context.from_dict(context.to_dict()) == context


@pytest.mark.parametrize(
    "given", ["No, k=3 was fixed", "none", ("", "a text"), {"answer": "no", "why": "x"}, 0, ["no"]]
)
def test_a_question_takes_no_other_answer(given):
    with pytest.raises(ValueError, match="timing is answered by yes, no or unknown"):
        Context(timing=given)


@pytest.mark.parametrize("given", [None, "", ("", ""), {"answer": None, "text": ""}])
def test_a_question_may_stay_open(given):
    assert Context(timing=given).to_dict()["timing"] is None


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
    report = ReleaseReport(pca, context=Context(**DECISIVE), pictures=False)
    document = report.dict()
    assert read(report.json())[0] == document
    assert not verify_report(pca.privacy_)
    assert (document["ledger"] is None) == (given["accountant"] is None)
    assert document["fit"]["core"]["guarantee"]["private"] == (mode in ("ledger", "none"))
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


@pytest.mark.parametrize(
    ("answer", "said"), [("No. One.", '"No. One." The'), ("No. One", '"No. One". The')]
)
def test_an_answer_that_ends_a_sentence_gets_no_second_point(answer, said):
    assert f"the curator answers: {said} figures" in say.voided("Q?", answer)


def test_mu_and_shares_of_mu_stand_in_the_sections_only():
    accountant = PrivacyAccountant(3.0, 1e-6)
    rows = np.random.default_rng(0).standard_normal((500, 4))
    page = text_of(ReleaseReport(DPGauss(2, accountant=accountant).fit(rows), pictures=False))
    box, _, sections = page.partition(" 2. ")
    assert "mu" not in box.replace("much", "") and "Exactly: mu = 0.2368." in sections
    assert "Gaussian costs add up as squares of mu" in sections
    assert "is left at delta 1e-06 (charged as row 1 of the ledger" in box
