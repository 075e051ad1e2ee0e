"""Memory and threads of this machine, and their division among fits."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, local
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import scipy.linalg.blas  # noqa: F401 (so that it is loaded when it is looked for)
from joblib import effective_n_jobs
from threadpoolctl import OpenBLASController, ThreadpoolController

Share = TypeVar("Share")
Found = TypeVar("Found")

# From that number of columns on, SciPy's threads save more than they cost: DPGauss took .66 s with
# them and .84 s without on 20 000 x 1000 rows, and as long on 20 000 x 300 and 20 000 x 500.
WIDE = 1000

# Where nobody says how many threads share a pass, each gets that many entries at least (a pass of
# KDPPCA takes 4 ms then). With half of it KDPPCA took 4 % longer on 20 000 x 100 entries and 14 %
# on 100 000 x 10; with no pass shared, 43 % longer on 100 000 x 100. A row of fewer columns than
# `LEAST_PER_ROW` counts as that many: numbers per record take their time too.
ENTRIES_PER_THREAD = 2**21
LEAST_PER_ROW = 32
# Each thread holds a few sums of d x d, which are then added one by one: it gets 4 d rows at least.
ROWS_PER_FEATURE = 4

# The memory of a container, on Linux.
CGROUP = Path("/sys/fs/cgroup/memory.max")


def memory_limit() -> float:
    """Bytes of memory that this process may use at most; infinite if nobody says."""
    limits = [math.inf]
    with suppress(ImportError, ValueError, OSError):
        import resource  # not on Windows

        limits += [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit >= 0]
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # "max" is no number
        limits.append(int(CGROUP.read_text()))
    return min(limits)


# The memory that a fit needs beside the rows, tried before the charge.
BYTES = 8  # of a number in float64

# Numbers for each feature that private scales hold: counts of their cells, and of all windows.
SCALES = 4000

# The rest of the memory is for the rows, Python and the system; round.
LARGEST_SHARE = 0.8

# Less than this is always free, or nothing works; more is asked for, which takes time.
SMALL = 2**30


@dataclass(frozen=True)
class Held:
    """About how many numbers a fit holds beside the rows; a block of rows may be 3 times as large.

    Parameters
    ----------
    matrices : int
        Matrices of d x d, with those of LAPACK.
    each_feature, each_loading : int
        Numbers for each feature, and more for each feature and component.
    """

    matrices: int = 0
    each_feature: int = 100
    each_loading: int = 18

    def numbers(self, n_features: int, n_components: int) -> int:
        """Return how many numbers that is."""
        if self.matrices:
            return self.matrices * n_features**2
        return n_features * (self.each_feature + self.each_loading * n_components)


# A method that decomposes a noisy matrix holds this.
MATRICES = Held(matrices=7)


def check_memory(
    held: Held, n_features: int, n_components: int, scaled: int, grouped: bool
) -> None:
    """Refuse a fit that this machine cannot hold.

    The limit looks at the machine and at public facts alone. The attempt after it depends on what
    else is in memory, the rows among it, as every program's success does.

    Parameters
    ----------
    held : Held
    n_features, n_components : int
    scaled : int
        Number of features whose scales are found.
    grouped : bool
        Records are groups of rows.

    Raises
    ------
    ValueError
    """
    numbers = held.numbers(n_features, n_components) + scaled * SCALES
    needed, limit = BYTES * numbers, memory_limit()
    has = f"this machine has {_size(limit)}"
    if needed <= LARGEST_SHARE * limit:
        try:
            if needed > SMALL:
                np.ones(needed, np.uint8)  # writes to every page: the system may lend it only then
            return
        except MemoryError:
            has = "that much is not free"
    if held.matrices:
        class_name, word = ("KDPPCA", "kdppca") if grouped else ("DPPowerMethod", "power")
        why = f"matrices of {n_features} x {n_features}"
        most = math.sqrt(LARGEST_SHARE * limit / (BYTES * held.matrices))
        fewer = f"at most {int(most)} columns" if 1 <= most < n_features else "fewer columns"
        wanted = (
            f"{fewer}, or {class_name}(n_components=k), in a shell --method {word} -k K, which "
            "holds no such matrix"
        )
    else:
        why = f"{n_features} features and {n_components} components"
        wanted = "fewer columns, or fewer components"
    raise ValueError(
        f"this fit needs about {_size(needed)} of memory for {why}, and {has}; nothing was "
        f"charged; choose {wanted}"
    )


def _size(number: float) -> str:
    return f"{number / 1e9:.3g} GB"


class _Threads:
    """The threads of one BLAS; while anybody holds it at one, it has one, and then what it had.

    Fits and passes may overlap, in threads of the user's. Each that set the number and put back
    what it found would give the others more threads in the middle of a pass, which changes last
    bits, and the last one would leave one thread for good.
    """

    def __init__(self, library: Any) -> None:
        self.library = library
        self._lock = Lock()
        # with OpenMP every thread has a number of its own
        by_thread = getattr(library, "threading_layer", None) == "openmp"
        self._holders = local() if by_thread else SimpleNamespace()

    @property
    def _before(self) -> dict[object, int]:
        """The holders, and the number that the first one found."""
        found: dict[object, int] = vars(self._holders).setdefault("before", {})
        return found

    @property
    def number(self) -> int:
        """Number of threads it has while no fit holds it."""
        with self._lock:
            return self._number

    @property
    def _number(self) -> int:
        return int(next(iter(self._before.values()), self.library.num_threads))

    def hold(self, holder: object) -> None:
        with self._lock:
            self._before[holder] = self._number
            self._set(1)

    def let_go(self, holder: object) -> None:
        """Nothing happens if it does not hold them: an interrupt may come before it does.

        An interrupt may end it anywhere; called again, it does the rest.
        """
        with self._lock:
            if holder in self._before:
                if len(self._before) == 1:
                    self._set(self._before[holder])
                del self._before[holder]

    def _set(self, threads: int) -> None:
        # From threadpoolctl 3.8 on, only the Python thread that set the number first may set it
        # again, until it lets others; all others' calls do nothing.
        let_others = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
        let_others(force=True)
        self.library.set_num_threads(threads)
        let_others(force=True)


@contextmanager
def _held(pools: Sequence[_Threads]) -> Iterator[None]:
    holder = object()
    try:
        for pool in pools:
            pool.hold(holder)
        yield
    finally:
        interrupt: BaseException | None = None
        for pool in pools:
            try:
                pool.let_go(holder)
            except BaseException as error:
                interrupt = error
                pool.let_go(holder)
        if interrupt is not None:
            raise interrupt


@dataclass(frozen=True)
class PassThreads:
    """Threads that share the passes over a table.

    Parameters
    ----------
    most : int
        With more than one, BLAS has one thread in every pass, also in those that are not shared: a
        pool of BLAS that was woken spins for .1 s, through many passes.
    entries : int
        What each thread gets at least, in entries of rows; with 0 every pass is shared.
    """

    most: int
    entries: int = 0

    @classmethod
    def of(cls, n_jobs: int | None, n_rows: int, n_features: int, is_grouped: bool) -> PassThreads:
        """Return as many threads as are asked for; by default those of BLAS, if a pass is long.

        The number of rows decides nothing but times and last bits within the rounding of sums.
        Groups have those of BLAS however few they are: the last bits of a group's norm are others
        where BLAS has more threads.
        """
        threads = max(1, effective_n_jobs(n_jobs))
        if n_jobs is not None:
            return cls(threads)
        default = cls(max([threads, *(pool.number for pool in POOLS)]), ENTRIES_PER_THREAD)
        return default if is_grouped or default.in_pass(n_rows, n_features) > 1 else cls(threads)

    def in_pass(self, n_rows: int, n_features: int) -> int:
        """The most that share a pass over rows."""
        if not self.entries:
            return self.most
        enough = n_rows * max(n_features, LEAST_PER_ROW) // self.entries
        return max(1, min(self.most, enough, n_rows // (ROWS_PER_FEATURE * n_features)))


def one_thread() -> AbstractContextManager[None]:
    """Keep every BLAS at one thread for a while."""
    return _held(POOLS)


def side_by_side(work: Callable[[Share], Found], shares: Sequence[Share]) -> list[Found]:
    """``work(share)`` of each, in a thread of its own; BLAS has one thread in all of them."""

    def alone(share: Share) -> Found:
        # With OpenMP every thread has a number of its own. No thread inherits that NumPy is silent:
        # a warning would tell of numbers.
        with one_thread(), np.errstate(all="ignore"):
            return work(share)

    with one_thread():
        mine, *others = shares
        if not others:
            return [work(mine)]
        # Threads of our own: joblib looks for results every 10 ms, and a pass may take less.
        with ThreadPoolExecutor(len(others)) as pool:
            waiting = [pool.submit(alone, share) for share in others]
            return [work(mine), *(done.result() for done in waiting)]


def one_pool(n_features: int) -> AbstractContextManager[None]:
    """Keep SciPy's own BLAS at one thread for a while, if NumPy brought another one.

    Wheels of both bring a BLAS with threads of its own, and those spin for some milliseconds after
    every product. A fit that calls both in turn would have three busy threads on two cores. Nothing
    is limited for wide data, or where both libraries call the same BLAS.
    """
    return _held(SCIPYS_POOLS if n_features < WIDE else ())


def blas_libraries() -> set[tuple[Any, ...]]:
    """Name, version and kernels of every BLAS that is loaded."""
    return {
        (library.internal_api, library.version, library.info().get("architecture"))
        for library in LIBRARIES
    }


# Looked for on import, which takes milliseconds: a pass is shorter, and a fit has paid before it.
LIBRARIES = ThreadpoolController().select(user_api="blas").lib_controllers
POOLS = [_Threads(library) for library in LIBRARIES if library.num_threads]
SCIPYS_POOLS = [pool for pool in POOLS if "scipy.libs" in pool.library.filepath]
