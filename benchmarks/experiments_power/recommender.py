"""A recommender's low-pass filter from private eigenvectors: hits among 10 items, real visitors.

    SKDPPCA_DATA=FOLDER python benchmarks/experiments_power/recommender.py

One entry of every row with at least three is held out; the filter is fitted on the rest, recommends
ten unseen items to each, and a hit is the held-out one among them. "Ideal" is the filter
``x V^T V``; "weighted" multiplies the scores by the private standard deviations along V, so that
popular items keep their weight. Medians of five splits; delta = 1e-6.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for _common

import numpy as np
from _common import Measured, measure
from _matrices import SAVED, load
from scipy import sparse
from sklearn.preprocessing import normalize

from skdppca import DPPowerMethod

P, LENGTH, DELTA = 16, 10, 1e-6
EPSILONS = (0.1, 1.0, 5.0)
VISIT = {"protect": "interaction", "degree_floor": 3}
USER = {"norm_bound": 1.0}  # of all of a user's row, scaled to length 1 by itself


def private(X: sparse.csr_array, seed: int, **told) -> dict[str, np.ndarray]:
    rows = normalize(X) if "norm_bound" in told else X
    pca = DPPowerMethod(P, center=False, delta=DELTA, random_state=seed, **told).fit(rows)
    return filtered(X, pca.components_, pca.explained_variance_)


def exact(X: sparse.csr_array, seed: int) -> dict[str, np.ndarray]:
    rows = normalize(X)
    values, vectors = np.linalg.eigh((rows.T @ rows).toarray())
    return filtered(X, vectors[:, -P:].T, values[-P:])


def filtered(X: sparse.csr_array, V: np.ndarray, variances: np.ndarray) -> dict[str, np.ndarray]:
    along = X @ V.T
    return {"ideal": along @ V, "weighted": along * np.sqrt(variances) @ V}


def popular(X: sparse.csr_array, seed: int) -> dict[str, np.ndarray]:
    return {"weighted": np.tile(X.sum(axis=0), (X.shape[0], 1))}


# Rows and a seed -> scores of all items by both ways.
FILTERS: dict[str, Callable[[sparse.csr_array, int], dict[str, np.ndarray]]] = {
    "no noise": exact,
    **{f"one visit, epsilon {e:g}": partial(private, epsilon=e, **VISIT) for e in EPSILONS},
    **{f"one user, epsilon {e:g}": partial(private, epsilon=e, **USER) for e in EPSILONS},
    "most popular, no filter": popular,
}


def split(X: sparse.csr_array, seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """The rest, the rows that lost an entry, and its column."""
    rng = np.random.default_rng(seed)
    degrees = np.diff(X.indptr)
    rows = np.flatnonzero(degrees >= 3)
    entries = X.indptr[rows] + rng.integers(degrees[rows])
    rest = X.copy()
    rest.data[entries] = 0.0
    rest.eliminate_zeros()
    return rest, rows, X.indices[entries]


def hits(scores: np.ndarray, rest: sparse.csr_array, rows: np.ndarray, held: np.ndarray) -> float:
    scores = np.where(rest[rows].toarray() > 0, -np.inf, scores[rows])
    best = np.argpartition(-scores, LENGTH, axis=1)[:, :LENGTH]
    return float(np.mean((best == held[:, None]).any(axis=1)))


def measured(repeats: int) -> Iterator[dict[str, object]]:
    for name in SAVED:
        splits = [split(load(name, Path(os.environ["SKDPPCA_DATA"])), s) for s in range(repeats)]
        for method, scores in FILTERS.items():
            found: dict[str, list[float]] = {"ideal": [], "weighted": []}
            for seed, held in enumerate(splits):
                for way, one in scores(held[0], seed).items():
                    found[way].append(hits(one, *held))
            medians = {way: f"{np.median(all_):.3f}" if all_ else "" for way, all_ in found.items()}
            yield {"data": name, "filter": method, **medians, "splits": repeats}


if __name__ == "__main__":
    measure(__doc__, {"power_recommender": Measured(measured, 5)})
