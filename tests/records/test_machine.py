"""Fits and passes keep threads of BLAS at one, and give them back."""

from __future__ import annotations

from functools import partial
from threading import Event, Thread

import numpy as np
import pytest
from scipy import linalg  # noqa: F401  its BLAS is to be loaded
from threadpoolctl import OpenBLASController, ThreadpoolController

from skdppca import DPGauss
from skdppca.records import machine
from skdppca.records._records import Records
from skdppca.records.machine import (
    ENTRIES_PER_THREAD,
    WIDE,
    PassThreads,
    one_pool,
    one_thread,
    side_by_side,
)

ALL = ThreadpoolController().select(user_api="blas").lib_controllers
SCIPYS = [library for library in ALL if "scipy.libs" in library.filepath]
can_limit = pytest.mark.skipif(not ALL, reason="no BLAS here that threadpoolctl can limit")
own_pool = pytest.mark.skipif(not SCIPYS, reason="SciPy has no BLAS of its own here")


def let_others_set():
    """From some version on, only the thread that set a number first may set it again."""
    getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)(force=True)


@pytest.fixture(autouse=True)
def two_threads():
    before = threads(ALL)
    for library in ALL:
        library.set_num_threads(2)
    let_others_set()
    yield
    for library, number in zip(ALL, before, strict=True):
        library.set_num_threads(number)
    let_others_set()


def threads(libraries=SCIPYS) -> list[int]:
    return [library.num_threads for library in libraries]


@own_pool
def test_scipys_pool_is_at_one_and_comes_back():
    with one_pool(WIDE - 1):
        assert threads() == [1] * len(SCIPYS)
    assert threads() == [2] * len(SCIPYS)


@pytest.mark.parametrize(
    "hold", [one_thread, pytest.param(partial(one_pool, WIDE - 1), marks=own_pool)]
)
def test_those_that_overlap_give_the_threads_back_once(hold):
    libraries = ALL if hold is one_thread else SCIPYS
    first, second = hold(), hold()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads(libraries) == [1] * len(libraries)
    second.__exit__(None, None, None)
    assert threads(libraries) == [2] * len(libraries)


@own_pool
def test_a_pass_that_ends_after_the_fit_around_it_gives_all_threads_back():
    fit, others_pass = one_pool(WIDE - 1), one_thread()
    fit.__enter__()
    others_pass.__enter__()
    fit.__exit__(None, None, None)
    assert threads(ALL) == [1] * len(ALL)
    others_pass.__exit__(None, None, None)
    assert threads(ALL) == [2] * len(ALL)


def test_a_pass_keeps_one_thread_when_the_one_before_it_ends():
    first, second = (Records.of(np.eye(4, 3), n_jobs=2) for _ in range(2))
    begun, ending, seen = Event(), Event(), []

    def wait(block):
        begun.set()
        assert ending.wait(10)
        return block.distances(None)

    def look(block):
        ending.set()
        other.join(10)
        seen.extend(threads(ALL))
        return block.distances(None)

    other = Thread(target=first.map, args=(wait,))
    other.start()
    assert begun.wait(10)
    second.map(look)
    assert not other.is_alive()
    assert seen == [1] * len(ALL)
    assert threads(ALL) == [2] * len(ALL)


@own_pool
def test_a_fit_runs_with_one_and_gives_the_threads_back_if_it_fails(monkeypatch):
    seen = []

    def fail(*given):
        seen.extend(threads())
        raise TypeError

    monkeypatch.setattr("skdppca.decomposition.dp_gauss.rough_centre", fail)
    with pytest.raises(TypeError):
        DPGauss(2, random_state=0).fit(np.eye(40, 3))
    assert seen == [1] * len(SCIPYS)
    assert threads() == [2] * len(SCIPYS)


# The fewest rows of 50 columns of which two threads get enough each.
LONG = -(-2 * ENTRIES_PER_THREAD // 50)


@can_limit
@pytest.mark.parametrize(
    ("n_jobs", "n_rows", "is_grouped", "most"),
    [
        (None, LONG, False, 2),
        (None, LONG - 1, False, 1),  # BLAS's own threads do more for a short pass
        (None, 1, True, 2),  # however few, or bits of the others' norms would follow their number
        (1, LONG, True, 1),
        (3, 1, False, 3),
        (-1, 1, False, machine.effective_n_jobs(-1)),
    ],
)
def test_threads_of_a_pass_are_those_asked_for_or_those_of_blas(n_jobs, n_rows, is_grouped, most):
    assert PassThreads.of(n_jobs, n_rows, 50, is_grouped).most == most


@can_limit
def test_a_fit_within_anothers_pass_has_as_many_threads_as_alone():
    with one_thread():
        assert PassThreads.of(None, LONG, 50, False).most == 2


@can_limit
def test_an_interrupt_of_who_lets_go_is_raised_when_all_are_back(monkeypatch):
    interrupted = []

    def set_once_interrupted(self, threads):
        if threads > 1 and not interrupted:
            interrupted.append(threads)
            raise KeyboardInterrupt
        return before(self, threads)

    before = machine._Threads._set
    monkeypatch.setattr(machine._Threads, "_set", set_once_interrupted)
    with pytest.raises(KeyboardInterrupt), one_thread():
        pass
    assert interrupted
    assert threads(ALL) == [2] * len(ALL)


@pytest.mark.filterwarnings("error")
def test_no_thread_warns_of_numbers_that_it_sees():
    """NumPy is silent in the thread that asks, and other threads do not inherit that."""

    def work(size):
        return np.float64(size) * np.full(2, size)

    with np.errstate(all="ignore"):
        first, second = side_by_side(work, [1e300, 1e308])
    assert np.isinf(first).all() and np.isinf(second).all()


def test_every_share_has_one_thread_of_blas_and_an_error_is_raised():
    def work(share):
        if share == "bad":
            raise ValueError(share)
        return share, threads(ALL)

    found = side_by_side(work, ["a", "b", "c"])
    assert found == [(share, [1] * len(ALL)) for share in "abc"]
    with pytest.raises(ValueError, match="bad"):
        side_by_side(work, ["a", "bad"])
