"""Residuals ``A_i W - C``, spreads, scores, parts: numbers of one record, whatever is around."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2

from skdppca.mechanisms.block_mean import BlockMean
from skdppca.noise import NoiseSource
from skdppca.records import Records, _records
from skdppca.records._sums import on_row_grids
from skdppca.statistics import Distances, Scores, Spreads

from ..private_data_of import private_data

RNG = np.random.default_rng(0)
D = 7
FRAME = np.linalg.qr(RNG.normal(size=(D, D)))[0].T
W, REMOVED, C = FRAME[:2], FRAME[2:4], 3 * FRAME[4:6]
WITHIN = np.array([[3.0, 0.7], [0.7, 1.1]]) @ W
CENTRE = RNG.normal(size=D)
ROWS = RNG.normal(size=(1500, D)) * RNG.lognormal(size=(1500, 1))
# Next to what is predicted, where the norm cancels; far out along what is removed; orthogonal.
ROWS[::9] = CENTRE + 1e-9 * ROWS[::9]
ROWS[1::9] += 1e9 * REMOVED[0]
ROWS[2::9] = CENTRE + 1e6 * FRAME[6]

KINDS = {"C": np.asarray, "F": np.asfortranarray, "CSR": sparse.csr_array}


def mean_of(X, groups=None, centre=CENTRE, removed=None, n_jobs=None):
    records = Records.of(X, groups, n_jobs=n_jobs)
    centre = np.zeros(D) if centre is None else centre
    mean = BlockMean(private_data(records, groups=groups, centre=centre, n=1.0))
    return mean if removed is None else mean.without(removed)


def norms(mean, prediction=C):
    return mean.data.source.measured(mean._residual(W, prediction)[0])[:, 0]


def spreads(mean):
    return mean.data.source.measured(Spreads(mean.data.centre))


def scores(mean):
    scores = mean.data.source.through(Scores(W, mean.data.centre))
    points = (np.zeros(2), *np.eye(2))
    return np.vstack([scores.measured(Distances(point)) for point in points]).T


def norms_within(mean):
    """About a prediction in the span of the directions, which costs no products of its own."""
    assert mean._residual(W, WITHIN)[0].core is not None
    return norms(mean, WITHIN)


NUMBERS = pytest.mark.parametrize("numbers", [norms, norms_within, spreads, scores])


def expected_norms(rows, groups, centre, removed, prediction, rounded):
    y = rows if centre is None else rows - centre
    if removed is not None:
        y = y - (y @ removed.T) @ removed
    y = on_row_grids(y.copy()) if rounded else y
    residual = BlockMean(private_data(Records.of(rows), n=1.0))._residual(W, prediction)[0].residual
    directions, prediction = residual.directions, residual.prediction
    owners = [y[groups == g] for g in range(groups.max() + 1)]
    return np.array([np.linalg.norm(directions @ own.T @ own - prediction) for own in owners])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("centre", [None, CENTRE])
@pytest.mark.parametrize("removed", [None, REMOVED])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("prediction", [C, WITHIN], ids=["off", "within"])
def test_norms_equal_numpys(kind, centre, removed, grouped, prediction):
    rows = RNG.normal(size=(200, D))
    owner = np.arange(200) // 3 if grouped else np.arange(200)
    mean = mean_of(kind(rows), owner if grouped else None, centre, removed)
    rounded = not grouped and kind is not sparse.csr_array
    expected = expected_norms(rows, owner, centre, removed, prediction, rounded)
    np.testing.assert_allclose(norms(mean, prediction), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_norms_keep_their_digits_where_they_cancel(kind):
    # ||y||^2 w - C of a row that is almost what is predicted; exact to second order in the shift
    rows, shift = np.tile(2.0 * W[0], (50, 1)), 10.0 ** -np.arange(50.0) * FRAME[6][:, None]
    prediction = np.vstack([4.0 * W[0], np.zeros(D)])
    mean, rounded = mean_of(kind(rows + shift.T), centre=None), kind is not sparse.csr_array
    residual = mean._residual(W, prediction)[0].residual
    y = np.longdouble(on_row_grids(rows + shift.T) if rounded else rows + shift.T)
    w, c = np.longdouble(residual.directions), np.longdouble(residual.prediction)
    missed = (y @ w.T)[:, :, None] * y[:, None, :] - c
    expected = np.sqrt((missed**2).sum(axis=(1, 2))).astype(float)
    np.testing.assert_allclose(norms(mean, prediction), expected, rtol=1e-6, atol=1e-14)


@NUMBERS
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("centre", [None, CENTRE], ids=["no centre", "centre"])
@pytest.mark.parametrize("removed", [None, REMOVED], ids=["all", "removed"])
def test_a_rows_numbers_are_bitwise_functions_of_it(numbers, kind, centre, removed):
    whole = numbers(mean_of(kind(ROWS), None, centre, removed))
    orders = (slice(1, None), slice(777, 778), RNG.permutation(len(ROWS)), [5] * 3 + [6])
    for order in orders:
        found = numbers(mean_of(kind(ROWS[order]), None, centre, removed))
        assert np.array_equal(found, whole[order])


@NUMBERS
@pytest.mark.parametrize("largest", [3, 200])
@pytest.mark.parametrize("removed", [None, REMOVED], ids=["all", "removed"])
def test_a_groups_numbers_are_bitwise_functions_of_its_rows(monkeypatch, numbers, largest, removed):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 64)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 64)
    sizes = RNG.integers(1, largest, size=30)
    groups = np.repeat(np.arange(30), sizes)
    rows = ROWS[RNG.integers(len(ROWS), size=len(groups))]
    whole = numbers(mean_of(rows, groups, removed=removed))
    later = numbers(mean_of(rows[groups >= 3], groups[groups >= 3] - 3, removed=removed))
    assert np.array_equal(later, whole[3:])
    moved = RNG.permutation(30)[groups]  # rows keep their order within a group
    found = numbers(mean_of(rows, moved, removed=removed))
    assert np.array_equal(found[moved[np.cumsum(sizes) - 1]], whole)


def parts_of(X, noise, shares, groups=None):
    """The records of every part, where a record is one positive number."""
    parts = Records.of(X, groups).parts(shares, noise)
    return [part.map(lambda block: block.distances(None)) for part in parts]


def numbered(n):
    return np.arange(1.0, n + 1)[:, None]


@pytest.mark.parametrize("grouped", [False, True])
def test_parts_are_disjoint_and_cover(grouped):
    groups = np.repeat(np.arange(100), 3) if grouped else None
    rows = np.repeat(numbered(100), 3, axis=0) if grouped else numbered(100)
    parts = parts_of(rows, NoiseSource(0), (1, 2, 3), groups)
    assert sorted(np.concatenate(parts)) == list(numbered(100).ravel())


def test_groups_stay_whole():
    groups = RNG.permutation(np.repeat(np.arange(50), 4))
    records = Records.of(numbered(200), groups)
    for part in records.parts((1, 1, 1), NoiseSource(0)):
        assert set(part.private_sizes) == {4}
        sums = part.fold(lambda out, block, w: block.add_moment(out, w, None), (1,))
        assert np.isclose(sums[0], part.map(lambda block: block.distances(None)).sum())


def test_parts_have_their_shares():
    # chi-square with 2 degrees of freedom; error 1e-6, fixed seed
    n, shares = 20_000, (15, 85, 0, 100)
    parts = Records.of(numbered(n)).parts(shares, NoiseSource(0))
    sizes = np.array([part.private_n for part in parts])
    expected = n * np.array(shares) / sum(shares)
    assert sizes[2] == 0
    filled = expected > 0
    square = (sizes - expected)[filled] ** 2 / expected[filled]
    assert square.sum() < chi2.isf(1e-6, 2)


def test_the_draw_does_not_look_at_the_data():
    rows = RNG.lognormal(size=(200, 1))
    first = parts_of(numbered(200), NoiseSource(0), (1, 2))
    second = parts_of(rows, NoiseSource(0), (1, 2))
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(rows[one.astype(int) - 1, 0], other)


class Labels(NoiseSource):
    """The same label for the same record, so that data sets can be compared draw by draw."""

    def labels(self, n, parts):
        return NoiseSource(0).labels(1000, parts)[:n]


def test_one_record_more_changes_one_part():
    for n in range(20, 60):
        before, after = (parts_of(numbered(m), Labels(0), (1, 2, 3)) for m in (n, n + 1))
        changed = [i for i in range(3) if not np.array_equal(before[i], after[i])]
        assert len(changed) == 1
        assert np.array_equal(after[changed[0]], [*before[changed[0]], n + 1])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_empty_part_is_no_error(kind, grouped, n_jobs):
    records = Records.of(kind(ROWS[:1]), np.zeros(1, int) if grouped else None, n_jobs=n_jobs)
    parts = records.parts((1, 1, 1), NoiseSource(0))
    for part in [*parts, *parts[0].parts((1, 1), NoiseSource(0))]:
        distances = part.map(lambda block: block.distances(None))
        assert len(distances) == part.private_n
        total = part.fold(lambda out, block, w: block.add_moment(out, w, None), (D,))
        assert total.any() == bool(part.private_n)
