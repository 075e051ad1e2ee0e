"""The modules of benchmarks/, which the package does not install, and what looks at their noise."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(name: str) -> ModuleType:
    """A module or a folder of them, without leaving benchmarks on the path."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


class Recorder:
    """A generator that remembers the scales of its normal draws."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.scales: list[float] = []

    def normal(
        self, scale: float = 1.0, size: int | tuple[int, ...] | None = None
    ) -> np.ndarray | float:
        self.scales.append(scale)
        return self.rng.normal(scale=scale, size=size)
