"""What guides and method pages say that no other table holds: searches, passes, error bars.

Run ``python benchmarks/bench_guide.py``; ``--only guide_search`` and so on measures one table
alone. All seeds are fixed, and delta is 1e-6.

- *search*: `PrivateSearchCV` beside one fit of the default, on the digits with five components.
  Captured share of the best possible variance, means; for a classifier, the share of records that
  are classified right.
- *passes*: how often a fit with ten components reads a table, validating it among them: the most at
  epsilon 1 and 10. A file is just too large to be held in memory.
- *alignments*: what `KDPOjas` tells of its components, beside the squared cosines with those of the
  same rows without noise. Means over fits to one table.
- *ojas*: loss zeta^2 of the variants of `KDPOjas`, medians over draws.
- *loadings*: how many entries of PCA without privacy lie within the 95 % bars of
  `LoadingsDisplay`, over fits.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import Measured, measure
from bench_files import passes as count_passes
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.pipeline import Pipeline

import skdppca
from skdppca import DPGauss, KDPOjas
from skdppca.datasets import Draw, make_gaussian, make_spiked
from skdppca.linalg import decreasing_eigh
from skdppca.metrics import captured_variance, zeta_squared
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.plotting._noise_of_fits import entry_errors

EPSILONS = (1.0, 10.0)
NOISE_SEED = 1_000_000  # rows are seeded by small numbers: noise of their stream would follow them

SEARCH_FITS, CLASSIFIER_FITS = 30, 12
BOUNDS = {"bounds far off": [None, 1.0, 10_000.0], "bounds near": [None, 30.0, 60.0]}

K = 10
# Rows, features, rows of a group, parameters, methods.
FILES: dict[str, tuple[int, int, int, dict[str, Any], str]] = {
    "file": (440_000, 20, 1, {}, "DPGauss PrivatePCA ResidualGauss DPPowerMethod KDPPCA KDPOjas"),
    "file of few rows": (12_000, 700, 1, {}, "DPGauss KDPPCA"),
    "file of groups": (60_000, 150, 3, {}, "DPGauss KDPPCA"),
    "file, mean and norm bound public": (
        440_000,
        20,
        1,
        {"norm_bound": 50.0, "center": False},
        "DPGauss",
    ),
}
CLUSTER = (20_000, 100)
CLUSTER_METHODS = "DPGauss ResidualGauss DPPowerMethod KDPPCA KDPOjas"

# Largest variances, and the rest; n, d, epsilon, components, fits.
ALIGNED = {
    "10, 5, 3, then 1": (5_000, 60, 0.5, 3, 40),
    "10, 5, then 1": (2_000, 60, 0.3, 2, 40),
    "10, 5, then 1 ": (2_000, 60, 0.1, 2, 40),
    "3, 2, 1.5, then 1": (1_000, 20, 1.0, 3, 40),
    "1 / j": (20_000, 40, 1.0, 5, 20),
    "1 / j^2": (20_000, 100, 1.0, 4, 20),
}
OJAS_FITS = 11
OJAS: dict[str, Callable[..., Draw]] = {
    "10000 groups that agree, d = 50": partial(make_spiked, 10_000, 50, 2, [10, 5], 0.1),
    "20000 Gaussian rows, d = 30": partial(make_gaussian, 20_000, 30, [10, 5], 1.0),
}
LOADINGS_FITS, LOADINGS_EPSILONS = 25, (1.0, 3.0, 10.0)


def search() -> Iterator[dict]:
    """Searches and single fits, one row a setting."""
    X, y = load_digits(return_X_y=True)
    for epsilon in (1.0, 3.0):
        plain = [
            captured_variance(DPGauss(5, epsilon=epsilon, random_state=seed).fit(X), X)
            for seed in range(SEARCH_FITS)
        ]
        yield _mean("captured variance", "one fit of the default", epsilon, plain)
        for name, bounds in BOUNDS.items():
            grid = {"clip": ["auto", "spherical"], "norm_bound": bounds}
            found = [
                captured_variance(_searched(DPGauss(5), grid, epsilon, seed, X).best_estimator_, X)
                for seed in range(SEARCH_FITS)
            ]
            yield _mean("captured variance", f"a search, {name}", epsilon, found)
        grid = {"pca__n_components": [2, 5, 10]}
        found = [
            _searched(_classifier(), grid, epsilon, seed, X, y).score(X, y)
            for seed in range(CLASSIFIER_FITS)
        ]
        yield _mean("classified right", "a search", epsilon, found)
    exact = _classifier(pca__n_components=10, pca__epsilon=np.inf, classifier__epsilon=np.inf)
    yield _mean(
        "classified right", "ten components, no noise", np.inf, [exact.fit(X, y).score(X, y)]
    )


def _classifier(**parameters: Any) -> Pipeline:
    centroid = PrivateNearestCentroid(classes=range(10), center=False)
    return Pipeline([("pca", DPGauss()), ("classifier", centroid)]).set_params(**parameters)


def _searched(
    estimator: Any, grid: dict[str, list], epsilon: float, seed: int, *table: np.ndarray
) -> PrivateSearchCV:
    search = PrivateSearchCV(
        estimator, grid, epsilon=epsilon, delta=1e-6, mean_candidates=10, random_state=seed
    )
    return search.fit(*table)


def _mean(measure: str, what: str, epsilon: float, values: list[float]) -> dict:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {
        "measure": measure,
        "what": what,
        "epsilon": f"{epsilon:g}",
        "mean": f"{np.mean(values):.3f}",
        "standard error": f"{error:.3f}",
        "fits": len(values),
    }


def passes() -> Iterator[dict]:
    """The most passes over a file, and over a dask array."""
    import dask
    import pyarrow.dataset as ds

    for name, (n, d, size, parameters, methods) in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder, "X.parquet"), n, d, size)
            more = {"groups": "who"} if size > 1 else {}
            unit = {"unit": "patient"} if size > 1 else {}
            for method in methods.split():
                yield _most(name, method, unit | parameters, file_read(ds.dataset(path), more))
    with dask.config.set(scheduler="synchronous"):
        for name, parameters in (
            ("cluster", {}),
            ("cluster, private scales", {"scale": "private"}),
        ):
            for method in CLUSTER_METHODS.split():
                yield _most(name, method, parameters, cluster_read)


Read = Callable[[Any], int]


def _most(table: str, method: str, parameters: dict[str, Any], read: Read) -> dict:
    counts = [
        read(getattr(skdppca, method)(K, epsilon=epsilon, random_state=NOISE_SEED, **parameters))
        for epsilon in EPSILONS
    ]
    return {"table": table, "method": method, "least": min(counts), "most": max(counts)}


def rows(n: int, d: int) -> np.ndarray:
    """Normal rows whose columns have mean 3, to be found, and standard deviations 1 to 7."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    return X * (1 + np.arange(d, dtype=np.float32) % 7) + np.float32(3)


def write(path: Path, n: int, d: int, size: int) -> Path:
    """Write them, with a column of groups if these are of several rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict(zip((f"x{j}" for j in range(d)), rows(n, d).T, strict=True))
    if size > 1:
        columns["who"] = np.arange(n) // size
    pq.write_table(pa.table(columns), path)
    return path


def file_read(dataset: Any, groups: dict[str, str]) -> Read:
    """How often a fit reads a dataset."""
    return lambda pca: count_passes(lambda: pca.fit(dataset, **groups))


def cluster_read(pca: Any) -> int:
    """How often a fit computes a dask array of one partition."""
    import dask
    import dask.array as da

    count, X = itertools.count(), rows(*CLUSTER)

    def partition() -> np.ndarray:
        next(count)
        return X

    pca.fit(da.from_delayed(dask.delayed(partition, pure=False)(), X.shape, X.dtype))
    return next(count)


def alignments() -> Iterator[dict]:
    """What is told and what is reached, component by component."""
    for name, (n, d, epsilon, k, fits) in ALIGNED.items():
        X = np.random.default_rng(5).normal(size=(n, d)) * np.sqrt(_variances(name.strip(), d))
        exact = decreasing_eigh(np.cov(X.T))[1][:k]
        told, reached = [], []
        for seed in range(NOISE_SEED, NOISE_SEED + fits):
            pca = KDPOjas(k, epsilon=epsilon, random_state=seed).fit(X)
            told.append(pca.privacy_.details["alignments"])
            reached.append(np.sum(pca.components_ * exact, axis=1) ** 2)
        yield {
            "variances": name.strip(),
            "n, d": f"{n}, {d}",
            "epsilon": f"{epsilon:g}",
            "alignments": _listed(told),
            "squared cosines": _listed(reached),
        }


def _variances(name: str, d: int) -> np.ndarray:
    if name.startswith("1 / j"):
        return np.arange(1, d + 1.0) ** -(2.0 if name.endswith("^2") else 1.0)
    top = [float(one) for one in name.partition(", then")[0].split(", ")]
    return np.r_[top, np.ones(d - len(top))]


def _listed(found: list[np.ndarray]) -> str:
    return ", ".join(f"{one:.2f}" for one in np.mean(found, axis=0))


def ojas_loss(draw: Draw, strategy: str, sampling: str, seed: int) -> float:
    told = {"strategy": strategy, "sampling": sampling, "center": False}
    told |= {} if draw.groups is None else {"unit": "matrix"}
    pca = KDPOjas(2, random_state=NOISE_SEED + seed, **told)
    return zeta_squared(pca.fit(draw.X, groups=draw.groups), draw.covariance)


def ojas() -> Iterator[dict]:
    """One row a kind of data; all variants see the same draws."""
    for name, draw in OJAS.items():
        found: dict[str, list[float]] = {}
        for seed in range(OJAS_FITS):
            drawn = draw(random_state=seed)
            for way in itertools.product(("block", "deflation"), ("reuse", "split")):
                found.setdefault(", ".join(way), []).append(ojas_loss(drawn, *way, seed))
        yield {"data": name} | {one: f"{np.median(them):.1e}" for one, them in found.items()}


def within_bars(pca: DPGauss, exact: np.ndarray) -> float:
    """The share of entries of the exact components that lie within the bars."""
    signs = np.sign(np.sum(pca.components_ * exact, axis=1, keepdims=True))
    off = np.abs(signs * pca.components_ - exact)
    return float(np.mean(off <= 1.96 * entry_errors(pca)))


def loadings() -> Iterator[dict]:
    """One row a table and epsilon."""
    digits, cells = load_digits().data, load_breast_cancer().data
    tables = {
        "digits, 3 components": (digits, np.ones(64), 3),
        "digits, 5 components": (digits, np.ones(64), 5),
        "breast cancer, public scales, 3 components": (cells, cells.std(axis=0), 3),
    }
    for name, (X, scale, k) in tables.items():
        exact = decreasing_eigh(np.cov((X / scale).T))[1][:k]
        for epsilon in LOADINGS_EPSILONS:
            within = []
            for seed in range(LOADINGS_FITS):
                pca = DPGauss(k, epsilon=epsilon, scale=scale, random_state=seed).fit(X)
                within.append(within_bars(pca, exact))
            yield {
                "data": name,
                "epsilon": f"{epsilon:g}",
                "within the bars": f"{np.mean(within):.2f}",
            }


TABLES: dict[str, tuple[Callable[[], Iterator[dict]], str]] = {
    "search": (search, f"{SEARCH_FITS} seeds, of classifiers {CLASSIFIER_FITS}; from 0"),
    "passes": (passes, f"{K} components, epsilon {', '.join(f'{one:g}' for one in EPSILONS)}"),
    "alignments": (alignments, "means of 40 fits to one table, in the last two rows of 20"),
    "ojas": (ojas, f"medians of {OJAS_FITS} draws, epsilon 1, k = 2, eigenvalues 10 and 5"),
    "loadings": (loadings, f"means of {LOADINGS_FITS} fits"),
}


if __name__ == "__main__":
    measure(
        __doc__,
        {
            f"guide_{name}": Measured(lambda _, rows=rows: rows(), facts={"fits": fits})
            for name, (rows, fits) in TABLES.items()
        },
    )
