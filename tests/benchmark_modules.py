"""Scripts that the package does not install, those of benchmarks/ at first, and their noise."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def load(name: str, folder: Path = BENCHMARKS) -> ModuleType:
    """A module or a folder of them, without leaving where it lies on the path."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


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
