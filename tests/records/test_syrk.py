"""``dsyrk`` without Python's lock adds what SciPy's adds, to the bit."""

from __future__ import annotations

import sys
from threading import Event, Thread
from time import sleep

import numpy as np
import pytest
from scipy.linalg.blas import dsyrk

from skdppca.records._syrk import add_upper_gram

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


@pytest.fixture
def only_who_lets_go_is_followed():
    """Python takes its lock from no thread; each keeps it until it lets go."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


def test_other_threads_run_meanwhile(only_who_lets_go_is_followed):
    ended, counted = Event(), [0]

    def count():
        while not ended.is_set():
            counted[0] += 1
            sleep(0)  # lets go

    rows, out = np.ones((3000, 600)), np.zeros((600, 600), order="F")
    other = Thread(target=count)
    other.start()
    before = counted[0]
    add_upper_gram(out, rows)  # 10 ms
    after = counted[0]
    ended.set()
    other.join()
    assert after > before
    assert np.array_equal(out, np.triu(np.full((600, 600), 3000.0)))
