"""What a record pays where some questions are asked of disjoint parts of the records only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction


def largest_cost(costs: Iterable[tuple[str, Fraction | float]]) -> Fraction | float:
    """The most that any record pays.

    Parameters
    ----------
    costs : iterable of (part, cost)
        A record of part "1 of 2, 3 of 4" pays for that, for "1 of 2" and for "", all records.
    """
    paid = defaultdict(int)
    for part, cost in costs:
        paid[part] += cost
    ways = [[p for p in paid if not p or f"{part}, ".startswith(f"{p}, ")] for part in paid]
    return max((sum(paid[p] for p in way) for way in ways), default=0)
