"""NSGGD with more rows than Figures 2 to 4 of `figures.py` have it for: mean sin-theta error.

    python benchmarks/experiments_gdppca/nsggd.py                 # three minutes on one core

n^2 steps make it slow. Here all laws and repeats of a size are run at once, at d = 5, epsilon .5
and delta 1e-5, on the rows that the figures have. **NOT PRIVATE**, as printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from figures import COLUMNS, DELTA, LAWS, NSGGD, K, draw_of, folders, nsggd_chains, spread

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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--folder", type=Path, help="where all files lie and go")
    options = parser.parse_args()
    folder, _ = folders(options.folder)
    rows = [row for n in options.sizes for row in errors(n, options.repeats)]
    summary = spread(pd.DataFrame(rows, columns=COLUMNS), COLUMNS[:5], COLUMNS[-1])
    summary.to_csv(folder / f"{NAME}_summary.csv", index=False, float_format="%.6g")
    print(summary[["law", "n", "trials", "sin_theta_mean", "sin_theta_mean_error"]].to_string())


if __name__ == "__main__":
    main()
