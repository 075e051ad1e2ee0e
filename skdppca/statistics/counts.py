"""Counts of records, histograms of them, and totals of bounded numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records import Layout, Measure, Records, summation_error
from .base import Rounding, Statistic, around
from .fields import Bound, Edges, Power
from .lemmas import bounded_sum, count, psd_sum
from .measures import RowCounts

# Shares of a group are multiples of 2^-20, so that 2^30 of them are summed exactly in float64.
STEPS = 2**20

# Rounding bound for sums of shares, which are exact: any positive one makes the grid finer than 1.
NO_ERROR = 2.0**-60


@dataclass(frozen=True, eq=False)
class Histogram(Statistic):
    """Weight of the records in every cell, and outside all cells in the last one, by class.

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
        Cell of every row, from 0 to ``n_cells - 1``; negative for a row that counts nowhere.
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


# Numbers that numpy adds one by one before it adds in pairs.
ONE_BY_ONE = 256


@dataclass(frozen=True, eq=False)
class Count(Statistic):
    """The number of records.

    Proof. One record more or less changes it by 1, and one exchanged by 0 (`lemmas.count`).
    Attained.
    """

    counts_only = True
    shape = ()

    def sensitivity(self, adjacency: str) -> float:
        return count(adjacency)

    def total(self, records: Records) -> np.ndarray:
        return np.asarray(records.private_n, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CountBeyond(Statistic):
    """Number of records whose numbers exceed a radius.

    Proof. One record changes at most ``measure.moved`` of the numbers, its own where that is 1,
    and each counts 0 or 1, under both adjacencies. Attained by a number beyond the radius.
    """

    measure: Measure
    radius: float

    shape = ()

    @property
    def additive(self) -> bool:
        return self.measure.moved == 1

    def sensitivity(self, adjacency: str) -> float:
        return self.measure.moved * count(adjacency)

    def total(self, records: Records) -> np.ndarray:
        numbers = _first(records.measured(self.measure))
        return np.asarray(np.count_nonzero(numbers > self.radius), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class MeasureHistogram(Statistic):
    """Number of records whose numbers exceed an edge but not the next one, for all edges at once.

    A number that does not exceed the first edge, or exceeds the last, is in no cell.

    Proof. A record adds 1 to one cell, or nothing: a vector e of entries of at least 0 and norm at
    most 1, so the diagonal of a positive semi-definite matrix (`lemmas.psd_sum`). Adding the record
    moves the histogram by at most 1. Replacing it by one that adds f moves it by ``||e - f||^2 =
    ||e||^2 + ||f||^2 - 2 e.f <= 2``. Both are attained, by numbers in different cells, however many
    cells there are. Where a record changes the numbers of others too, nothing is proven, and
    `check` refuses.

    Parameters
    ----------
    measure : Measure
        Measure of one number a record, or of several of which the first is taken.
    edges : ndarray
        Increasing; public or released.
    """

    measure: Measure
    edges: Edges

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.edges) - 1,)

    def sensitivity(self, adjacency: str) -> float:
        return psd_sum(1.0, adjacency)

    def check(self, layout: Layout) -> None:
        if self.measure.moved != 1:
            raise TypeError(
                f"{type(self.measure).__name__} changes for {self.measure.moved} records when one "
                "does, and a histogram bounds the change of one; ask for `CountBeyond`"
            )

    def total(self, records: Records) -> np.ndarray:
        numbers = _first(records.measured(self.measure))
        cells = np.searchsorted(self.edges, numbers, side="left")  # NaN comes after the last edge
        return np.bincount(cells, minlength=len(self.edges) + 1)[1:-1].astype(np.float64)


@dataclass(frozen=True, eq=False)
class BoundedTotal(Statistic):
    """The sum of the records' numbers, or of their squares, none counted beyond a bound.

    Proof. A term a lies between 0 and ``b = bound^power`` (`lemmas.bounded_sum`): adding it moves
    the sum by ``a <= b``, exchanging it by ``|a - a'| <= b``. Attained by a record at the bound,
    and one at 0.
    """

    measure: Measure
    bound: Bound
    power: Power = 1

    shape = ()

    def __post_init__(self) -> None:
        if self.power not in (1, 2):
            raise ValueError(f"power={self.power} has no bound; choose 1 or 2")

    def sensitivity(self, adjacency: str) -> float:
        return self.measure.moved * bounded_sum(self.bound**self.power, adjacency)

    def rounding(self, layout: Layout) -> Rounding:
        is_whole = math.isinf(self.bound) or self.bound % 1 == 0
        if isinstance(self.measure, RowCounts) and is_whole and self.power == 1:
            return Rounding()  # so are its terms, and no sum of them exceeds `MAX_ROWS`
        return Rounding(total=summation_error(self.bound**self.power, ONE_BY_ONE, 1))

    def total(self, records: Records) -> np.ndarray:
        numbers = _first(records.measured(self.measure))
        clipped = np.where(np.isfinite(numbers), np.minimum(numbers, self.bound), 0.0)
        return np.asarray((clipped**self.power).sum())


def _first(numbers: np.ndarray) -> np.ndarray:
    """The norms among what a measure says."""
    return numbers if numbers.ndim == 1 else numbers[:, 0]
