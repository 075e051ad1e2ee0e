"""The plans that the page "Try a plan" of the documentation shows: `results/plans.csv`.

Run ``python benchmarks/plans_for_pages.py --save``; it goes on where an interrupted run ended. The
sliders of the page stop at these plans and at no others, so nothing is interpolated, and the
command that the page shows answers with the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, product
from typing import Any
from unittest.mock import patch

from _common import Measured, kept, measure

from skdppca.planner import answers, plan

# Where the sliders stop.
RECORDS = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
FEATURES = (10, 30, 100)
COMPONENTS = (2, 5)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6

# Kinds of tables, and what the planner is given for each.
KINDS: dict[str, dict[str, Any]] = {
    "rows": {},
    "units": {"scale": "private"},
    "groups": {"group_size": 5},
    "tails": {"tails": "heavy"},
}


def rows_of(cell: tuple[str, int, int, int, float]) -> list[dict[str, object]]:
    """Return one row for each method of a plan."""
    kind, d, k, n, epsilon = cell
    # the page does not show it, and no other figure depends on it
    with patch.object(answers, "_captured_skewed", lambda *_: None):
        found = plan(n, d, k, epsilon, DELTA, **KINDS[kind])
    return [
        {
            "kind": kind,
            "d": d,
            "k": k,
            "n": n,
            "epsilon": f"{epsilon:g}",
            "method": row.method,
            "recommended": "yes" * row.recommended,
            "captured": f"{row.captured:.6f}",
            "low": f"{row.captured_low:.6f}",
            "high": f"{row.captured_high:.6f}",
            "nothing": "yes" * found.finds_nothing,
            "enough": found.enough or "",
        }
        for row in found.rows
    ]


def rows(_: int) -> Iterator[dict[str, object]]:
    cells = product(KINDS, FEATURES, COMPONENTS, RECORDS, EPSILONS)
    with ProcessPoolExecutor(2) as pool:
        yield from chain.from_iterable(pool.map(partial(kept, rows_of), cells))


if __name__ == "__main__":
    told = {"plans": f"spectrum power-law, delta={DELTA:g}, add-remove"}
    measure(__doc__, {"plans": Measured(rows, facts=told)})
