"""Products of rounded rows with rounded directions: BLAS gives the bits of whole numbers."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from skdppca.records import Records, _sums
from skdppca.records._sums import (
    DIRECTION_BITS,
    ROW_BITS,
    exact_dots,
    on_row_grids,
    rounded_directions,
    row_norms,
    rows_dots,
)
from skdppca.statistics import ResidualNorms, ResidualSum, Scores

from ..kernels import skip_if_missing

# What OPENBLAS_CORETYPE asks for.
KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")


def laws(n, d, rng):
    """Rows that are hard to multiply exactly, by what makes them so."""
    normal = rng.normal(size=(n, d))
    yield "normal", normal
    yield "columns of mixed scales", normal * 10.0 ** rng.uniform(-8, 8, size=(1, d))
    yield "rows of mixed scales", normal * 2.0 ** rng.integers(-440, 440, size=(n, 1))
    yield "one long entry", np.where(rng.uniform(size=(n, d)) < 1 / d, 1e8, 1e-3) * normal
    half = np.repeat(rng.normal(size=(n, (d + 1) // 2)), 2, axis=1)[:, :d]
    yield "cancelling", half * np.where(np.arange(d) % 2, -1, 1) + 1e-9
    yield "equal entries", np.ones((n, d)) * rng.uniform(0.5, 1, size=(n, 1))
    yield "subnormal", normal * 5e-324 * 2.0 ** rng.integers(0, 40, size=(n, 1))
    yield "below a power of 2", np.nextafter(np.ones((n, d)) / np.sqrt(d), 0)
    yield "near underflow", normal * 2.0 ** rng.integers(-540, -440, size=(n, 1))
    far = normal.copy()
    far[::3] *= 1e300
    far[1::7, 0], far[2::9, d // 2], far[5] = np.inf, np.nan, 0.0
    yield "huge, infinite, not a number, 0", far


def whole_products(rows, directions):
    """By whole numbers, which never round: the products, and where they would be too large."""
    e = np.frexp(0.999 * row_norms(rows.copy()))[1] - ROW_BITS
    f = np.frexp(0.999 * row_norms(directions))[1] - DIRECTION_BITS
    # a norm may have grown over a power of 2 by rounding: one bit finer is whole, too
    q = np.ldexp(rows, 1 - e[:, None])
    w = np.ldexp(directions, 1 - f[:, None])
    assert np.array_equal(q, np.rint(q)) and np.array_equal(w, np.rint(w))
    total = q.astype(np.int64) @ w.astype(np.int64).T  # below 2^56
    return np.ldexp(total.astype(np.float64), (e - 1)[:, None] + (f - 1))


def ways(rows, directions):
    """The same products in other blocks, orders, layouts and places of memory."""
    yield np.vstack([exact_dots(row[None], directions) for row in rows])
    for size in (2, 7, 50):
        blocks = (rows[i : i + size] for i in range(0, len(rows), size))
        yield np.vstack([exact_dots(block, directions) for block in blocks])
    order = np.random.default_rng(1).permutation(len(rows))
    yield exact_dots(rows[order], directions)[np.argsort(order)]
    memory = np.empty(rows.size + 3)
    memory[3:] = rows.ravel()
    yield exact_dots(memory[3:].reshape(rows.shape), directions)
    yield np.column_stack([exact_dots(rows, w[None])[:, 0] for w in directions])
    yield rows @ directions.T
    yield np.asfortranarray(rows) @ directions.T
    yield rows_dots(rows, directions)


def count_differences(shapes, seed=0):
    """How many products of how many differ from what whole numbers give."""
    rng, checked, different = np.random.default_rng(seed), 0, 0
    for n, d, p in shapes:
        directions = rounded_directions(np.linalg.qr(rng.normal(size=(max(d, p), p)))[0].T[:, :d])
        for _, rows in laws(n, d, rng):
            with np.errstate(all="ignore"):
                rows = on_row_grids(rows)
            finite = np.isfinite(rows).all(axis=1)
            expected = whole_products(rows[finite], directions)
            with np.errstate(all="ignore"):
                every = list(ways(rows, directions))
            for found in every:
                checked += expected.size
                different += int((found[finite] != expected).sum())
    return checked, different


SHAPES = ((37, 1, 1), (37, 2, 2), (37, 30, 5), (37, 200, 9), (12, 4097, 3))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_products_are_those_of_whole_numbers(threads):
    with threadpool_limits(threads):
        checked, different = count_differences(SHAPES)
    assert checked > 50_000 and different == 0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_are_those_of_whole_numbers_on_every_kernel(kernel):
    skip_if_missing(kernel)  # some seconds a kernel
    code = (
        "from tests.records.test_exact_products import SHAPES, count_differences\n"
        "more = ((200, 100, 10), (64, 1000, 35), (97, 513, 64), (6, 20_000, 4))\n"
        "for seed in range(3):\n"
        "    checked, different = count_differences((*SHAPES, *more), seed)\n"
        "    assert checked > 500_000 and different == 0, different\n"
    )
    env = os.environ | {"OPENBLAS_CORETYPE": kernel}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_plain_products_follow_the_blocks():
    """The counterexample: of rows that are not rounded BLAS gives other bits in other blocks."""
    rng = np.random.default_rng(0)
    rows, directions = rng.normal(size=(97, 100)), rng.normal(size=(5, 100))
    alone = np.vstack([row[None] @ directions.T for row in rows])
    assert (alone != rows @ directions.T).sum() > 10


@pytest.mark.parametrize("norm", [1.0, 0.9995, 2.0**-449, 2.0**440, 3e-200])
def test_a_row_moves_by_little_and_by_itself(norm):
    rows = np.random.default_rng(0).normal(size=(50, 20))
    rows *= norm / row_norms(rows)[:, None]
    rounded = on_row_grids(rows.copy())
    assert row_norms(rounded - rows).max() <= np.sqrt(20) * 2.0**-28 * norm
    again = np.vstack([on_row_grids(row[None].copy()) for row in rows])
    assert np.array_equal(again, rounded)


def test_rows_without_a_norm_become_0_or_infinite_and_never_minus_0():
    rows = np.array([[1e300, 1.0], [np.nan, 1.0], [np.inf, 0.0], [-1e-140, 1e-150], [-0.0, 1.0]])
    with np.errstate(all="ignore"):
        rounded = on_row_grids(rows)
    assert np.array_equal(rounded[:3], np.full((3, 2), np.inf))
    assert np.array_equal(rounded[3:], [[0, 0], [0, 1]])
    assert not np.signbit(rounded).any()


def test_einsum_steps_in_where_blas_rounds(monkeypatch):
    rng = np.random.default_rng(0)
    rows, directions = on_row_grids(rng.normal(size=(9, 5))), rounded_directions(np.eye(5)[:2])
    expected = exact_dots(rows, directions)
    matmul = np.matmul
    monkeypatch.setattr(_sums.np, "matmul", lambda a, b: matmul(a, b) * (1 + 2.0**-52))
    _sums._products_are_exact.cache_clear()
    assert not _sums._products_are_exact()
    assert np.array_equal(exact_dots(rows, directions), expected)
    monkeypatch.undo()
    _sums._products_are_exact.cache_clear()
    assert _sums._products_are_exact()


def test_without_noise_nothing_is_rounded():
    rng = np.random.default_rng(0)
    rows, directions = rng.normal(size=(40, 6)), np.linalg.qr(rng.normal(size=(6, 2)))[0].T.copy()
    prediction = rng.normal(size=(2, 6))
    norms = ResidualNorms(np.zeros(6), None, directions, prediction)
    exact = directions @ rows.T @ rows - len(rows) * prediction
    found = [ResidualSum(norms, radius).total(Records.of(rows)) for radius in (math.inf, 1e6)]
    unrounded, rounded = (np.abs(total - exact).max() for total in found)
    assert unrounded < 1e-13 < 1e-9 < rounded
    scores = [Scores(directions, np.zeros(6), how).of(Records.of(rows)) for how in (False, True)]
    unrounded, rounded = (np.abs(one.rows.X - rows @ directions.T).max() for one in scores)
    assert unrounded < 1e-13 < 1e-9 < rounded


@pytest.mark.parametrize("rows", [1, 300, 512])
def test_scores_on_many_directions_do_not_depend_on_the_length_of_blocks(monkeypatch, rows):
    rng = np.random.default_rng(0)
    records, directions = Records.of(rng.normal(size=(700, 80))), rng.normal(size=(70, 80))
    monkeypatch.setattr("skdppca.records._records.BLOCK_ENTRIES", 2**10)  # 128 rows
    expected = records.scores(directions, None, rounded=True).rows.X
    monkeypatch.setattr("skdppca.records._records.LONG_BLOCK_ROWS", rows)
    found = records.scores(directions, None, rounded=True).rows.X
    assert found.tobytes() == expected.tobytes()
