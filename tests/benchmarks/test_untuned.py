"""benchmarks/bench_untuned.py: the same tables on every call, and the regret."""

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


def test_regret_is_the_loss_over_the_least_of_all():
    cell = {"epsilon": 1.0, "losses": {"PrivatePCA": [3.0, 2.0, 1.0], "DPGauss": [1.0]}}
    assert UNTUNED.regrets([cell])[1.0] == [2.0]


def test_fits_below_half_the_median_are_counted():
    assert UNTUNED.bad([0.2, 0.2, 0.2, 0.59, 0.61]) == 1
