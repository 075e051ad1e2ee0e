"""Records: the same numbers whatever the container, the block, the order or the neighbours."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skdppca.noise import NoiseSource
from skdppca.records import Records, _records
from skdppca.records._records import BLOCK_ENTRIES
from skdppca.records._sums import on_row_grids
from skdppca.records.sources import SPAN_ROWS
from skdppca.statistics import Spreads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5000, 7)) * RNG.lognormal(size=(5000, 1))
CENTRE = RNG.normal(size=7)

CONTAINERS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "integer": np.rint(10 * X).astype(np.int32),
    "csr": sparse.csr_array(X * (np.abs(X) > 1)),
    "csr_float32": sparse.csr_array(X.astype(np.float32) * (np.abs(X) > 1)),
}


def dense(container):
    rows = container.toarray() if sparse.issparse(container) else np.asarray(container)
    return rows.astype(np.float64)


def distances(records, centre=CENTRE):
    return records.map(lambda block: block.distances(centre))


def gram(records, centre=CENTRE, constant=0.5, weights=None):
    size = records.n_features + (constant != 0)
    upper = records.fold(
        lambda out, block, w: block.add_gram(out, w, centre, constant),
        (size, size),
        weights,
        augmented=bool(constant),
    )
    return np.triu(upper) + np.triu(upper, 1).T


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("centre", [None, CENTRE])
def test_distances_equal_numpys(name, centre):
    rows = dense(CONTAINERS[name]) - (0 if centre is None else centre)
    np.testing.assert_allclose(
        distances(Records.of(CONTAINERS[name]), centre), np.linalg.norm(rows, axis=1), rtol=1e-9
    )


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("centre", [None, CENTRE])
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_equals_numpys(name, centre, weighted):
    rows = dense(CONTAINERS[name])
    weights = RNG.uniform(size=len(rows)) if weighted else None
    centred = rows - (0 if centre is None else centre)
    if weighted:
        centred = centred * weights[:, None]
    augmented = np.hstack([centred, np.full((len(rows), 1), 0.5)])
    found = gram(Records.of(CONTAINERS[name]), centre, weights=weights)
    np.testing.assert_allclose(found, augmented.T @ augmented, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_groups_gather_their_rows_from_anywhere(monkeypatch, kind):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 64)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 64)
    groups = RNG.permutation(np.r_[np.repeat(0, 900), RNG.integers(1, 60, size=4100)])
    groups = np.unique(groups, return_inverse=True)[1]
    weights = RNG.uniform(size=groups.max() + 1)
    rows = np.hstack([X - CENTRE, np.full((len(X), 1), 0.5)]) * weights[groups][:, None]
    records = Records.of(kind(X), groups)
    np.testing.assert_allclose(gram(records, weights=weights), rows.T @ rows, rtol=1e-9, atol=1e-6)
    norms = records.map(lambda block: block.gram_norms(CENTRE, 0.0))
    one = X[groups == 5] - CENTRE
    assert norms[5] ** 2 == pytest.approx(np.linalg.norm(one.T @ one))
    means = distances(records)
    assert means[5] == pytest.approx(np.linalg.norm(one.mean(axis=0)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_that_are_shifted_and_held_are_the_same_to_the_bit(n_jobs):
    rows = RNG.normal(size=(3 * SPAN_ROWS - 5, 7))
    held = Records.of(rows, n_jobs=n_jobs).shifted(CENTRE).rows.X
    assert np.array_equal(held, on_row_grids(rows - CENTRE))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_narrow_table_gives_the_same_bits_however_many_spans_are_read_as_one(n_jobs, monkeypatch):
    rows = RNG.normal(size=(20 * SPAN_ROWS - 7, 7))
    weights = RNG.uniform(size=len(rows))

    def found():
        records = Records.of(rows, n_jobs=n_jobs)
        return records._spans_at_once, gram(records, weights=weights), distances(records)

    several, total, measured = found()
    monkeypatch.setattr(_records, "LEAST_COLUMNS", BLOCK_ENTRIES)
    one, other_total, other_measured = found()
    assert several > 2 and one == 1
    assert np.array_equal(total, other_total) and np.array_equal(measured, other_measured)


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "read again"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_pass_that_makes_scores_measures_what_another_one_would(kind, is_held, monkeypatch):
    """Only where the rows are read and shifted anew in each pass."""
    monkeypatch.setattr(_records, "KEPT_ENTRIES", 10**6 if is_held else 0)
    records = Records.of(kind(X), n_jobs=2).parts((1, 2), NoiseSource(0))[0]
    spreads, axes = Spreads(np.zeros(7)), np.eye(7)[:2]
    once, twice = (records if records.is_sparse else records.shifted(CENTRE) for _ in range(2))
    once.scores(axes, None, True, beside=spreads)
    assert (spreads in once.cache) == (kind is np.asarray and not is_held)
    np.testing.assert_array_equal(once.measured(spreads), twice.measured(spreads))


def test_a_sum_keeps_its_digits_over_many_blocks(monkeypatch):
    monkeypatch.setattr(_records, "SPAN_ROWS", 128)
    rows = np.full((200_000, 1), 0.1)
    exact = 200_000 * 0.1**2
    assert abs(gram(Records.of(rows), None, 0.0)[0, 0] - exact) < 1e-13 * exact


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1.7e308])
def test_extreme_rows_neither_overflow_nor_poison_the_sum(scale):
    rows = np.vstack([np.eye(7), np.full((1, 7), scale), np.full((1, 7), -scale)])
    records = Records.of(rows)
    lengths = distances(records, np.full(7, 1e200))
    weights = np.minimum(1, 1 / lengths)
    assert np.isfinite(gram(records, np.full(7, 1e200), weights=weights)).all()


def test_the_callers_rows_are_never_written():
    rows = X.copy()
    rows.flags.writeable = False
    gram(Records.of(rows), weights=RNG.uniform(size=len(rows)))
    assert np.array_equal(rows, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_memory_stays_within_blocks(dtype):
    rows = np.ones((200_000, 20), dtype=dtype)
    records = Records.of(rows)
    tracemalloc.start()
    gram(records, np.ones(20))
    distances(records, np.ones(20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the rows as float64 are 32e6, the distances 1.6e6; two threads hold two blocks of 2.1e6 each
    assert peak < 12e6


@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1])])
def test_no_representation_tells_of_rows_or_of_how_many_there_are(groups):
    records = Records.of(np.full((3, 2), 271828.0), groups)
    for shown in (records, records.rows, records.members, records.mean_rows(None), [records]):
        assert "271828" not in repr(shown) and "array" not in repr(shown)
        assert "n_rows" not in repr(shown)
