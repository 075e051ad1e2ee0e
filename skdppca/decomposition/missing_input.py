"""Entries that are not there, whatever marks them: NaN for all that reads numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def nan_for_missing(objects: np.ndarray) -> np.ndarray:
    """Python's objects with NaN in place of None, ``pandas.NA`` and NaT.

    Raises
    ------
    ValueError
        If text is among them.
    """
    entries = objects.ravel().tolist()
    if any(isinstance(entry, str | bytes) for entry in entries):
        raise ValueError("X holds strings")
    numbers = np.empty(objects.size, dtype=object)
    numbers[:] = [np.nan if is_missing(entry) else entry for entry in entries]
    return numbers.reshape(objects.shape)


def is_missing(entry: Any) -> bool:
    """None, NaN, NaT, or an entry that does not know whether it equals itself."""
    try:
        return entry is None or bool(entry != entry)
    except (TypeError, ValueError):
        return not isinstance(entry, list | dict | set | np.ndarray)
