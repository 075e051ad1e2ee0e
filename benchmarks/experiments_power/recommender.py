"""A recommender's low-pass filter from private eigenvectors: hits among 10 items, real visitors.

Run ``python benchmarks/experiments_power/recommender.py --data FOLDER`` (or set SKDPPCA_DATA). One
entry of every row with at least three is held out; the filter is fitted on the rest, recommends ten
unseen items to each, and a hit is the held-out one among them. "Ideal" is the filter ``x V^T V``;
"weighted" multiplies the scores by the private standard deviations along V, so that popular items
keep their weight. Medians of five splits; delta = 1e-6.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for experiments_files

import numpy as np
from _matrices import SAVED, load
from experiments_files import DATA, options
from scipy import sparse
from sklearn.preprocessing import Normalizer

from skdppca import DPPowerMethod
from skdppca.exceptions import SeededNoiseWarning

P, LENGTH, DELTA, SPLITS = 16, 10, 1e-6, 5

# Rows and a seed -> eigenvectors of shape (P, d), variances along them.
Filter = Callable[[sparse.csr_array, int], tuple[np.ndarray, np.ndarray]]


def interactions(epsilon: float) -> Filter:
    """Protects one entry."""
    own = {"protect": "interaction", "degree_floor": 3}
    return lambda X, seed: _fitted(X, epsilon, seed, **own)


def users(epsilon: float) -> Filter:
    """Protects all of a user's row, scaled to length 1 by itself."""
    return lambda X, seed: _fitted(_scaled(X), epsilon, seed, norm_bound=1.0)


def _fitted(X: sparse.csr_array, epsilon: float, seed: int, **own) -> tuple[np.ndarray, np.ndarray]:
    pca = DPPowerMethod(
        P, center=False, epsilon=epsilon, delta=DELTA, random_state=seed, **own
    ).fit(X)
    return pca.components_, pca.explained_variance_


def exact(X: sparse.csr_array, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows = _scaled(X)
    values, vectors = np.linalg.eigh((rows.T @ rows).toarray())
    return vectors[:, -P:].T, values[-P:]


def _scaled(X: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(Normalizer().transform(X))


def recommend(filter_: Filter, power: float) -> Callable[[sparse.csr_array, int], np.ndarray]:
    def scores(X: sparse.csr_array, seed: int) -> np.ndarray:
        directions, variances = filter_(X, seed)
        return (X @ directions.T * variances**power) @ directions

    return scores


def popular(X: sparse.csr_array, seed: int) -> np.ndarray:
    return np.tile(np.asarray(X.sum(axis=0)).ravel(), (X.shape[0], 1))


FILTERS: dict[str, Filter] = {
    "no noise": exact,
    **{f"one visit, epsilon {e:g}": interactions(e) for e in (0.1, 1.0, 5.0)},
    **{f"one user, epsilon {e:g}": users(e) for e in (0.1, 1.0, 5.0)},
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
    scores = scores[rows]
    scores[rest[rows].toarray() > 0] = -np.inf
    best = np.argpartition(-scores, LENGTH, axis=1)[:, :LENGTH]
    return float(np.mean((best == held[:, None]).any(axis=1)))


def main() -> None:
    asked = options(__doc__, data=DATA)
    warnings.simplefilter("ignore", SeededNoiseWarning)  # published data
    with (asked.folder / "power_recommender.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "filter", "ideal", "weighted", "splits"])
        for name in SAVED:
            splits = [split(load(name, asked.data), seed) for seed in range(SPLITS)]
            for method, filter_ in FILTERS.items():
                ways = [recommend(filter_, power) for power in (0.0, 0.5)]
                _write(writer, name, method, *(_median(way, splits) for way in ways))
            _write(writer, name, "most popular, no filter", "", _median(popular, splits))


def _median(scores: Callable[[sparse.csr_array, int], np.ndarray], splits: list) -> str:
    found = [hits(scores(part[0], seed), *part) for seed, part in enumerate(splits)]
    return f"{np.median(found):.3f}"


def _write(writer, *row: str) -> None:
    writer.writerow([*row, SPLITS])
    print(*row, flush=True)


if __name__ == "__main__":
    main()
