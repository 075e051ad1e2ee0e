"""What this machine has, whatever it holds at the moment."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["memory_limit"]

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
