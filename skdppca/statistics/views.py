"""Ways to look at records before anything is summed: what travels to whoever holds them."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import KeepLargest, OnesByDegree, Records, View
from .base import around
from .fields import Most, PositiveVector, Rows, Vector
from .measures import Spreads


@dataclass(frozen=True, eq=False)
class Scaled(View):
    """Every feature divided by a scale that is public or was released."""

    scale: PositiveVector

    def of(self, records: Records) -> Records:
        return records.scaled(self.scale)


@dataclass(frozen=True, eq=False)
class Shifted(View):
    """Dense rows less a centre that is public or was released; absent entries are 0 then.

    For many passes about one centre, which are then about 0.

    Parameters
    ----------
    centre : ndarray of shape (d,)
    rounded : bool
        Single rows are rounded to their grids, so that their products with directions are exact.
        The record is then the rounded row, a function of the record and the centre.
    """

    centre: Vector
    rounded: bool = True

    def of(self, records: Records) -> Records:
        return records.shifted(self.centre, self.rounded)


@dataclass(frozen=True, eq=False)
class Scores(View):
    """The products of the rows less a centre with a few directions, as features.

    With missing values an absent entry is read as the centre's, so it adds nothing to a score.

    Parameters
    ----------
    directions : ndarray of shape (p, d)
    centre : ndarray of shape (d,)
    rounded : bool
        The products of dense rows are those of the rounded row with rounded directions, to the bit
        the same wherever the row stands.
    """

    directions: Rows
    centre: Vector
    rounded: bool = True

    def of(self, records: Records) -> Records:
        # whoever asks what directions explain asks for the total as well
        beside = Spreads(self.centre)
        return records.scores(self.directions, around(self.centre), self.rounded, beside)


@dataclass(frozen=True, eq=False)
class Explicit(View):
    """View that leaves nothing to products: sparse rows become dense, block by block."""

    def of(self, records: Records) -> Records:
        return records.explicit()


@dataclass(frozen=True, eq=False)
class LargestEntries(View):
    """Sparse rows with their `most` largest entries only: a bound enforced on each row alone."""

    most: Most

    def of(self, records: Records) -> Records:
        return records.changed(KeepLargest(self.most))


@dataclass(frozen=True, eq=False)
class MeanRows(View):
    """Every record's row, or its mean row if it is a group, as a record of its own, dense.

    An absent entry is read as that of `fill`, which is public or was released, before anything
    else is done. Rows that are infinite, or whose squared norms are, are left out: each tells for
    itself. So neighbours stay neighbours, or become equal; or one of two exchanged records is left
    out, and what is seen differs by one record more or less. No statistic here is moved further by
    that than by an exchange: its terms may be 0, and `KendallMatrix` says so for itself.
    """

    fill: Vector

    def of(self, records: Records) -> Records:
        return records.mean_rows(self.fill)


@dataclass(frozen=True, eq=False)
class Interactions(View):
    """Every non-zero entry counts 1, and a row is divided by ``sqrt(max(its number, floor))``."""

    floor: int

    def of(self, records: Records) -> Records:
        return records.changed(OnesByDegree(self.floor))
