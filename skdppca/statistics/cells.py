"""A histogram of the records over public cells of two released axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records import Layout, Records
from .base import Rounding, Statistic, around
from .lemmas import psd_sum

# Shares of a group are multiples of 2^-20, so that 2^30 of them are summed exactly in float64.
STEPS = 2**20

# Rounding bound for sums of shares, which are exact: any positive one makes the grid finer than 1.
NO_ERROR = 2.0**-60


@dataclass(frozen=True, eq=False)
class Histogram(Statistic):
    """How much the records weigh in every cell, and in the last one what lies outside, by class.

    A row weighs 1 in the cell of its two scores, and one of no class nowhere. A group weighs in a
    cell its share of rows there. An absent entry is read as the centre's, so that it adds nothing
    to a score.

    Proof. A record's weights p are at least 0 a cell and at most 1 in all, so they are the diagonal
    of a positive semi-definite matrix of norm ``||p||_2 <= ||p||_1 <= 1`` (`lemmas.psd_sum`).
    *Adding* the record moves the histogram by at most 1. *Replacing* it by one of weights q moves
    it by ``||p - q||^2 = ||p||^2 + ||q||^2 - 2 p.q <= 2``. Both are attained: by a record that lies
    in one cell, and by another that lies in another one. A histogram a class is one histogram over
    cells and classes, so a record may bring its class along.

    Parameters
    ----------
    axes : ndarray of shape (2, d)
        Public or released.
    centre : ndarray of shape (d,)
    x_edges, y_edges : ndarray
        Increasing bounds of the cells along either axis; public.
    n_classes : int
    grouped : bool
        A record is a group of rows.
    """

    axes: np.ndarray
    centre: np.ndarray
    x_edges: np.ndarray
    y_edges: np.ndarray
    n_classes: int = 1
    grouped: bool = False

    @property
    def n_cells(self) -> int:
        """Cells of a class, the outside too."""
        return (len(self.x_edges) - 1) * (len(self.y_edges) - 1) + 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self.n_classes, self.n_cells

    def sensitivity(self, adjacency: str) -> float:
        return psd_sum(1.0, adjacency)

    def rounding(self, layout: Layout) -> Rounding:
        return Rounding(total=NO_ERROR if self.grouped else 0.0)

    def total(
        self,
        records: Records,
        groups: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> np.ndarray:
        """The exact weights.

        Parameters
        ----------
        records : Records
            Every row is looked at by itself.
        groups, classes : ndarray of int of shape (n_rows,), optional
            Group and class of every row, from 0; class -1 counts nowhere.
        """
        if self.grouped == (groups is None):
            raise TypeError("a histogram of groups, and no other one, needs the rows' groups")
        if groups is None and records.layout.is_grouped:
            raise TypeError("these records are groups; give the rows' groups")
        cells = self._cells(records)
        if classes is not None:
            cells = np.where(classes < 0, -1, classes * self.n_cells + cells)
        return weigh(cells, math.prod(self.shape), groups).reshape(self.shape)

    def _cells(self, records: Records) -> np.ndarray:
        """The cell of every row, by its two scores alone; what is no number lies outside."""
        scores = records.ungrouped().map(
            lambda block: block.scores(self.axes, around(self.centre)), width=2, imputed=self.centre
        )
        places = []
        for edges, score in zip((self.x_edges, self.y_edges), scores.T, strict=True):
            place = np.searchsorted(edges, score, side="right") - 1
            place[score == edges[-1]] -= 1  # the last cell is closed, as numpy's
            places.append(place)
        x, y = places
        n_x, n_y = len(self.x_edges) - 1, len(self.y_edges) - 1
        inside = (x >= 0) & (x < n_x) & (y >= 0) & (y < n_y)
        return np.where(inside, x * n_y + y, n_x * n_y)


def weigh(cells: np.ndarray, n_cells: int, groups: np.ndarray | None = None) -> np.ndarray:
    """The weight of every cell, free of rounding errors.

    Parameters
    ----------
    cells : ndarray of int of shape (n_rows,)
        Of every row, from 0 to ``n_cells - 1``; negative for a row that counts nowhere.
    n_cells : int
    groups : ndarray of int of shape (n_rows,), optional
        A group weighs in a cell its share of rows there, of all its rows, rounded down to a
        multiple of 2^-20: a function of the group alone. Without groups a row weighs 1.

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    somewhere = cells >= 0
    if groups is None:
        return np.bincount(cells[somewhere], minlength=n_cells).astype(np.float64)
    places = groups[somewhere] * n_cells + cells[somewhere]
    places, counts = np.unique(places, return_counts=True)
    group, cell = np.divmod(places, n_cells)
    shares = counts * STEPS // np.bincount(groups)[group] / STEPS
    return np.bincount(cell, weights=shares, minlength=n_cells)
