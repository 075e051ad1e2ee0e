"""What this machine has, and how a fit shares it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Lock

import scipy.linalg.blas  # noqa: F401 (so that it is loaded when it is looked for)
from threadpoolctl import ThreadpoolController

__all__ = ["memory_limit", "one_pool"]

# From that number of columns on, SciPy's threads save more than they cost: DPGauss took .66 s with
# them and .84 s without on 20 000 x 1000 rows, and as long on 20 000 x 300 and 20 000 x 500.
WIDE = 1000

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


def one_pool(n_features: int) -> AbstractContextManager[None]:
    """Keep SciPy's own BLAS at one thread for a while, if NumPy brought another one.

    Wheels of both bring a BLAS with threads of its own, and those spin for some milliseconds after
    every product. A fit that calls both in turn would have three busy threads on two cores. Nothing
    is limited for wide data, or where both libraries call the same BLAS.
    """
    return SCIPYS_POOL.at_one() if n_features < WIDE else nullcontext()


class _Pool:
    """The threads of SciPy's BLAS; several fits at once may hold them at one.

    It is looked for on import, because a fit has paid before it holds them.
    """

    def __init__(self) -> None:
        self._lock, self._holders, self._before = Lock(), 0, [0]
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        own = [library for library in found if "scipy.libs" in library.filepath]
        self._libraries = [library for library in own if library.num_threads]

    @contextmanager
    def at_one(self) -> Iterator[None]:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._before = [library.num_threads for library in self._libraries]
                for library in self._libraries:
                    library.set_num_threads(1)
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    for library, threads in zip(self._libraries, self._before, strict=True):
                        library.set_num_threads(threads)


SCIPYS_POOL = _Pool()
