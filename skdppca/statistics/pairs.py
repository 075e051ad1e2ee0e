"""Statistics of pairs of records: the multivariate Kendall matrix, and distances of records.

Neither is a sum over records, so whoever holds these must hold them all. They are single finite
rows, seen through `MeanRows`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records import Layout, Measure, Records
from ..records.pairs import (
    MAX_COMPLETE,
    Kernel,
    ScaleFunction,
    adjacent_differences,
    complete_error,
    complete_sum,
    cyclic_error,
    cyclic_sum,
    term_error,
)
from .base import Rounding, Statistic
from .fields import Vector


@dataclass(frozen=True, eq=False)
class KendallMatrix(Statistic):
    """``S / (n - 1)`` or ``S / (2 h)``, S the sum of a term of norm at most 1 over pairs of n rows.

    A pair adds ``g g^T``, its difference turned to a bounded length (`records.kernels.Kernel`):
    positive semi-definite, a function of its two rows, of Frobenius norm at most 1. With a scale
    function ``xi`` that holds as long as this function acts on every length by itself: what it
    returns is clipped, and it is called with bitwise functions of the two rows. n is the exact
    number of rows that are seen. `MeanRows` may leave one of two exchanged records out: the rows
    then differ as under add-remove, and that bound is the smaller one, sqrt(5) / 2 < sqrt(2).

    Proof, all pairs (``S / (n - 1)``; 0 for n < 2). *Replacing* a record changes its n - 1 terms,
    from a sum A to a sum B, both positive semi-definite of norm at most n - 1:
    ``||A - B||^2 <= ||A||^2 + ||B||^2``, so S moves by ``sqrt(2) (n - 1)``. *Adding* one to n >= 2
    gives ``(S + P) / n``, P the sum of n terms: it moves by ``P / n - S / (n (n - 1))``, the
    difference of positive semi-definite matrices of norms at most 1 and 1 / 2, as S has
    n (n - 1) / 2 terms. So by ``sqrt(1 + 1 / 4)``; from n = 1, where S is 0, by ``||P|| <= 1``;
    from n = 0 by 0. Both are attained: by records on two orthogonal lines, one of them by itself on
    one line.

    Proof, cyclic pairs (``S / (2 h)``: every record with its h next ones in a cyclic order; one
    that meets itself adds 0). For each order; under add-remove for an order and the same with one
    record inserted anywhere. *Replacing* a record changes the at most 2 h terms that it is in:
    ``sqrt(2) 2 h``. *Inserting* one between the last and the first: see a term as a walk of t <= h
    steps. A walk that comes through the gap c times reaches the same two records in t + c steps of
    the new order, and every walk of the new order that neither starts nor ends at the new record
    comes from one of the old. So the terms that vanish are the walks with t + c > h. To count them:
    there were n h walks, now there are (n + 1) h; those that start or end at the new record are
    2 h - q, q of them at both ends. So (n + 1) h - (2 h - q) of the old ones are left, and h - q
    vanish. S moves by P - Q, with ``||P|| <= 2 (h - q)`` and ``||Q|| <= h - q``, at most
    ``sqrt(5) h``. That holds for every n >= 1, be it smaller than h; from n = 0 it moves by 0.
    The order is random (`Records.shuffled`), but coupled: common records have common words, so
    orders come in pairs as above, with common weights. Releasing the order, too, would be as
    private, and leaving it out is post-processing.

    What a pair adds is computed as a bitwise function of its two rows (and the centre), so the
    proof holds for what is computed, with terms of norm 1 and `records.pairs.term_error`.

    Absent entries were filled by `MeanRows`, before any difference was formed.

    Parameters
    ----------
    n_features : int
    radius : float or None
        Radius of winsorisation, whose square is the matrix's unit; None for spatial signs.
    offsets : int or None
        h; None for all pairs.
    xi : callable or None
        Another scale function, whose values are clipped to the radius. It is code, so it cannot be
        sent to where the records are.
    centre : ndarray of shape (n_features,), optional
        Public or released, somewhere amidst the rows, for cyclic pairs: they are added faster then.
        It changes the last digits of the rows, each by itself, and nothing else.
    """

    n_features: int
    radius: float | None = None
    offsets: int | None = None
    xi: ScaleFunction | None = None
    centre: Vector | None = None

    symmetric = True
    additive = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.n_features, self.n_features

    def sensitivity(self, adjacency: str) -> float:
        return {"add-remove": math.sqrt(5) / 2, "replace-one": math.sqrt(2)}[adjacency]

    def rounding(self, layout: Layout) -> Rounding:
        if self.offsets is None:
            return Rounding(total=complete_error(self.n_features))
        return Rounding(term_error(self.n_features), cyclic_error(self.offsets))

    def total(self, records: Records) -> np.ndarray:
        rows, kernel = records.private_rows, Kernel(self.radius, self.xi)
        if self.offsets is not None:
            # a kernel of the user's is called by one thread at a time
            threads = 1 if self.xi is not None else records.threads.in_pass(*rows.shape)
            order = records.private_cycle
            total = cyclic_sum(rows, order, self.offsets, kernel, self.centre, threads)
            return total / (2 * self.offsets)
        if len(rows) > MAX_COMPLETE:
            raise ValueError(
                f"pairs='complete' takes at most {MAX_COMPLETE} records, up to which its guarantee "
                "is proven; set pairs='incomplete'"
            )
        return complete_sum(rows, kernel) / max(len(rows) - 1, 1)


@dataclass(frozen=True, eq=False)
class AdjacentDifferences(Measure):
    """Length over sqrt 2 of every record's difference from the next one in their cyclic order.

    With a direction, of the part along it, seen from a centre that is public or was released. Each
    is a bitwise function of two records.

    Proof of `moved`. *Replacing* a record changes two of the differences; *inserting* one adds two
    and removes one. A count of them moves by at most 2, under both adjacencies, and so does one of
    neighbours that differ by one record more or less because `MeanRows` left out another. For each
    order, and the same with one record inserted: the random ones are coupled as for
    `KendallMatrix`. (Counting disjoint pairs of a random order would not be better: there, one
    record more moves all pairs behind it.)
    """

    direction: np.ndarray | None = None
    centre: Vector | None = None

    moved = 2

    def of_all(self, records: Records) -> np.ndarray:
        rows, cycle = records.private_rows, records.private_cycle
        return adjacent_differences(rows, cycle, self.direction, self.centre)

    def error(self, layout: Layout) -> float:
        raise NotImplementedError("no record is clipped by its difference from another")
