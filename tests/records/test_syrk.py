"""``dsyrk`` without Python's lock adds what SciPy's adds, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg.blas import dsyrk

from skdppca.records._sums import add_upper_gram

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(300, 41))
LAYOUTS = {
    "rows one after the other": WIDE.copy(),
    "rows with a gap between them": WIDE[:, :40],
    "every other row": WIDE[::2],
    "a single row": WIDE[:1],
    "a single column": WIDE[:, :1],
    "no row": WIDE[:0],
    "columns one after the other": np.asfortranarray(WIDE),
    "columns with a gap between them": WIDE[:, ::2],
    "rows from the last to the first": WIDE[::-1],
    "one row again and again": np.broadcast_to(WIDE[0], (30, 41)),
    "float32": WIDE.astype(np.float32),
}


@pytest.mark.parametrize("rows", LAYOUTS.values(), ids=LAYOUTS)
def test_bits_are_those_of_scipys(rows):
    d = rows.shape[1]
    before = np.asfortranarray(RNG.normal(size=(d, d)))
    contiguous = np.ascontiguousarray(rows, dtype=np.float64)
    expected = dsyrk(1.0, contiguous.T, beta=1.0, c=before) if len(rows) else before
    out = before.copy(order="F")
    add_upper_gram(out, rows)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((3, 3)), TypeError),
        (np.zeros((3, 3), dtype=np.float32, order="F"), TypeError),
        (np.zeros((4, 4), order="F"), ValueError),
    ],
)
def test_no_memory_but_that_of_the_matrix_is_written(out, error):
    with pytest.raises(error, match="out must be"):
        add_upper_gram(out, np.eye(3))
    assert not out.any()
