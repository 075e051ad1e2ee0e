"""Private mean squares: what they find, and what one record can do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.mechanisms.mean_squares import root_mean_squares
from skdppca.noise import NoiseSource
from skdppca.records import Records, _records

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 3)) * [1.0, 2.0, 5.0]
CENTRE, UNIT = np.array([0.5, 0.0, -1.0]), np.array([1.0, 2.0, 3.0])
BOTH = pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])


def found(X, mu=50.0, groups=None, adjacency="add-remove", seed=0):
    n = len(X) if groups is None else len(np.unique(groups))
    X = sparse.csr_array(X) if groups is None and seed % 2 else X
    public = Public(3, adjacency, "row" if groups is None else "person", sparse.issparse(X))
    spender = Spender(mu)
    told = Records(X, groups), CENTRE, UNIT, float(n), spender, public, NoiseSource(seed)
    return root_mean_squares(*told), spender


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_the_deviations(adjacency, seed):
    mine, spender = found(ROWS, mu=1e4, adjacency=adjacency, seed=seed)  # the odd ones as CSR
    true = np.sqrt(np.mean(((ROWS - CENTRE) / UNIT) ** 2, axis=0))
    np.testing.assert_allclose(mine, true, rtol=0.05)  # rows of norm above 16 sqrt(3) are clipped
    assert [query.name for query in spender.queries] == ["mean squares"]


def test_sparse_rows_stay_sparse_about_zero(monkeypatch):
    X = np.where(RNG.random((200, 3)) < 0.3, ROWS, 0.0)
    # what is stored in parts is one entry, squared once
    twice = np.tile(X.ravel() / 2, (2, 1)).T.ravel()
    places = np.repeat(np.tile(np.arange(3), 200), 2), np.arange(0, 1201, 6)
    X = sparse.csr_array((twice, *places), shape=(200, 3))
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    told = Public(3, "add-remove", "row", True), NoiseSource(0)
    records = Records(X, scale=np.array([1.0, 2.0, 4.0]))
    mine = root_mean_squares(records, np.zeros(3), UNIT / 4, 200.0, Spender(1e5), *told)
    monkeypatch.undo()
    squares = (X.toarray() / [1.0, 2.0, 4.0] / (UNIT / 4)) ** 2
    norms = np.linalg.norm(squares, axis=1)
    clipped = squares * np.minimum(1, 16 * np.sqrt(3) / np.maximum(norms, 1e-9))[:, None]
    true = np.sqrt(np.maximum(clipped.mean(axis=0), 0.25))
    np.testing.assert_allclose(mine, true, rtol=1e-3)


def test_a_group_counts_by_the_mean_of_its_rows_squares(monkeypatch):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 1)  # and by parts, if it has many rows
    X = np.vstack([np.full((300, 3), 2.0), np.zeros((199, 3))])
    groups = np.r_[np.zeros(300, int), 1 + np.arange(199)]
    mine, _ = found(X, mu=1e5, groups=groups)
    squares = ((np.array([[2.0] * 3, [0.0] * 3]) - CENTRE) / UNIT) ** 2
    true = np.sqrt(np.maximum((squares[0] + 199 * squares[1]) / 200, 0.25))
    np.testing.assert_allclose(mine, true, rtol=1e-3)


@BOTH
def test_nothing_is_asked_where_noise_would_hide_it(adjacency):
    mine, spender = found(ROWS, mu=0.05, adjacency=adjacency)
    np.testing.assert_array_equal(mine, 1.0)
    assert spender.queries == []


def test_they_are_positive_whatever_the_noise():
    for seed in range(20):
        mine, spender = found(0.0 * ROWS + CENTRE, mu=0.7, seed=seed)
        assert len(spender.queries) == 1
        assert np.all(mine >= 0.5)


@BOTH
@pytest.mark.parametrize("form", ["dense", "grouped", "sparse"])
def test_no_record_moves_them_further_than_is_claimed(monkeypatch, adjacency, form):
    """Over extreme and random neighbours; and the bound is attained."""
    totals = []

    def spy(query, total, noise):
        totals.append((query, np.asarray(total)))
        return np.ones(3)

    monkeypatch.setattr(GaussianQuery, "release", spy)
    ends = [np.eye(3)[0] * 1e6, np.eye(3)[2] * 1e6, np.zeros(3), np.full(3, 1e300), CENTRE]
    rng = np.random.default_rng(1)
    ends += [10.0 ** rng.uniform(-2, 6) * rng.normal(size=3) for _ in range(20)]
    grouped, sparse_rows = form == "grouped", form == "sparse"
    groups = np.r_[np.arange(20), 20, 20] if grouped else None
    base, largest = ROWS[:20], 0.0
    centre = 0.0 * CENTRE if sparse_rows else CENTRE  # about 0 they stay sparse

    def total(*rows):
        size = len(base) + len(rows)
        told = Public(3, adjacency, "person" if grouped else "row", sparse_rows)
        X = np.vstack([base, *rows])
        X = sparse.csr_array(X) if sparse_rows else X
        records = Records(X, None if groups is None else groups[:size])
        root_mean_squares(records, centre, UNIT, 20.0, Spender(50.0), told, None)
        return totals.pop()

    for one in ends:
        for other in ends:
            copies = 2 if grouped else 1
            query, present = total(*[one] * copies)
            same, absent = total(*([other] * copies if adjacency == "replace-one" else []))
            assert query == same
            moved = np.linalg.norm(present - absent)
            assert moved <= query.widened_sensitivity
            largest = max(largest, moved / query.sensitivity)
    assert largest >= 0.999
