"""Synthetic data with known components, as in the experiments of the papers.

A seed repeats the data: they come from numpy's generators, because they are no privacy noise. Rows
are drawn in batches, so that X is the only array of its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from .linalg import fix_signs

__all__ = ["Draw", "make_contaminated", "make_elliptical", "make_gaussian", "make_spiked"]

# Rows drawn at a time.
BATCH_ROWS = 4096

# The outliers of Kim & Jung: norm of their mean over the largest eigenvalue, and their spread.
OUTLIER_DISTANCE = 2.5
OUTLIER_SD = 0.05


class Draw(NamedTuple):
    """One data set and the truth about it."""

    X: np.ndarray  # (n_rows, n_features)
    groups: np.ndarray | None  # (n_rows,), the record of every row; None: each is a record
    components: np.ndarray  # (k, n_features), top eigenvectors, by decreasing eigenvalue
    covariance: np.ndarray  # (n_features, n_features), what the methods estimate


def make_spiked(
    n_records: int,
    n_features: int,
    n_components: int,
    eigenvalues: Any,
    sigma: float,
    *,
    random_state: Any = None,
    dtype: Any = np.float64,
) -> Draw:
    r"""Draw records that share a signal and differ only by noise.

    Every record i is a matrix :math:`A_i` with mean :math:`V \Lambda V^\top + \sigma^2 I`, where
    the columns of V span a random subspace. For one component it is a row,
    :math:`x_i = \pm\sqrt{\lambda_1} v + z_i` with a fair sign and :math:`A_i = x_i x_i^\top`. For
    more, it is a group of k + 1 rows :math:`\sqrt{\lambda_j} v_j` and :math:`z_i`, so that
    :math:`A_i = V \Lambda V^\top + z_i z_i^\top`: fit with ``groups`` and a `unit` of your choice,
    such as ``unit="matrix"``, and ``center=False``.

    Parameters
    ----------
    n_records, n_features, n_components : int
        n, d and k; the result has n rows if k is 1, else n (k + 1).
    eigenvalues : float or array-like of shape (n_components,)
        Eigenvalues of the signal: positive, in any order. Those of the covariance are larger by
        ``sigma**2``.
    sigma : float
        Standard deviation of every entry of the noise. With 0, all :math:`A_i` are equal.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed for ``numpy.random.default_rng``.
    dtype : dtype, default=float64
        Dtype of X, float64 or float32.

    Returns
    -------
    Draw
        ``(X, groups, components, covariance)``; the rows of a group follow each other, and groups
        is None if k is 1.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters.

    References
    ----------
    J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with adaptive
    noise. Appendix G.1, with one deviation. There, the signal of a single component is
    :math:`\pm\lambda_1 v`, of variance :math:`\lambda_1^2`. Here its variance is
    :math:`\lambda_1`, as with more components.

    Examples
    --------
    >>> from skdppca.datasets import make_spiked
    >>> X, groups, components, covariance = make_spiked(5, 20, 2, [10, 5], 0.1, random_state=0)
    >>> X.shape, groups[:4].tolist(), components.shape
    ((15, 20), [0, 0, 0, 1], (2, 20))
    """
    spikes, dtype = _check(n_records, n_features, eigenvalues, sigma, dtype)
    if len(spikes) != n_components:
        raise ValueError(f"eigenvalues must hold n_components={n_components} numbers, one each")
    rng = np.random.default_rng(random_state)
    k = len(spikes)
    components = _subspace(n_features, k, rng)
    signal = np.sqrt(spikes)[:, None] * components
    covariance = _covariance(components, spikes, sigma)
    if k == 1:
        X = np.empty((n_records, n_features), dtype)
        for rows, draws in _normal_batches(n_records, 1 + n_features, rng):
            X[rows] = np.where(draws[:, :1] < 0, -signal, signal) + sigma * draws[:, 1:]
        return Draw(X, None, components, covariance)
    X = np.empty((n_records, k + 1, n_features), dtype)
    X[:, :-1] = signal
    for rows, draws in _normal_batches(n_records, n_features, rng):
        X[rows, -1] = sigma * draws
    groups = np.repeat(np.arange(n_records), k + 1)
    return Draw(X.reshape(-1, n_features), groups, components, covariance)


def make_gaussian(
    n_records: int,
    n_features: int,
    eigenvalues: Any,
    sigma: float,
    *,
    random_state: Any = None,
    dtype: Any = np.float64,
) -> Draw:
    r"""Draw Gaussian rows whose signal lies in a random subspace.

    The rows come from :math:`N(0, V \Lambda V^\top + \sigma^2 I)`, where the columns of V span the
    subspace.

    Parameters
    ----------
    n_records, n_features : int
        Shape of X.
    eigenvalues, sigma, random_state, dtype
        As in `make_spiked`; there are as many components as eigenvalues.

    Returns
    -------
    Draw
        As from `make_spiked`; groups is None.

    Examples
    --------
    >>> from skdppca.datasets import make_gaussian
    >>> X, _, components, covariance = make_gaussian(50, 20, [10, 5], 1.0, random_state=0)
    >>> X.shape, (components @ covariance @ components.T).round(9).tolist()
    ((50, 20), [[11.0, 0.0], [0.0, 6.0]])
    """
    spikes, dtype = _check(n_records, n_features, eigenvalues, sigma, dtype)
    rng = np.random.default_rng(random_state)
    k = len(spikes)
    components = _subspace(n_features, k, rng)
    signal = np.sqrt(spikes)[:, None] * components
    X = np.empty((n_records, n_features), dtype)
    for rows, draws in _normal_batches(n_records, k + n_features, rng):
        X[rows] = draws[:, :k] @ signal + sigma * draws[:, k:]
    return Draw(X, None, components, _covariance(components, spikes, sigma))


def make_elliptical(
    n_records: int,
    n_features: int,
    eigenvalues: Any,
    sigma: float,
    *,
    df: float,
    random_state: Any = None,
    dtype: Any = np.float64,
) -> Draw:
    r"""Draw rows from a multivariate t distribution, which has heavy tails.

    They are rows of `make_gaussian`, each divided by its own :math:`\sqrt{\chi^2_{df} / df}`.

    Parameters
    ----------
    n_records, n_features, eigenvalues, sigma
        As in `make_gaussian`. The eigenvalues are those of the scatter matrix.
    df : float
        Degrees of freedom. 1 gives the multivariate Cauchy distribution (Kim & Jung 2025, section
        4.2), ``inf`` the rows of `make_gaussian`. A value so small that rows are infinite in
        `dtype` is refused.
    random_state, dtype
        As in `make_gaussian`.

    Returns
    -------
    Draw
        ``(X, groups, components, covariance)``; groups is None, and `covariance` is the scatter
        matrix. The covariance of the rows is ``df / (df - 2)`` times that, and infinite up to
        ``df=2``.

    Examples
    --------
    >>> from skdppca.datasets import make_elliptical
    >>> make_elliptical(50, 20, [10, 5], 1.0, df=1, random_state=0).X.shape
    (50, 20)
    """
    if not isinstance(df, Real) or not df > 0:
        raise ValueError(f"df={df!r} must be a positive number or inf")
    rng = np.random.default_rng(random_state)
    draw = make_gaussian(n_records, n_features, eigenvalues, sigma, random_state=rng, dtype=dtype)
    if math.isfinite(df):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            draw.X[:] /= np.sqrt(rng.chisquare(df, n_records) / df)[:, None]
        if not np.isfinite([draw.X.min(), draw.X.max()]).all():
            raise ValueError(f"df={df} gives rows too large for {draw.X.dtype}; choose a larger df")
    return draw


def make_contaminated(
    n_records: int,
    n_features: int,
    eigenvalues: Any,
    sigma: float,
    *,
    fraction: float = 0.05,
    random_state: Any = None,
    dtype: Any = np.float64,
) -> Draw:
    r"""Draw Gaussian rows and replace a fraction of them by far outliers on one side.

    The outliers come from :math:`N(2.5 \lambda_1 u, 0.05^2 I)`, where :math:`\lambda_1` is the
    covariance's largest eigenvalue and u a random direction orthogonal to the components.

    Parameters
    ----------
    n_records, n_features, eigenvalues, sigma
        As in `make_gaussian`, with fewer eigenvalues than features.
    fraction : float, default=0.05
        Share of the rows that is replaced, between 0 and 1; rounded to whole rows.
    random_state, dtype
        As in `make_gaussian`, which draws the other rows.

    Returns
    -------
    Draw
        ``(X, groups, components, covariance)``; groups is None, and components and covariance
        are those of the rows that are not outliers.

    References
    ----------
    M. Kim, S. Jung. Robust and differentially private PCA for non-Gaussian data. 2025, section
    4.2, here in a random rotation. The covariance there has the eigenvalues 10, 5, 1, ..., 1: that
    is ``eigenvalues=[9, 4], sigma=1``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.datasets import make_contaminated
    >>> X = make_contaminated(1000, 10, [9, 4], 1.0, random_state=0).X
    >>> int(np.sum(np.linalg.norm(X, axis=1) > 20))
    50
    """
    if not isinstance(fraction, Real) or not 0 <= fraction <= 1:
        raise ValueError(f"fraction={fraction!r} must lie between 0 and 1")
    rng = np.random.default_rng(random_state)
    draw = make_gaussian(n_records, n_features, eigenvalues, sigma, random_state=rng, dtype=dtype)
    if len(draw.components) == n_features:
        raise ValueError("outliers need a direction beside eigenvalues; give fewer than n_features")
    basis = np.column_stack([draw.components.T, rng.standard_normal(n_features)])
    direction = linalg.qr(basis, mode="economic")[0][:, -1]
    largest = np.max(eigenvalues) + sigma**2
    outliers = rng.choice(n_records, round(fraction * n_records), replace=False)
    for rows, draws in _normal_batches(len(outliers), n_features, rng):
        draw.X[outliers[rows]] = OUTLIER_DISTANCE * largest * direction + OUTLIER_SD * draws
    return draw


def _subspace(n_features: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal rows that span a uniformly random subspace."""
    directions = linalg.qr(rng.standard_normal((n_features, k)), mode="economic")[0]
    return fix_signs(directions.T)


def _covariance(components: np.ndarray, spikes: np.ndarray, sigma: float) -> np.ndarray:
    signal = (components.T * spikes) @ components
    return (signal + signal.T) / 2 + sigma**2 * np.eye(components.shape[1])


def _normal_batches(
    n_rows: int, n_columns: int, rng: np.random.Generator
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield standard normal rows in batches; the size of a batch does not change the rows."""
    for start in range(0, n_rows, BATCH_ROWS):
        rows = slice(start, min(start + BATCH_ROWS, n_rows))
        yield rows, rng.standard_normal((rows.stop - start, n_columns))


def _check(
    n_records: int, n_features: int, eigenvalues: Any, sigma: float, dtype: Any
) -> tuple[np.ndarray, np.dtype]:
    """Return the eigenvalues in decreasing order, and the dtype."""
    for name, count in [("n_records", n_records), ("n_features", n_features)]:
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name}={count!r} must be a whole number of at least 1")
    spikes = np.atleast_1d(np.asarray(eigenvalues, dtype=np.float64))
    if spikes.ndim != 1 or not np.isfinite(spikes).all() or not (spikes > 0).all():
        raise ValueError(f"eigenvalues={eigenvalues!r} must be positive finite numbers")
    if not 1 <= len(spikes) <= n_features:
        raise ValueError(f"eigenvalues must hold between 1 and n_features={n_features} numbers")
    if not isinstance(sigma, Real) or not 0 <= sigma < math.inf:
        raise ValueError(f"sigma={sigma!r} must be a finite number of at least 0")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype={dtype!r} must be float64 or float32")
    return np.sort(spikes)[::-1], np.dtype(dtype)
