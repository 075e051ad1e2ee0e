"""Time whole fits over sites beside the same fits in one place.

Run ``python benchmarks/bench_sites_speed.py``. All sites are in this process and answer one after
the other, so the time is the work of the server and of all sites together, without a network: new
keys, masks, ledgers in a folder of memory, sums and noise. Cases of one method take turns.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

from _common import arguments, machine, save
from bench_sites import DELTA, EPSILON, METHODS, SITES, K, data, over_sites
from sklearn.datasets import load_digits
from timing import interleaved, paired_ratio

ONE_PLACE = "one place"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    facts = machine() | {"repeats": str(repeats), "release": f"epsilon {EPSILON:g}, {K} components"}
    table, rows = data("digits", load_digits().data), []
    for method in METHODS:
        pca = method(K, epsilon=EPSILON, delta=DELTA)
        cases: dict[str, Any] = {ONE_PLACE: lambda pca=pca: pca.fit(table.X)}
        cases |= {f"{m} sites": partial(over_sites, method, table, m, h) for m, h in SITES.items()}
        walls = {
            name: [wall for wall, _ in pairs] for name, pairs in interleaved(cases, repeats).items()
        }
        _, sent = over_sites(method, table, *next(iter(SITES.items())))
        questions = sum(one.action == "answer" for one in sent)
        for name in cases:
            rows.append(
                {
                    "data": table.name,
                    "method": method.__name__,
                    "where": name,
                    "questions": str(questions),
                    "seconds": f"{median(walls[name]):.3g}",
                    "seconds a question": f"{median(walls[name]) / questions:.3g}",
                    "x one place": f"{paired_ratio(walls[name], walls[ONE_PLACE]):.0f}",
                }
            )
    save("sites_speed", rows, facts)


if __name__ == "__main__":
    main()
