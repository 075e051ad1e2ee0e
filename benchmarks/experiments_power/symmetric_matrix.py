"""The private power method on a symmetric matrix itself (Nicolas et al. 2025, Algorithm 1).

    python benchmarks/experiments_power/symmetric_matrix.py --data FOLDER   # or SKDPPCA_DATA

Neighbours are ``A`` and ``A + C`` with C symmetric and ``sum_i ||C_i||_1^2 <= 1`` (their equation
7). The package has no such input: its records are rows, whose matrices add up. **NOT PRIVATE**:
the noise is numpy's. Its scale is enough: the exact one of the Gaussian mechanism on rho = max
||X_i||, and the printed one, which is larger at these epsilon (`_methods.printed`).

A is ``R^T diag(1 / deg) R``, p = 32 and L = 3 as in `relative_error.py`; the table has the share of
the trace along the best 32 directions that is missed, medians, delta = 1e-6. "Longest row" is
their bound rho, "largest entry" the prior one, sqrt p max |X_ij|. An update C is less
than what one interaction changes (sqrt2), so the same epsilon protects less than it does there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for experiments_files, power_iterations

import numpy as np
import pandas as pd
from _matrices import GENERATED, SAVED, load
from _methods import DELTA, L, P, printed_multiplier, weighted
from _papers import largest_entry
from experiments_files import DATA, options
from power_iterations import power_iterations

from skdppca.privacy import mu_of
from skdppca.statistics.products import coherence

NAME, EPSILONS, REPEATS = "power_symmetric_matrix", (0.1, 0.5, 1.0, 5.0), 10


def exact_multiplier(epsilon: float) -> float:
    """Noise over sensitivity of the exact Gaussian mechanism, L times."""
    return sqrt(L) / mu_of(epsilon, DELTA)


# Name -> bound on the product's change for orthonormal rows, noise over that bound.
METHODS: dict[str, tuple[Callable[[np.ndarray], float], Callable[[float], float]]] = {
    "longest row, exact noise": (coherence, exact_multiplier),
    "longest row, printed noise": (coherence, printed_multiplier),
    "largest entry, printed noise": (largest_entry, printed_multiplier),
    "no noise": (lambda W: 0.0, exact_multiplier),
}


def symmetric_power_method(
    A: np.ndarray, p: int, epsilon: float, method: str, rng: np.random.Generator
) -> np.ndarray:
    """Algorithm 1; p orthonormal rows. NOT PRIVATE: the noise is numpy's."""
    bound, multiplier = METHODS[method]
    scale = multiplier(epsilon)
    return power_iterations(lambda Q: A @ Q, len(A), p, L, rng, lambda Q: bound(Q.T) * scale)


def measure(data: Path | None, repeats: int) -> pd.DataFrame:
    rows = []
    for name in (*SAVED, GENERATED):
        X = load(name, data)
        if X is None:
            print(f"{name}: no file, left out")
            continue
        scaled = weighted(X, 1)
        A = (scaled.T @ scaled).toarray()
        best = np.linalg.eigvalsh(A)[-P:].sum()
        for method in METHODS:
            row: dict[str, str] = {"matrix": name, "method": method}
            for epsilon in EPSILONS:
                missed = []
                for seed in range(repeats):
                    rng = np.random.default_rng(seed)
                    V = symmetric_power_method(A, P, epsilon, method, rng)
                    missed.append(1 - np.sum((V @ A) * V) / best)
                row[f"epsilon {epsilon:g}"] = f"{np.median(missed):.3f}"
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    asked = options(__doc__, repeats=REPEATS, data=DATA)
    found = measure(asked.data, asked.repeats)
    found.to_csv(asked.folder / f"{NAME}.csv", index=False)
    print(found.to_string(index=False))


if __name__ == "__main__":
    main()
