"""benchmarks/bench_untuned.py: the same tables on every call, and what it says of two versions."""

import json

import numpy as np
import pytest

from ..benchmark_modules import load

UNTUNED = load("bench_untuned")
TABLES = load("_untuned_tables")


@pytest.mark.parametrize("name", TABLES.TABLES)
def test_a_table_is_the_same_on_every_call(name):
    X = TABLES.TABLES[name]()
    assert np.array_equal(X, TABLES.TABLES[name]())
    assert np.isfinite(X).all()
    assert len(X) > X.shape[1] >= 10


@pytest.mark.parametrize("name", TABLES.TAILS)
def test_rows_of_a_setting_have_the_size_that_its_name_tells(name):
    rows = TABLES.TAILS[name][0](3)
    assert name.endswith("{} x {}".format(*rows.shape))
    assert np.array_equal(rows, TABLES.TAILS[name][0](3))


def run_of(path, losses, package="p"):
    cells = [
        {"table": table, "k": 2, "epsilon": 1.0, "shape": [100, 10], "losses": found}
        for table, found in losses.items()
    ]
    path.write_text(json.dumps({"facts": {"package": package}, "cells": cells}))
    return path


@pytest.fixture
def two_runs(tmp_path):
    """One cell is the same but for its seeds, one loses twice what it lost."""
    rng = np.random.default_rng(0)
    draws = {
        (version, table): list(factor * np.exp(0.2 * rng.standard_normal(40)))
        for version, table, factor in [(0, "a", 1), (0, "b", 1), (1, "a", 1), (1, "b", 2)]
    }
    return [
        run_of(tmp_path / f"{version}.json", {t: {"PrivatePCA": draws[version, t]} for t in "ab"})
        for version in (0, 1)
    ]


def test_a_cell_that_lost_is_told_from_one_that_did_not(two_runs, capsys):
    UNTUNED.compare(*two_runs, "PrivatePCA")
    text = capsys.readouterr().out
    row = {line[0]: line for line in text.splitlines() if line[:2] in ("a ", "b ")}
    assert "surely worse" in row["b"]
    assert "surely" not in row["a"]
    # medians of 40 fits with a standard deviation of .2: 4 standard errors of their ratio
    assert float(text.split("worst ")[1].split(":")[0]) == pytest.approx(2, rel=0.22)
    assert float(text.split("geometric mean ")[1].split()[0]) == pytest.approx(2**0.5, rel=0.16)


def test_a_version_beside_itself_has_not_changed(two_runs, capsys):
    UNTUNED.compare(two_runs[0], two_runs[0], "PrivatePCA")
    text = capsys.readouterr().out
    assert "geometric mean 1.000" in text
    assert "surely" not in text


def test_regret_is_the_loss_over_the_least_of_all():
    cell = {"epsilon": 1.0, "losses": {"PrivatePCA": [3.0, 2.0, 1.0], "DPGauss": [1.0]}}
    assert UNTUNED.regrets([cell])[1.0] == [2.0]


def test_fits_below_half_the_median_are_counted():
    assert UNTUNED.bad([0.2, 0.2, 0.2, 0.59, 0.61]) == 1


def test_cells_that_are_not_measured_again_are_kept_of_the_same_package(tmp_path):
    path = run_of(tmp_path / "run.json", {"counts": {}, "digits": {}})
    assert [cell["table"] for cell in UNTUNED.others(path, ["count"], "p")] == ["digits"]
    assert UNTUNED.others(path, ["count"], "another") == []
    assert UNTUNED.others(path, [], "p") == []
