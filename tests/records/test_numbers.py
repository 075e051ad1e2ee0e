"""A row's numbers have the same bits wherever it lies: alone, in any block, in any memory.

Sensitivities rest on it: if one record's place changed the bits of another's norm, both would be
clipped otherwise, and one record would move what it has no part in. `numpy.einsum` promises no
order of its additions, so these tests are what the proofs lean on: they must hold on the machine
and with the NumPy at hand.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from skdppca.records import Records, Residual
from skdppca.records._dense import DenseRows
from skdppca.records._sums import (
    EINSUM_COLUMNS,
    row_dots,
    row_norms,
    row_squares,
    rows_dots,
    safe_root,
)
from skdppca.statistics import Distances, GramNorms

# Below, at and above the widths of registers, of NumPy's unrolled loops, and of what is summed at
# a time.
WIDTHS = [*range(1, 10), 15, 16, 17, 33, 100, EINSUM_COLUMNS - 1, EINSUM_COLUMNS + 1, 9000]

FUNCTIONS = {
    "row_squares": lambda rows, vectors: row_squares(rows),
    "row_norms": lambda rows, vectors: row_norms(rows),
    "row_dots": lambda rows, vectors: row_dots(rows, vectors[0]),
    "rows_dots": rows_dots,
    "rows_dots of one": lambda rows, vectors: rows_dots(rows, vectors[:1]),
}


def uneven(n, d):
    """Rows whose sums depend on the order of their additions."""
    rng = np.random.default_rng(d)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=(n, d))


def placed(rows, shift, gap):
    """A copy that begins `shift` bytes behind an aligned address, its rows `gap` numbers apart."""
    n, d = rows.shape
    memory = np.empty(8 * n * (d + gap) + 192, dtype=np.uint8)
    start = -memory.ctypes.data % 64 + shift
    numbers = memory[start : start + 8 * n * (d + gap)].view(np.float64)
    numbers = numbers.reshape(n, d + gap)[:, :d]
    numbers[...] = rows
    return numbers


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("d", WIDTHS)
def test_a_row_has_the_bits_that_it_has_alone(f, d):
    rows, vectors = uneven(13, d), uneven(3, d)
    alone = np.array([f(row[None].copy(), vectors)[0] for row in rows])
    for size in (1, 2, 3, 7, 13):
        for first in range(len(rows) - size + 1):
            some = slice(first, first + size)
            for shift, gap in [(0, 0), (8, 1), (24, 0), (40, 5), (1, 0)]:
                assert np.array_equal(f(placed(rows[some], shift, gap), vectors), alone[some])


@pytest.mark.parametrize("d", WIDTHS)
def test_products_with_a_few_vectors_are_those_with_each(d):
    rows, vectors = uneven(5, d), uneven(4, d)
    each = np.column_stack([row_dots(rows, vector) for vector in vectors])
    for some in ([0], [1, 2], [3, 0, 2], [0, 1, 2, 3]):
        assert np.array_equal(rows_dots(rows, vectors[some]), each[:, some])


def unaligned(rows):
    return placed(rows, 3, 0)


CONTAINERS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "unaligned": unaligned,
    "gaps": lambda rows: placed(rows, 8, 3),
    "every other": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "backwards": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda rows: rows.astype(rows.dtype.newbyteorder()),
    "float32": lambda rows: rows.astype(np.float32),
    "float16": lambda rows: rows.astype(np.float16),
    "integers": lambda rows: np.rint(rows).astype(np.int32),
    "CSR": sparse.csr_array,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("d", [1, 2, 5, 8, 17, 100, 5000])
@pytest.mark.parametrize("explicit", [False, True])
def test_a_records_numbers_have_the_bits_that_they_have_alone(container, d, explicit):
    X = CONTAINERS[container](uneven(10, d))
    rng = np.random.default_rng(0)
    centre, directions = rng.normal(size=d), np.linalg.qr(rng.normal(size=(d, min(d, 2))))[0].T
    directions = np.ascontiguousarray(directions)
    residual = Residual(directions, np.ascontiguousarray(2 * directions), centre)

    def numbers(rows):
        records = Records.of(rows, explicit=explicit)
        norms = records.map(lambda block: block.residual_norms(residual, None)[:, 0])
        lengths = records.map(lambda block: block.distances(centre))
        if explicit:
            return np.column_stack([norms, lengths])
        scores = [
            records.scores(directions, centre, rounded).map(
                lambda block: block.rows, width=len(directions)
            )
            for rounded in (False, True)
        ]
        return np.column_stack([norms, lengths, *scores])

    whole = numbers(X)
    for first, stop in [(0, 1), (3, 4), (9, 10), (1, 9), (2, 5)]:
        assert np.array_equal(numbers(X[first:stop]), whole[first:stop])
    if container != "CSR":  # nor does the order in memory matter
        same = np.array(X, dtype=np.float64, order="C")
        assert np.array_equal(numbers(same), whole)


def test_a_block_keeps_its_centred_rows_only_while_its_scratch_holds_them():
    rng = np.random.default_rng(0)
    rows, centre, directions = rng.normal(size=(7, 3)), rng.normal(size=3), np.eye(3)[:2]
    block, scores = DenseRows(rows, np.empty((7, 4))), np.empty((7, 2))
    expected = rows - centre
    for spoil in (
        lambda: None,
        lambda: block.weighted(np.full(7, 0.5), centre, 1.0),
        lambda: block.weighted(np.full(7, 0.5), None, 0.0),
        lambda: block.rounded_scores(directions, centre, scores),
        lambda: block.rounded_scores(directions, None, scores),
        lambda: block.projected(Residual(directions, directions, centre, directions[:1])),
        lambda: block.rounded(Residual(directions, directions, centre)),
    ):
        np.testing.assert_array_equal(block.centred(centre), expected)
        spoil()
    np.testing.assert_array_equal(block.centred(centre), expected)


@pytest.mark.parametrize("other", [0.0, -1.0, 1e-300, 1e300, np.inf, np.nan])
def test_a_root_does_not_follow_what_else_is_in_the_block(other):
    squares = np.exp(np.random.default_rng(0).uniform(-600, 600, 1000))
    with np.errstate(all="ignore"):  # as in a pass
        alone, among = safe_root(squares), safe_root(np.append(squares, other))
    assert np.array_equal(alone, among[:-1])
    assert np.isfinite(alone).all() and alone.all()


def test_roots_of_what_cannot_be_squared_are_infinite_or_0():
    with np.errstate(all="ignore"):
        assert safe_root(np.array([1e300, np.inf, np.nan])).tolist() == [np.inf] * 3
        assert safe_root(np.array([0.0, -1.0, 1e-300])).tolist() == [0.0] * 3
        assert safe_root(np.zeros(0)).shape == (0,)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_features", [8191, 8193, 9000, 20_000])
def test_a_wide_row_alone_has_the_norm_it_has_among_others(n_features):
    rows, distances = RNG.normal(size=(40, n_features)), Distances(np.zeros(n_features))
    whole = Records.of(rows).measured(distances)
    alone = [Records.of(row[None]).measured(distances)[0] for row in rows]
    assert np.array_equal(whole, alone)


def test_a_groups_norm_does_not_follow_how_many_spans_share_the_threads():
    d = 10_001
    row = RNG.normal(size=(1, d))
    span = 2 * d  # rows; with one more there are two spans, and so two threads

    def norm(n_rows):
        rows = np.broadcast_to(row, (n_rows, d))
        records = Records.of(rows, np.arange(n_rows), n_jobs=2)
        return records.measured(GramNorms(np.zeros(d)))[0]

    with threadpool_limits(limits=2, user_api="blas"):
        assert norm(3) == norm(span + 1)


@pytest.mark.parametrize("scale", [1e-170, 1e200, 1.7e308])
def test_rows_that_overflow_raise_nothing_under_strict_errors(scale):
    rows = np.vstack([RNG.normal(size=(40, 6)), scale * np.ones(6), -scale * np.eye(6)])
    centre = np.full(6, 0.5)
    with np.errstate(all="raise"):
        for X in (rows, sparse.csr_array(rows)):
            assert np.all(Records.of(X).measured(Distances(centre)) > 0)
        groups = np.arange(len(rows))
        assert np.all(Records.of(rows, groups).measured(GramNorms(centre, 0.1)) > 0)
