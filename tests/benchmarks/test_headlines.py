"""Tables of headlines are those of the stored results; pages say what of a theorem holds."""

import shutil

import numpy as np
import pandas as pd
import pytest

from ..benchmark_modules import BENCHMARKS, load

HEADLINES = load("headlines")
DOC = BENCHMARKS.parent / "doc"
# What a page states of its papers, by the papers' numbers.
THEOREMS = {
    "dp_gauss": ["Dwork", "Corollary 1"],
    "residual_gauss": ["No theorem"],
    "kdppca": [
        *(f"Theorem {number}" for number in ("1", "2", "5.1", "5.3", "5.4")),
        *(f"Corollary {number}" for number in ("1", "2", "3", "5.2")),
    ],
    "kdpojas": ["Corollary 4", "Theorem 3.3", "Theorem 10"],
    "dp_power": ["Theorem 3.3", "Theorem 4.1", "Theorem 5.2"],
    "gdppca": [
        *(f"Theorem {number}" for number in ("3.2", "3.3", "3.4")),
        *(f"Proposition {number}" for number in ("3.5", "3.6")),
    ],
    "smooth_sensitivity": ["Theorem 1", "Theorem 2", "Theorem 9", "Remark 10"],
}
PAPERS = ["Düngler", "Liu, W. Kong", "Nicolas", "Kim, S. Jung", "Gonen"]


@pytest.mark.parametrize("name", ["d", "n", "sigma", "gap_release", "power", "kendall", "epsilon"])
def test_a_published_table_is_the_one_of_the_stored_results(name):
    table = HEADLINES.headlines(HEADLINES.PUBLISHED)[name]
    published = HEADLINES.PUBLISHED / f"headlines_{name}.csv"
    assert table.to_csv(index=False) == published.read_text()


def test_a_bound_that_is_four_times_larger_needs_four_times_the_epsilon(tmp_path):
    epsilons = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    curves = {HEADLINES.NICOLAS: 1 / epsilons, HEADLINES.BALCAN: 4 / epsilons}
    rows = [
        {"matrix": "A", "floor": 1, "method": method, "epsilon": e, "relative_error_median": error}
        for method, errors in curves.items()
        for e, error in zip(epsilons, errors, strict=True)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "power_relative_error_summary.csv", index=False)
    assert HEADLINES.epsilon_ratios(tmp_path).values.tolist() == [["A", 1, "4.0", "4.0"]]


def test_a_slope_in_sigma_is_that_of_the_loss(tmp_path, monkeypatch):
    shutil.copy(HEADLINES.PUBLISHED / "figure_2b_summary.csv", tmp_path)
    signed = [
        {"experiment": "signed", "method": "KDPPCA", "against": "sigma", "x": x, "median": x**2}
        for x in (0.01, 0.1, 0.3)
    ]
    monkeypatch.setattr(HEADLINES._common, "load", lambda name: (signed, {}))
    slopes = HEADLINES.sigma_slopes(tmp_path).set_index("method")
    assert slopes.loc["KDPPCA", "signed rows"] == "2.00"
    assert slopes.loc["KDPOjas", "signed rows"] == HEADLINES.DASH


@pytest.mark.parametrize("page", THEOREMS)
def test_a_method_says_what_of_its_theorems_holds(page):
    text = (DOC / "methods" / f"{page}.rst").read_text()
    section = text.partition("What the theorems say\n~~~~~")[2].partition("\n~~~~~")[0]
    assert [name for name in THEOREMS[page] if name not in section] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_of_the_methods_are_listed(paper):
    assert paper in (DOC / "theory" / "references.rst").read_text()
    assert paper.split(",")[0] in (DOC.parent / "README.md").read_text()
