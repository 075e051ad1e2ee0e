"""The memory that a fit needs beside the rows, tried before the charge."""

from __future__ import annotations

import numpy as np

from ..decomposition import METHODS
from ..records.machine import memory_limit

__all__ = ["check_memory", "memory_of"]

# Matrices of d x d that a method which needs one holds together, with those of LAPACK.
MATRICES = 7

# Numbers for each feature that other methods hold, and how many more with each component; a block
# of rows that they hold besides can be three times as large.
A_FEATURE = {"SmoothSensitivityPCA": (220, 77)}
OTHERS = (100, 18)

BYTES = 8  # of a number in float64


def memory_of(method: str, n_features: int, n_components: int) -> int:
    """About how many bytes a fit of this method holds beside the rows; public."""
    if METHODS[method].memory.startswith("d x d"):
        return BYTES * MATRICES * n_features**2
    numbers, with_each = A_FEATURE.get(method, OTHERS)
    return BYTES * n_features * (numbers + with_each * n_components)


def check_memory(method: str, n_features: int, n_components: int, grouped: bool) -> None:
    """Refuse a fit that this machine cannot hold.

    The limit looks at the machine and at public facts alone. The attempt after it depends on what
    else is in memory, the rows among it, as every program's success does.

    Raises
    ------
    ValueError
    """
    needed = memory_of(method, n_features, n_components)
    limit = memory_limit()
    has = f"this machine has {_size(limit)}"
    if needed <= limit:
        try:
            np.ones(needed, np.uint8)  # writes to every page: the system may lend it only then
            return
        except MemoryError:
            has = "that much is not free"
    name, wanted = METHODS[method], "fewer columns"
    if name.memory.startswith("d x d"):
        other = METHODS["KDPPCA" if grouped else "DPPowerMethod"]
        wanted += f", or --method {other.command} -k K, which holds no such matrix"
        why = f"matrices of {n_features} x {n_features}"
    else:
        wanted += ", or fewer components"
        why = f"{n_features} features"
    raise ValueError(
        f"--method {name.command} needs about {_size(needed)} of memory for {why}, and {has}; "
        f"nothing was charged; choose {wanted}"
    )


def _size(number: float) -> str:
    return f"{number / 1e9:.3g} GB"
