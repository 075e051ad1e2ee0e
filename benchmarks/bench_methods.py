"""All methods on the same data: accuracy, time and memory.

Run ``python benchmarks/bench_methods.py``. Accuracy is the share of the best possible variance that
the components capture (of the data's own covariance, or of the model's scatter matrix where the
rows are drawn), the median over seeds; delta = 1e-6, add-remove, no public facts but the budget.
Time and memory: one fit a process, of one mapped file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _common import Measured, load, measure
from experiments_files import plt
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from timing import fresh, status, watched, write

from skdppca.datasets import Draw, make_contaminated, make_elliptical, make_gaussian, make_spiked
from skdppca.decomposition import METHODS as REGISTRY
from skdppca.decomposition import BasePrivatePCA
from skdppca.metrics import captured_variance

METHODS = tuple(method.estimator for method in REGISTRY.values())
EPSILONS = (0.1, 0.2, 0.3, 0.5, 1.0, 10.0)
DELTA = 1e-6
FIRST_SEED = 40_000
FIGURE = Path(__file__).parents[1] / "doc" / "_static" / "methods.png"

TIMED_ROWS, TIMED_FEATURES = 100_000, 200
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# X, groups, covariance, more parameters
Data = tuple[Any, np.ndarray | None, np.ndarray, dict[str, Any]]


def real(X: np.ndarray) -> Data:
    return X, None, np.cov(X.T), {}


def drawn(law: Callable[..., Draw], *told: Any, **parameters: Any) -> Callable[[int], Data]:
    """Data for a seed: records of a law, and parameters of the methods."""

    def data(seed: int) -> Data:
        draw = law(*told, random_state=seed)
        return draw.X, draw.groups, draw.covariance, parameters

    return data


def cancer() -> Data:
    X = load_breast_cancer().data
    return real((X - X.mean(axis=0)) / X.std(axis=0))  # public scales: no method is told the mean


def threes(*told: Any, **more: Any) -> Draw:
    """Normal rows, three a person, that have nothing in common."""
    draw = make_gaussian(*told, **more)
    return draw._replace(groups=np.repeat(np.arange(len(draw.X) // 3), 3))


def ratings(seed: int) -> Data:
    """Users and items of uneven popularity, in four tastes: 20000 x 1000 of zeros and ones."""
    rng = np.random.default_rng(seed)
    n, d, tastes, each = 20_000, 1000, 4, 25
    popularity = 1 / np.arange(1, d + 1)
    liked = popularity * rng.gamma(0.3, size=(tastes, d))
    liked /= liked.sum(axis=1, keepdims=True)
    of_user = rng.integers(tastes, size=n)
    columns = np.concatenate([rng.choice(d, each, p=liked[taste]) for taste in of_user])
    pointers = np.arange(0, each * n + 1, each)
    X = sparse.csr_array((np.ones(each * n), columns, pointers), (n, d))
    X.sum_duplicates()
    X.data[:] = 1.0
    mean = np.asarray(X.mean(axis=0)).ravel()
    covariance = (X.T @ X).toarray() / n - np.outer(mean, mean)
    return X, None, covariance, {}


# What it shows -> data for a seed, k.
DATA: dict[str, tuple[Callable[[int], Data], int]] = {
    "digits, 1797 x 64": (lambda seed: real(load_digits().data), 5),
    "breast cancer, 569 x 30": (lambda seed: cancer(), 2),
    "clear gap, 5000 x 100": (drawn(make_gaussian, 5000, 100, (10, 8, 6), 0.3), 3),
    "noise dominates, 5000 x 100": (drawn(make_gaussian, 5000, 100, (4, 2), 1.0), 2),
    "heavy tails (t, 1 df), 5000 x 20": (
        drawn(partial(make_elliptical, df=1), 5000, 20, (4, 2), 1.0),
        2,
    ),
    "5 % outliers, 5000 x 20": (drawn(make_contaminated, 5000, 20, (10, 5), 1.0), 2),
    "groups that agree, 5000 of 3 x 100": (
        drawn(make_spiked, 5000, 100, 2, (10, 5), 0.1, unit="group", center=False),
        2,
    ),
    "sparse ratings, 20000 x 1000": (ratings, 4),
    "digits and 1000, 1797 x 64": (lambda seed: real(load_digits().data + 1000), 5),
    "groups that differ, 3000 of 3 x 20": (drawn(threes, 9000, 20, (4, 2), 1.0, unit="group"), 2),
    "few rows, 500 x 10": (drawn(make_gaussian, 500, 10, (10, 5), 1.0), 2),
    "few rows, 200 x 5": (drawn(make_gaussian, 200, 5, (10, 5), 1.0), 2),
}


def share(method: type[BasePrivatePCA], data: Data, k: int, epsilon: float, seed: int) -> float:
    """What one fit captures."""
    X, groups, covariance, told = data
    pca = method(k, epsilon=epsilon, delta=DELTA, random_state=seed, **told)
    return captured_variance(pca.fit(X, groups=groups), covariance=covariance)


def as_text(share: float) -> str:
    return f"{share:.3f}" if share < 0.9985 else f"1 - {1 - share:.0e}"


def as_number(text: str) -> float:
    whole, _, loss = text.partition(" - ")
    return float(whole) - float(loss or 0)


def accuracy(repeats: int) -> Iterator[dict]:
    for name, (make, k) in DATA.items():
        found: dict[tuple[str, float], list[float]] = {}
        for seed in range(FIRST_SEED, FIRST_SEED + repeats):
            data = make(seed)
            for method, epsilon in product(METHODS, EPSILONS):
                captured = share(method, data, k, epsilon, seed)
                found.setdefault((method.__name__, epsilon), []).append(captured)
        for epsilon in EPSILONS:
            medians = {m.__name__: np.median(found[m.__name__, epsilon]) for m in METHODS}
            best = max(medians, key=medians.__getitem__)
            yield (
                {"data": name, "k": k, "epsilon": f"{epsilon:g}"}
                | {method: as_text(value) for method, value in medians.items()}
                | {"best": best}
            )


def mapped_fit(path: Path, method: type[BasePrivatePCA]) -> dict[str, float]:
    """Time and the process's own pages (RssAnon); those of the mapped file do not count."""
    X = np.load(path, mmap_mode="r")
    return watched(lambda: method(10).fit(X), partial(status, "RssAnon"), 0.005)


def speed(runs: int) -> Iterator[dict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.npy")
        write(path, TIMED_ROWS, TIMED_FEATURES)
        for method in METHODS:
            told = [fresh(mapped_fit, path, method, **ONE_THREAD) for _ in range(runs)]
            extra = median(run["peak"] - run["before"] for run in told) / 1e6
            yield (
                {
                    "method": method.__name__,
                    "seconds": f"{median(run['seconds'] for run in told):.2f}",
                    "MB beside the data": f"{extra:.0f}",
                }
            )


def draw_figure() -> None:
    """Captured variance against epsilon, a panel a data set, from the saved table."""
    rows, _ = load("methods_accuracy")
    figure, axes = plt.subplots(3, 4, figsize=(15, 10), sharex=True, sharey=True)
    for panel, name in zip(axes.flat, DATA, strict=True):
        measured = [method for method in METHODS if method.__name__ in rows[0]]
        for i, method in enumerate(measured):
            values = [as_number(row[method.__name__]) for row in rows if row["data"] == name]
            panel.plot(
                EPSILONS,
                values,
                marker="osD^vPX"[i % 7],
                linestyle=["-", "-", "--", "--", ":", ":", "-."][i % 7],
                label=method.__name__,
                color=plt.cm.tab10(i),
            )
        panel.set(title=name, xscale="log", ylim=(0, 1.03), xticks=EPSILONS)
        panel.set_xticklabels([f"{epsilon:g}" for epsilon in EPSILONS], fontsize=8)
        panel.grid(alpha=0.3)
    figure.supxlabel("epsilon")
    figure.supylabel("captured share of the best possible variance")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="upper center", ncol=len(handles[0]), bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout(rect=(0.01, 0, 1, 0.96))
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    data = f"{TIMED_ROWS} x {TIMED_FEATURES} float32, n_components = 10, one thread"
    told = {"repeats": f"median of {{}}, delta {DELTA:g}"}
    times = {"data": data, "repeats": "median of {}"}
    tables = {"accuracy": Measured(accuracy, 9, told), "speed": Measured(speed, 3, times)}
    measure(__doc__, {f"methods_{name}": one for name, one in tables.items()})
    draw_figure()
