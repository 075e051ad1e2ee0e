"""Time whole fits over sites beside the same fits in one place.

Run ``python benchmarks/bench_sites_speed.py``. All sites are in this process and answer one after
the other, so the time is the work of the server and of all sites together, without a network: new
keys, masks, ledgers in a folder of memory, sums and noise. Cases of one method take turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

from _common import Measured, measure
from bench_sites import DELTA, EPSILON, METHODS, SITES, K, data, over_sites
from sklearn.datasets import load_digits
from timing import interleaved, paired_ratio

ONE_PLACE = "one place"


def rows(repeats: int) -> Iterator[dict[str, str]]:
    table = data("digits", load_digits().data)
    for method in METHODS:
        pca = method(K, epsilon=EPSILON, delta=DELTA)
        cases: dict[str, Any] = {ONE_PLACE: lambda pca=pca: pca.fit(table.X)}
        cases |= {f"{m} sites": partial(over_sites, method, table, m, h) for m, h in SITES}
        walls = {
            name: [wall for wall, _ in pairs] for name, pairs in interleaved(cases, repeats).items()
        }
        questions = over_sites(method, table, *SITES[0])[1].questions
        for name in cases:
            yield {
                "data": table.name,
                "method": method.__name__,
                "where": name,
                "questions": str(questions),
                "seconds": f"{median(walls[name]):.3g}",
                "seconds a question": f"{median(walls[name]) / questions:.3g}",
                "x one place": f"{paired_ratio(walls[name], walls[ONE_PLACE]):.0f}",
            }


if __name__ == "__main__":
    told = {"repeats": "{}", "release": f"epsilon {EPSILON:g}, {K} components"}
    measure(__doc__, {"sites_speed": Measured(rows, 9, told)})
