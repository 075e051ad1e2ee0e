"""The memory that a fit needs beside the rows, tried before the charge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records.machine import memory_limit

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
    held: Held, n_features: int, n_components: int, scaled: bool, grouped: bool
) -> None:
    """Refuse a fit that this machine cannot hold.

    The limit looks at the machine and at public facts alone. The attempt after it depends on what
    else is in memory, the rows among it, as every program's success does.

    Parameters
    ----------
    held : Held
    n_features, n_components : int
    scaled : bool
        Private scales are found.
    grouped : bool
        Records are groups of rows.

    Raises
    ------
    ValueError
    """
    numbers = held.numbers(n_features, n_components) + scaled * SCALES * n_features
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
