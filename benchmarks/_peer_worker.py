"""Fit one peer's PCA; run by `_peers.run` in the peer's own environment.

Both are *given* what they ask for, computed from the data: bounds, norms and sizes. That favours
them: skdppca finds the like privately, inside its budget.
"""

import json
import sys
from importlib.metadata import version
from time import perf_counter

import numpy as np


def diffprivlib(X, k, epsilon):
    from diffprivlib.models import PCA

    norm = float(np.linalg.norm(X - X.mean(axis=0), axis=1).max())
    bounds = (X.min(axis=0), X.max(axis=0))
    return PCA(k, epsilon=epsilon, data_norm=1.01 * norm, bounds=bounds).fit


def opendp(X, k, epsilon):
    import opendp.prelude as dp
    from opendp.extras.sklearn.decomposition import PCA

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    norm = float(np.linalg.norm(X, axis=1).max())
    n, d = X.shape
    return PCA(epsilon=epsilon, row_norm=norm, n_samples=n, n_features=d, n_components=k).fit


def main():
    package, data, out, k, epsilon = sys.argv[1:]
    X = np.load(data)
    fit = {"diffprivlib": diffprivlib, "opendp": opendp}[package](X, int(k), float(epsilon))
    start = perf_counter()
    fitted = fit(X)
    seconds = perf_counter() - start
    np.save(out, fitted.components_)
    versions = {name: version(name) for name in (package, "scikit-learn", "numpy")}
    print(json.dumps({"seconds": seconds, "versions": versions}))


if __name__ == "__main__":
    main()
