"""Few rows, huge values, odd containers: a finite release, and data that stay as they were."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from skdppca import DPGauss
from skdppca.decomposition.validation import check_rows
from skdppca.noise import GaussianQuery
from skdppca.records import Records

from ..estimators import but_the_first_slow, on_all_estimators, on_estimators, released
from ..secret_rows import assert_fits_in_silence

on_all_n_components = on_estimators([{"n_components": k} for k in (None, 2, 0.5, "mle", "auto")])

FITTED = [
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
    "n_samples_",
]

IRIS = load_iris().data
GROUPS = {"row": None, "flower": np.arange(len(IRIS)) // 3}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("adjacency", but_the_first_slow(["add-remove", "replace-one"]))
@pytest.mark.parametrize("epsilon", but_the_first_slow([1.0, math.inf]))
@on_all_n_components
def test_few_rows_give_a_finite_release(factory, n, adjacency, epsilon, parameters):
    pca = factory(**parameters, adjacency=adjacency, epsilon=epsilon, random_state=0)
    assert_finite(pca, IRIS[:n])


@on_all_n_components
@pytest.mark.parametrize("epsilon", but_the_first_slow([1.0, 0.1, 10.0, 1000.0, math.inf]))
def test_every_way_to_choose_components_gives_a_finite_release(factory, parameters, epsilon):
    # Three pixels of the digits are constant: there are equal variances, with and without noise.
    pca = factory(**parameters, epsilon=epsilon, random_state=0)
    assert_finite(pca, load_digits().data)
    assert 1 <= pca.n_components_ <= 64


@on_estimators([{"n_components": "mle"}])
@pytest.mark.parametrize("epsilon", but_the_first_slow([1.0, 0.1, 10.0]))
def test_mle_takes_no_noise_for_components(factory, parameters, epsilon):
    above_noise = factory("auto", epsilon=epsilon, random_state=0).fit(load_digits().data)
    likeliest = factory(**parameters, epsilon=epsilon, random_state=0).fit(load_digits().data)
    assert likeliest.n_components_ <= above_noise.n_components_


HUGE = {
    "all": 1e300 * np.where(IRIS > IRIS.mean(axis=0), 1, -1),
    "largest": np.finfo(float).max * np.where(IRIS > IRIS.mean(axis=0), 1, -1),
    "one row": np.vstack([IRIS, np.full(4, 1e300)]),
    "one entry": np.vstack([IRIS, [0, 0, -1e300, 0]]),
    "tiny": 1e-300 * IRIS,
}


CONTAINERS = [np.asarray, sparse.csr_array]
HUGE_WAYS = [{}, {"norm_bound": 10.0}, {"mean": np.ones(4)}, {"scale": "private", "epsilon": 8.0}]


@on_all_estimators
@pytest.mark.parametrize("X", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize(
    ("container", "parameters"),
    but_the_first_slow(
        pytest.param(container, way) for way in HUGE_WAYS for container in CONTAINERS
    ),
)
def test_huge_values_are_clipped_without_a_word(factory, X, container, parameters):
    # A warning would tell that they are there.
    assert_finite(factory(2, random_state=0, **parameters), container(X))


@pytest.fixture
def count_of_150(monkeypatch):
    """One record more changes nothing of the noisy count, which is asked for all the same."""
    release = GaussianQuery.release

    def counted(query, total, noise):
        return release(query, 150 if query.name == "number of records" else total, noise)

    monkeypatch.setattr(GaussianQuery, "release", counted)


@on_all_estimators
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e-10])
@pytest.mark.usefixtures("count_of_150")
def test_a_row_that_overflows_weighs_nothing(factory, container, scale):
    none, huge = IRIS, np.vstack([IRIS, [0, 0, 1e300, 0]])
    public = {"mean": np.zeros(4), "norm_bound": 10 / scale, "scale": np.full(4, scale)}
    pcas = [factory(2, random_state=0, **public).fit(container(X)) for X in (none, huge)]
    np.testing.assert_array_equal(pcas[0].components_, pcas[1].components_)
    np.testing.assert_array_equal(pcas[0].explained_variance_, pcas[1].explained_variance_)


def split_entries(X, parts):
    """A CSR array that stores every entry in several parts, as its format allows."""
    X = sparse.csr_array(X)
    data, indices = np.repeat(X.data / parts, parts), np.repeat(X.indices, parts)
    return sparse.csr_array((data, indices, parts * X.indptr), X.shape)


@on_all_estimators
@pytest.mark.parametrize("unit", ["row", "flower"])
def test_a_sparse_entry_in_parts_is_one_entry(factory, unit):
    # Squared part by part, its norm would pass for smaller than it is, and escape the clipping.
    whole, parts = sparse.csr_array(IRIS), split_entries(IRIS, 64)
    public = {"unit": unit, "norm_bound": 1.0, "mean": np.zeros(4)}
    pcas = [
        factory(2, random_state=0, **public).fit(X, groups=GROUPS[unit]) for X in (whole, parts)
    ]
    np.testing.assert_array_equal(pcas[0].components_, pcas[1].components_)
    assert parts.nnz == 64 * whole.nnz


def assert_finite(pca, X):
    assert_fits_in_silence(pca, X)
    for name in released(pca, FITTED):
        assert np.isfinite(getattr(pca, name)).all(), name


def read_only(X):
    X.flags.writeable = False
    return X


def read_only_sparse(X):
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def memmap(folder):
    np.save(folder / "X.npy", IRIS)
    return np.load(folder / "X.npy", mmap_mode="r")


READ_ONLY = {
    "C order": lambda folder: read_only(np.array(IRIS)),
    "Fortran order": lambda folder: read_only(np.asfortranarray(IRIS)),
    "strided": lambda folder: read_only(np.repeat(IRIS, 2, axis=0))[::2],
    "float32": lambda folder: read_only(IRIS.astype(np.float32)),
    "integer": lambda folder: read_only(IRIS.astype(np.int64)),
    "memmap": memmap,
    "CSR": lambda folder: read_only_sparse(sparse.csr_array(IRIS)),
    "CSC": lambda folder: read_only_sparse(sparse.csc_array(IRIS)),
    "pandas": lambda folder: pd.DataFrame(read_only(np.array(IRIS))),
}
WAYS = [
    {},
    {"whiten": True},
    {"scale": [1.0, 2.0, 3.0, 4.0]},
    {"scale": "private"},
    {"mean": [6.0, 3.0, 4.0, 1.0]},
    {"clip": "spherical"},
    {"epsilon": math.inf},
    {"strategy": "deflation", "sampling": "split"},
    {"noise": "student", "norm_bound": 10.0, "center": False},
]


@on_estimators(
    [*WAYS, *(way | {"unit": "flower"} for way in WAYS if not {"clip", "noise"} & set(way))],
    slowly=True,
)
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=() if name in ("memmap", "CSR") else pytest.mark.slow)
        for name, make in READ_ONLY.items()
    ],
)
def test_read_only_data_do(factory, make, parameters, tmp_path):
    X = make(tmp_path)
    pca = factory(2, **{"epsilon": 20.0, **parameters})
    pca.fit(X, groups=GROUPS[pca.unit])
    pca.inverse_transform(read_only(pca.transform(X)))
    pca.score(X)


@pytest.mark.parametrize("form", ["coo", "csr"])
def test_no_row_decides_in_which_order_anothers_parts_are_added(form):
    # the sum of the parts depends on their order, and scipy sorts all rows or none
    parts = np.array([1e16] * 10 + [-1e16] * 10 + [1.0] * 3)
    parts = np.random.default_rng(14).permutation(parts)
    sums = []
    for other in ([1, 2], [2, 1]):
        columns = np.r_[np.full(len(parts), 3), other]
        rows = np.r_[np.zeros(len(parts), int), 1, 1]
        data = (np.r_[parts, 1.0, 1.0], (rows, columns))
        X = sparse.coo_array(data, shape=(2, 6))
        if form == "csr":
            starts = np.array([0, len(parts), len(parts) + 2])
            X = sparse.csr_array((X.data, columns, starts), shape=X.shape)
        checked = check_rows(DPGauss(), X)
        sums.append(Records.of(checked).rows.read_dense(slice(0, 1), np.empty((1, 6)))[0, 3])
    assert sums[0] == sums[1]
