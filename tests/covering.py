"""Few cases that hold every pair of values, in place of every combination."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any


def pairwise(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Choose cases in which each value of a factor meets each value of every other factor.

    Most faults follow one parameter or two (D. R. Kuhn, D. R. Wallace, A. M. Gallo, "Software fault
    interactions and implications for software testing", 2004); one that needs three values at once
    may be missed. The cases are the same ones in every process.
    """
    sizes = [len(factor) for factor in factors]
    unmet = {
        frozenset({(i, a), (j, b)}): None
        for i, j in combinations(range(len(sizes)), 2)
        for a in range(sizes[i])
        for b in range(sizes[j])
    }

    def newly_met(chosen: dict[int, int], place: int, value: int) -> int:
        return sum(frozenset({(place, value), other}) in unmet for other in chosen.items())

    cases = []
    while unmet:
        chosen = dict(sorted(next(iter(unmet))))
        for place, size in enumerate(sizes):
            if place not in chosen:
                turns = [(len(cases) + value) % size for value in range(size)]
                chosen[place] = max(turns, key=lambda v: newly_met(chosen, place, v))
        for pair in combinations(chosen.items(), 2):
            unmet.pop(frozenset(pair), None)
        cases.append(tuple(factors[place][chosen[place]] for place in range(len(sizes))))
    return cases
