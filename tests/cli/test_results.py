"""A shell tells what was found first, then the guarantee and the budget, a line each."""

import re

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.report import Context, ReleaseReport
from skdppca.report._results import found, results

from .conftest import csv_of

rng = np.random.default_rng(0)
ROWS = rng.standard_normal((4000, 1)) * [4, 3, 2, 1] + rng.standard_normal((4000, 4))

LINE = re.compile(r"(?m)^1 +[\d.]+ % +[\d.]+ to [\d.]+ % +clear 0\.\d\d +\S+ [+-]0\.\d\d, ")


@pytest.fixture
def clear(tmp_path, fit):
    """A fit of rows whose first direction is far above the noise."""
    options = ("-k", 2, "--method", "gauss", "--out", tmp_path / "clear")
    return fit(*options, data=csv_of(tmp_path / "clear.csv", ROWS)).out


def test_components_come_first_and_a_report_prints_the_same(clear, run, tmp_path):
    line, guarantee = LINE.search(clear), clear.index("\nGuarantee: ")
    assert line is not None and all(name in clear for name in ("alignment", "share of variance"))
    assert line.start() < guarantee < clear.index("\nBudget: ")
    table = clear[:guarantee]
    assert run("report", tmp_path / "clear").out.startswith(table)


def test_questions_are_printed_where_details_are_asked_for(clear, run, tmp_path):
    assert "of this fit's budget" not in clear
    details = run("report", tmp_path / "clear", "--details").out
    assert re.search(r"Gram matrix +[\d.]+% of this fit's budget", details)


def test_components_that_are_noise_say_so_in_their_lines(fit):
    said = fit("-k", 4, "--epsilon", 0.05).out
    lines = [line for line in said.splitlines() if re.match(r"\d  ", line)]
    assert len(lines) == 4
    lost = [line for line in lines if "lost in the noise" in line]
    assert lost and all(line.count("(") == 4 for line in lost)


def test_where_all_is_noise_the_plan_is_named_that_says_what_would_do(fit, tmp_path):
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).standard_normal((20, 30)))
    said = fit("-k", 2, "--method", "power", data=tmp_path / "wide.npy").out
    assert "`skdppca plan` says what would do, and reads no data." in said


def test_the_page_and_the_snippet_have_the_table_that_the_shell_prints(clear, tmp_path, run):
    page = (tmp_path / "clear" / "report.html").read_text()
    first = page[page.index('id="section-2"') : page.index('id="section-3"')]
    lines = clear.splitlines()
    (row,) = [line for line in lines if LINE.match(line + ", ")]
    number, *cells = re.split(r" {2,}", row)
    assert f">{number}</th>" in first
    for cell in cells:
        assert f">{cell}</td>" in first


def test_the_range_of_a_share_is_that_of_the_variance_over_the_same_total(made_report):
    (one, *_) = made_report.dict()["results"]["components"]
    cell = found(made_report.dict()).rows[0][2]
    low, high = (float(end) for end in re.findall(r"[\d.]+", cell))
    total = one["variance"] / one["share"]
    assert low == pytest.approx(100 * one["range"][0] / total, abs=0.5)
    assert high == pytest.approx(min(100 * one["range"][1] / total, 100), abs=0.5)
    assert low <= 100 * one["share"] <= high


@pytest.mark.parametrize(("epsilon", "is_rough"), [(1.0, True), (float("inf"), False)])
def test_a_share_without_a_range_is_called_rough_with_the_reason(epsilon, is_rough):
    report = ReleaseReport(DPGauss(2, epsilon=epsilon, clip="spherical").fit(ROWS), pictures=False)
    one = found(report.dict())
    cells = [row[one.heads.index("95 % range")] for row in one.rows] if is_rough else []
    assert set(cells) == ({"rough"} if is_rough else set()) and is_rough is (
        "95 % range" in one.heads
    )
    assert ("shares follow from a model of the rows" in str(report)) is is_rough


@pytest.fixture
def made_report():
    return ReleaseReport(DPGauss(2).fit(ROWS), pictures=False)


def test_what_is_not_private_says_so_first_and_has_no_budget(fit, run, tmp_path):
    said = fit("-k", 2, "--epsilon", "inf").out
    assert "NOT PRIVATE" in said
    shown = run("report", tmp_path / "out").out
    assert shown.startswith("NOT PRIVATE") and "private as stated" not in shown
    assert not any(word in said for word in ("Guarantee:", "Budget:", "ledger charge"))


def test_a_declared_answer_that_voids_stands_in_place_of_the_guarantee(made_report):
    context = Context(fitted_before="yes")
    pca = made_report._subject.fitted
    said = "\n".join(results(ReleaseReport(pca, context=context, pictures=False).dict()))
    assert "NOT AS STATED" in said and "Guarantee:" not in said


def test_a_shell_says_how_many_records_would_do_where_nothing_was_found():
    rows = np.random.default_rng(0).standard_normal((300, 20))
    fits = (DPGauss(2, epsilon=0.01, random_state=seed).fit(rows) for seed in range(10))
    # a fit of noise finds something in 8 % of all cases, and which seeds do follows from the BLAS
    pca = next(fit for fit in fits if max(fit.privacy_.details["alignments"]) <= 0)
    said = "\n".join(results(ReleaseReport(pca, pictures=False).dict()))
    assert re.search(r"about \d+ records \(enough if the first of 20 components holds", said)


@pytest.mark.parametrize(("scale", "given"), [("private", False), (None, True)])
def test_loadings_without_brackets_are_explained_where_their_noise_is_not_given(scale, given):
    pca = DPGauss(1, epsilon=10.0, scale=scale, random_state=0).fit(ROWS)
    said = "\n".join(results(ReleaseReport(pca, pictures=False).dict()))
    assert ("This fit cannot say how precise each loading is. Read the large" in said) is not given
