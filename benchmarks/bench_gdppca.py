"""Error of GDPPCA: the settings of Kim & Jung's section 4.

Run ``python benchmarks/bench_gdppca.py``. Errors are means of the sine of the largest angle over
fresh draws, with their standard errors; eigenvalues 10, 5, 1, ..., 1, two components, epsilon =
0.5, delta = 1e-5. The first three columns and the last are of components only: nothing is spent on
location and variances. "No privacy" is the same matrix without noise; "population" is the law's own
matrix with the noise of the add-remove column, so without sampling error. The others spend what
they do by default, on rows around (100, ..., 100).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
from _common import Measured, measure

from skdppca import GDPPCA
from skdppca.datasets import Draw, make_contaminated, make_elliptical, make_gaussian
from skdppca.linalg import decreasing_eigh
from skdppca.metrics import sin_theta
from skdppca.privacy import mu_of
from skdppca.records.pairs import Kernel, cyclic_sum
from skdppca.statistics import KendallMatrix

FIRST_SEED, NOISE_SEED = 9_000, 1_000_000
BUDGET = {"epsilon": 0.5, "delta": 1e-5}
COMPONENTS_ONLY = {"location_share": 0.0, "variance_share": 0.0}
SPECTRUM, K = ([9.0, 4.0], 1.0), 2
LAWS: dict[str, Callable[..., Draw]] = {
    "Gaussian": make_gaussian,
    "t, 1 degree of freedom": functools.partial(make_elliptical, df=1),
    "5 % contaminated": make_contaminated,
}

# Law, d, n.
CELLS = [
    ("Gaussian", 5, 500),
    ("Gaussian", 5, 2000),
    ("Gaussian", 10, 2000),
    ("Gaussian", 25, 2000),
    ("t, 1 degree of freedom", 10, 2000),
    ("5 % contaminated", 10, 2000),
]


def error(draw: Draw, seed: int, shift: float = 0.0, **parameters: object) -> float:
    # Draws are seeded by the same numbers: noise of the same stream would follow the data.
    pca = GDPPCA(K, random_state=seed + NOISE_SEED, **{**BUDGET, **parameters})
    return sin_theta(pca.fit(draw.X + shift).components_, draw.components)


def population(law: str, d: int, n: int, repeats: int) -> np.ndarray:
    """Errors of the law's Kendall matrix, from 2e5 rows, plus the noise alone."""
    draw = LAWS[law](200_000, d, *SPECTRUM, random_state=0)
    total = cyclic_sum(draw.X, np.arange(len(draw.X)), 20, Kernel())
    matrix = (np.triu(total) + np.triu(total, 1).T) / (40 * len(draw.X)) * n
    sd = KendallMatrix(d).sensitivity("add-remove") / mu_of(**BUDGET)
    rng = np.random.default_rng(FIRST_SEED)
    errors = []
    for _ in range(repeats):
        noise = sd * rng.standard_normal((d, d))
        vectors = decreasing_eigh(matrix + (noise + noise.T) / 2)[1]
        errors.append(sin_theta(vectors[:K], draw.components))
    return np.array(errors)


def told(errors: np.ndarray) -> str:
    mean, se = errors.mean(), errors.std(ddof=1) / math.sqrt(len(errors))
    return f"{mean:.4f} ({se:.4f})"


def accuracy(repeats: int) -> Iterator[dict[str, object]]:
    for law, d, n in CELLS:
        ways = {
            "no privacy": {"epsilon": math.inf, **COMPONENTS_ONLY},
            "replace-one": {"adjacency": "replace-one", **COMPONENTS_ONLY},
            "add-remove": COMPONENTS_ONLY,
            "add-remove, all defaults": {"shift": 100.0},
            "add-remove, private centre": {"shift": 100.0, "centering": "private"},
        }
        runs: dict[str, list[float]] = {name: [] for name in ways}
        for seed in range(FIRST_SEED, FIRST_SEED + repeats):
            draw = LAWS[law](n, d, *SPECTRUM, random_state=seed)
            for name, way in ways.items():
                runs[name].append(error(draw, seed, **way))
        row: dict[str, object] = {"rows": law, "d": d, "n": n}
        row |= {name: told(np.array(e)) for name, e in runs.items()}
        row["population, noise alone"] = told(population(law, d, n, 4 * repeats))
        yield row


if __name__ == "__main__":
    told = {"repeats": f"{{}}, seeds from {FIRST_SEED}"}
    measure(__doc__, {"gdppca_accuracy": Measured(accuracy, 1000, told)})
