"""NSGGD with more rows than Figures 2 to 4 of `figures.py` have it for: mean sin-theta error.

    python benchmarks/experiments_gdppca/nsggd.py                 # three minutes on one core

n^2 steps make it slow. Here all laws and repeats of a size are run at once, at d = 5, epsilon .5
and delta 1e-5, on the rows that the figures have. **NOT PRIVATE**, as printed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from figures import COLUMNS, DELTA, LAWS, NSGGD, K, draw_of, nsggd_chains, options, spread

from skdppca.metrics import sin_theta

NAME, SIZES, D, EPSILON = "gdppca_nsggd", (500, 1000, 2000), 5, 0.5
PRINTED, SIGN = next(iter(NSGGD.items()))


def errors(n: int, repeats: int) -> list[list]:
    """One row a law and repeat."""
    keys = [((law, n, D, EPSILON), repeat) for law in LAWS for repeat in range(repeats)]
    draws = [draw_of(cell, repeat) for cell, repeat in keys]
    rng = np.random.default_rng([3, n, repeats])
    found = nsggd_chains(
        [draw.X for draw in draws], K, [EPSILON] * len(draws), DELTA, rng, [SIGN] * len(draws)
    )
    return [
        [*cell, PRINTED, repeat, sin_theta(V, draw.components)]
        for (cell, repeat), V, draw in zip(keys, found, draws, strict=True)
    ]


def main() -> None:
    asked = options(__doc__, repeats=20, sizes={"type": int, "nargs": "+", "default": SIZES})
    rows = [row for n in asked.sizes for row in errors(n, asked.repeats)]
    summary = spread(pd.DataFrame(rows, columns=COLUMNS), COLUMNS[:5], COLUMNS[-1])
    summary.to_csv(asked.folder / f"{NAME}_summary.csv", index=False, float_format="%.6g")
    print(summary[["law", "n", "trials", "sin_theta_mean", "sin_theta_mean_error"]].to_string())


if __name__ == "__main__":
    main()
