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
from numpy.random import Generator
from scipy import linalg, stats

from .linalg import fix_signs

__all__ = [
    "Draw",
    "make_contaminated",
    "make_elliptical",
    "make_gaussian",
    "make_mixed",
    "make_spiked",
]

# Rows drawn at a time.
BATCH_ROWS = 4096

# The outliers of Kim & Jung: norm of their mean over the largest eigenvalue, and their spread.
OUTLIER_DISTANCE = 2.5
OUTLIER_SD = 0.05

# The mixed table: how the normal variables behind its columns follow three factors; where two
# flags and a region begin; and how much of every variable the rows of one record share.
LOADINGS = np.zeros((8, 3))
LOADINGS[:3, 0] = 0.9
LOADINGS[3:5, 1] = 0.95, 0.9
LOADINGS[5:, 2] = 0.97, 0.95, 0.95
FLAGGED = (0.03, 0.08)
REGIONS = (0.55, 0.95)
SHARED = 0.5

# Terms of the series and points of the grid by which its covariance is found.
TERMS = 100
POINTS = 2**15


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
    rng = np.random.default_rng(random_state)
    found = _signal(n_records, n_features, eigenvalues, sigma, dtype, rng)
    components, signal, covariance = found
    k = len(components)
    if k != n_components:
        raise ValueError(f"eigenvalues must hold n_components={n_components} numbers, one each")
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
        See `make_spiked`; there are as many components as eigenvalues.

    Returns
    -------
    Draw
        Draw as from `make_spiked`; groups is None.

    Examples
    --------
    >>> from skdppca.datasets import make_gaussian
    >>> X, _, components, covariance = make_gaussian(50, 20, [10, 5], 1.0, random_state=0)
    >>> X.shape, (components @ covariance @ components.T).round(9).tolist()
    ((50, 20), [[11.0, 0.0], [0.0, 6.0]])
    """
    rng = np.random.default_rng(random_state)
    found = _signal(n_records, n_features, eigenvalues, sigma, dtype, rng)
    components, signal, covariance = found
    k = len(components)
    X = np.empty((n_records, n_features), dtype)
    for rows, draws in _normal_batches(n_records, k + n_features, rng):
        X[rows] = draws[:, :k] @ signal + sigma * draws[:, k:]
    return Draw(X, None, components, covariance)


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
        See `make_gaussian`. The eigenvalues are those of the scatter matrix.
    df : float
        Degrees of freedom. 1 gives the multivariate Cauchy distribution (Kim & Jung 2025, section
        4.2), ``inf`` the rows of `make_gaussian`. A value so small that rows are infinite in
        `dtype` is refused.
    random_state, dtype
        See `make_gaussian`.

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
        See `make_gaussian`; there must be fewer eigenvalues than features.
    fraction : float, default=0.05
        Share of the rows that is replaced, between 0 and 1; rounded to whole rows.
    random_state, dtype
        See `make_gaussian`, which draws the other rows.

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


def make_mixed(
    n_records: int,
    *,
    rows_per_record: int = 1,
    random_state: Any = None,
    dtype: Any = np.float64,
) -> Draw:
    r"""Draw a table of ten columns in different units and of different kinds.

    Three factors drive the columns. So three components explain 71 % of the variance of the
    standardised table. Without scales, column 1 alone is the first component.

    ====== ================================ ======= ==================
    column kind                             factor  standard deviation
    ====== ================================ ======= ==================
    0      normal, mean 5e-4                1       1e-4
    1      normal, mean 2e6                 1       1e6
    2      lognormal, as an income          1       3e4
    3      normal, mean 40, as an age       2       12
    4-6    one-hot: one of three regions    2       .50, .49, .22
    7      count                            3       2.6
    8, 9   0/1, rare: 3 % and 8 % are 1     3       .17, .27
    ====== ================================ ======= ==================

    Parameters
    ----------
    n_records : int
        Number of records.
    rows_per_record : int, default=1
        With more than one, fit with ``groups`` and a `unit` such as ``unit="person"``. Rows of a
        record share half of the variance of the normal variables behind the columns.
    random_state, dtype
        See `make_spiked`.

    Returns
    -------
    Draw
        ``(X, groups, components, covariance)``. Components are the top three of the *correlation*
        matrix; the covariance is that of the rows, to four digits. The rows of a group follow each
        other, and groups is None if a record has one row.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.datasets import make_mixed
    >>> X, _, components, covariance = make_mixed(5000, random_state=0)
    >>> np.log10(X.std(axis=0)).round().astype(int).tolist()
    [-4, 6, 4, 1, 0, 0, -1, 0, -1, -1]
    >>> scales = np.sqrt(np.diag(covariance))
    >>> correlation = covariance / np.outer(scales, scales)
    >>> float(np.trace(components @ correlation @ components.T).round(1))
    7.1
    """
    _check_shape(dtype, n_records=n_records, rows_per_record=rows_per_record)
    rng = np.random.default_rng(random_state)
    shared, n_latent = rows_per_record > 1, sum(LOADINGS.shape)
    X = np.empty((n_records, rows_per_record, 10), dtype)
    for rows, draws in _normal_batches(n_records, (rows_per_record + shared) * n_latent, rng):
        draws = draws.reshape(len(draws), -1, n_latent)
        if shared:
            draws = math.sqrt(SHARED) * draws[:, :1] + math.sqrt(1 - SHARED) * draws[:, 1:]
        own = np.sqrt(1 - np.sum(LOADINGS**2, axis=1))
        X[rows] = _mixed_columns(draws[..., :3] @ LOADINGS.T + own * draws[..., 3:])
    covariance = _mixed_covariance()
    sds = np.sqrt(np.diag(covariance))
    _, vectors = linalg.eigh(covariance / np.outer(sds, sds))
    groups = np.repeat(np.arange(n_records), rows_per_record) if shared else None
    return Draw(X.reshape(-1, 10), groups, fix_signs(vectors[:, :-4:-1].T), covariance)


def _mixed_columns(g: np.ndarray) -> np.ndarray:
    """The ten columns, of standard normal variables in the last axis."""
    region = np.searchsorted(stats.norm.ppf(REGIONS), g[..., 4, None])
    return np.concatenate(
        [
            1e-4 * (g[..., :1] + 5),
            1e6 * (g[..., 1:2] + 2),
            3e4 * np.exp(0.7 * g[..., 2:3]),
            40 + 12 * g[..., 3:4],
            region == np.arange(3),
            np.floor(np.exp(1.2 + 0.6 * g[..., 5:6])),
            g[..., 6:] > stats.norm.isf(FLAGGED),
        ],
        axis=-1,
    )


def _mixed_covariance() -> np.ndarray:
    r"""Covariance of the columns: functions of standard normal variables of known correlations.

    Mehler: with Hermite coefficients :math:`c_{ik}` and correlations r the covariances are
    :math:`\sum_k c_{ik} c_{jk} r_{ij}^k`.
    """
    # 1. the columns as functions of their variables, on a grid
    g = (np.arange(POINTS) + 0.5) * (17 / POINTS) - 8.5
    columns, weights = _mixed_columns(np.tile(g[:, None], 8)).T, stats.norm.pdf(g) * 17 / POINTS
    # 2. their coefficients
    hermite = [np.ones(POINTS), g]
    for k in range(1, TERMS):
        hermite.append((g * hermite[k] - math.sqrt(k) * hermite[k - 1]) / math.sqrt(k + 1))
    coefficients = (columns * weights) @ np.array(hermite).T
    # 3. the series; of one variable by itself the integral
    latent = np.array([0, 1, 2, 3, 4, 4, 4, 5, 6, 7])
    r = (LOADINGS @ LOADINGS.T)[np.ix_(latent, latent)]
    powers = r[:, :, None] ** np.arange(1, TERMS + 1)
    series = np.einsum("ik,jk,ijk->ij", coefficients[:, 1:], coefficients[:, 1:], powers)
    means = coefficients[:, 0]
    same = (columns * weights) @ columns.T - np.outer(means, means)
    return np.where(latent[:, None] == latent, same, series)


def _normal_batches(
    n_rows: int, n_columns: int, rng: Generator
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield standard normal rows in batches; the size of a batch does not change the rows."""
    for start in range(0, n_rows, BATCH_ROWS):
        rows = slice(start, min(start + BATCH_ROWS, n_rows))
        yield rows, rng.standard_normal((rows.stop - start, n_columns))


def _signal(
    n_records: int, n_features: int, eigenvalues: Any, sigma: float, dtype: Any, rng: Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check the parameters, and draw a uniformly random subspace.

    Returns its components, each of them times the root of its eigenvalue, and the covariance.
    """
    _check_shape(dtype, n_records=n_records, n_features=n_features)
    spikes = np.atleast_1d(np.asarray(eigenvalues, dtype=np.float64))
    if spikes.ndim != 1 or not np.isfinite(spikes).all() or not (spikes > 0).all():
        raise ValueError(f"eigenvalues={eigenvalues!r} must be positive finite numbers")
    if not 1 <= len(spikes) <= n_features:
        raise ValueError(f"eigenvalues must hold between 1 and n_features={n_features} numbers")
    if not isinstance(sigma, Real) or not 0 <= sigma < math.inf:
        raise ValueError(f"sigma={sigma!r} must be a finite number of at least 0")
    spikes = np.sort(spikes)[::-1]
    normal = rng.standard_normal((n_features, len(spikes)))
    components = fix_signs(linalg.qr(normal, mode="economic")[0].T)
    square = (components.T * spikes) @ components
    covariance = (square + square.T) / 2 + sigma**2 * np.eye(n_features)
    return components, np.sqrt(spikes)[:, None] * components, covariance


def _check_shape(dtype: Any, **counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name}={count!r} must be a whole number of at least 1")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype={dtype!r} must be float64 or float32")
