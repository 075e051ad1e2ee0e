"""The methods that the experiments compare: name -> callable(X, groups, k, model, seed).

Every callable returns k orthonormal rows. Those "printed" are not private (see `as_written`), and
neither are those that claim none: PCA, which all are measured against, Oja and power iterations.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import as_written
import numpy as np
from _steps import top_rows
from as_written import WITHOUT_PRIVACY, Model

from skdppca.exceptions import SeededNoiseWarning

Groups = np.ndarray | None
Fit = Callable[[np.ndarray, Groups, int, Model, int], np.ndarray]

NO_PRIVACY = " (no privacy)"
PRINTED = " as printed (not private)"
ESTIMATORS = ("ResidualGauss", "KDPPCA", "KDPOjas", "DPGauss")


def pca(X: np.ndarray, groups: object, k: int, model: Model, seed: int) -> np.ndarray:
    """The k largest eigenvectors of the records' sum: what sampling alone leaves."""
    return top_rows(X.T @ X, k)


def _estimated(
    name: str, X: np.ndarray, groups: Groups, k: int, model: Model, seed: int, **parameters: Any
) -> np.ndarray:
    estimator = getattr(import_module("skdppca"), name)(
        n_components=k,
        epsilon=model.epsilon,
        delta=model.delta,
        unit="row" if groups is None else "matrix",
        center=False,
        random_state=seed,
        **parameters,
    )
    with warnings.catch_warnings():
        # Seeds make the figures repeatable; the data are synthetic.
        warnings.simplefilter("ignore", SeededNoiseWarning)
        return estimator.fit(X, groups=groups).components_


def _printed(
    method: Callable[..., np.ndarray],
    X: np.ndarray,
    groups: Groups,
    k: int,
    model: Model,
    seed: int,
) -> np.ndarray:
    # records as (n, m, d): a view, as their rows follow each other, equally many in each
    n = len(X) if groups is None else int(groups[-1]) + 1
    return method(X.reshape(n, -1, X.shape[1]), k, model, np.random.default_rng(seed))


METHODS: dict[str, Fit] = (
    {name: partial(_estimated, name) for name in ESTIMATORS}
    | {name + PRINTED: partial(_printed, one) for name, one in as_written.METHODS.items()}
    | {name + NO_PRIVACY: partial(_printed, one) for name, one in WITHOUT_PRIVACY.items()}
    | {"PCA" + NO_PRIVACY: pca}
)


def method_of(name: str) -> Fit:
    """One of `METHODS`, or KDPPCA with an oracle of the user's: ``my_module:MyOracle``.

    The module may lie in the folder that the command was called from. Processes that run trials
    load it by themselves.
    """
    if name in METHODS:
        return METHODS[name]
    module, colon, oracle = name.partition(":")
    if not colon:
        raise SystemExit(f"{name} names no oracle in a module; write it as my_module:MyOracle")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    found = getattr(import_module(module), oracle)
    made = found() if isinstance(found, type) else found
    return partial(_estimated, "KDPPCA", strategy="deflation", oracle=made)
