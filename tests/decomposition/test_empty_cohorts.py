"""A cohort that nobody came to is answered, as one of a single record: an error would tell."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from skdppca import DPGauss, PrivacyAccountant
from skdppca.mechanisms import norm_histogram

NAMES = ["age", "height", "weight", "pulse"]
ROWS = np.random.default_rng(0).normal(size=(300, 4)) * [4, 3, 2, 1] + 7
COST = {"epsilon": 0.5, "delta": 1e-7}

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::skdppca.exceptions.NoiseOnlyWarning"),
    pytest.mark.filterwarnings("ignore::skdppca.exceptions.CentreNotSeenWarning"),
]


def dask_rows(rows):
    da = pytest.importorskip("dask.array")
    return da.from_array(rows, chunks=(100, 4))


def table(rows):
    return pa.table({name: rows[:, j] for j, name in enumerate(NAMES)})


def in_files(rows, folder):
    pq.write_table(table(rows), folder)
    return ds.dataset(folder)


CONTAINERS = {
    "array": lambda rows, folder: rows,
    "float32": lambda rows, folder: rows.astype(np.float32),
    "frame": lambda rows, folder: pd.DataFrame(rows, columns=NAMES),
    "arrow": lambda rows, folder: table(rows),
    "csr": lambda rows, folder: sparse.csr_array(rows),
    "coo": lambda rows, folder: sparse.coo_array(rows),
    "files": in_files,
    "dask": lambda rows, folder: dask_rows(rows),
}

MODES = {
    "plain": {},
    "missing": {"missing": "mean"},
    "scaled": {"scale": "private"},
    "public": {"mean": [0.0] * 4, "norm_bound": 5.0},
    "uncentred": {"center": False},
}


def accountant(**given):
    return PrivacyAccountant(3.0, 1e-6, **given)


@pytest.mark.parametrize(
    ("container", "mode"),
    [*((container, "plain") for container in CONTAINERS), *(("array", mode) for mode in MODES)],
)
def test_an_empty_cohort_is_answered_first_and_later(container, mode, tmp_path):
    budgets = [accountant() for _ in range(3)]
    pca = DPGauss(2, **COST, **MODES[mode])
    for number, n in enumerate((0, 300, 0)):
        X = CONTAINERS[container](ROWS[:n], tmp_path / str(number))
        pca.partial_fit(X, accountant=budgets[number])
    assert [len(one.receipts) for one in budgets] == [1, 1, 1]
    assert np.isfinite(pca.components_).all() and pca.components_.shape == (2, 4)


@pytest.mark.parametrize("container", CONTAINERS)
def test_an_empty_cohort_is_answered_where_a_random_part_of_it_is_asked(
    container, tmp_path, monkeypatch
):
    monkeypatch.setattr(norm_histogram, "SAMPLING", replace(norm_histogram.SAMPLING, records=1e-6))
    budget = accountant()
    for n in (0, 1):
        X = CONTAINERS[container](ROWS[:n], tmp_path / str(n))
        pca = DPGauss(2, **COST, accountant=budget).partial_fit(X)
        assert np.isfinite(pca.components_).all()


@pytest.mark.parametrize("form", ["array", "files"])
def test_an_empty_cohort_of_groups_is_answered(form, tmp_path):
    budget = accountant(unit="patient")
    X, groups = ROWS[:0], np.empty(0, dtype=int)
    if form == "files":
        labelled = table(X).append_column("patient", pa.array([], pa.string()))
        pq.write_table(labelled, tmp_path / "t")
        X, groups = ds.dataset(tmp_path / "t"), "patient"
    pca = DPGauss(2, **COST, unit="patient", accountant=budget)
    pca.partial_fit(X, groups=groups)
    assert len(budget.receipts) == 1


@pytest.mark.parametrize(
    ("adjacency", "call"), [("add-remove", "fit"), ("replace-one", "partial_fit")]
)
def test_no_rows_are_refused_where_they_tell_nothing_private(adjacency, call):
    budget = accountant(adjacency=adjacency)
    pca = DPGauss(2, **COST, adjacency=adjacency, accountant=budget)
    with pytest.raises(ValueError, match="0 sample"):
        getattr(pca, call)(ROWS[:0])
    assert not budget.receipts


def test_other_faults_of_an_empty_cohort_are_refused_before_the_charge():
    budget = accountant()
    pca = DPGauss(2, **COST, accountant=budget).partial_fit(ROWS)
    with pytest.raises(ValueError, match="has 3 features"):
        pca.partial_fit(ROWS[:0, :3])
    assert len(budget.receipts) == 1
