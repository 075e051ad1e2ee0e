"""What a projection map asks of the records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..mechanisms.base import Public, Spender
from ..mechanisms.histogram import release_histogram
from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..records import Records

__all__ = ["MapMechanism"]


@dataclass(frozen=True)
class MapMechanism:
    """One Gaussian query: all cells and, of every class, what lies outside."""

    public: Public
    event: PrivacyEvent
    axes: np.ndarray
    centre: np.ndarray
    edges: tuple[np.ndarray, np.ndarray]
    n_classes: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Cells along either component."""
        return len(self.edges[0]) - 1, len(self.edges[1]) - 1

    @property
    def n_cells(self) -> int:
        """Cells of a class, the outside too."""
        return math.prod(self.shape) + 1

    def __call__(
        self,
        records: Records,
        noise: NoiseSource,
        groups: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Spender]:
        """Noisy counts of shape (n_classes, n_cells), the outside last, and what they cost.

        Parameters
        ----------
        records : Records
            Every row by itself.
        noise : NoiseSource
        groups, classes : ndarray of int of shape (n_rows,), optional
            Group and class of every row; class -1 counts nowhere.
        """
        scores = records.map(lambda block: block.scores(self.axes, self.centre), width=2)
        cells = self._cells(scores)
        if classes is not None:
            cells = np.where(classes < 0, -1, classes * self.n_cells + cells)
        spender = Spender(getattr(self.event, "mu", math.inf))
        n_cells = self.n_classes * self.n_cells
        counts = release_histogram(cells, n_cells, groups, spender, self.public, noise)
        return counts.reshape(self.n_classes, self.n_cells), spender

    def _cells(self, scores: np.ndarray) -> np.ndarray:
        """Of every row by its two scores alone; what is no number lies outside."""
        places = []
        for edges, score in zip(self.edges, scores.T, strict=True):
            place = np.searchsorted(edges, score, side="right") - 1
            place[score == edges[-1]] -= 1  # the last cell is closed, as numpy's
            places.append(place)
        (n_x, n_y), (x, y) = self.shape, places
        inside = (x >= 0) & (x < n_x) & (y >= 0) & (y < n_y)
        return np.where(inside, x * n_y + y, n_x * n_y)
