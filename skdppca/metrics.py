"""Quality of components, judged on data or by the true covariance. Nothing here is private."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .linalg import decreasing_eigh

__all__ = ["captured_variance", "sin_theta", "subspace_distance", "zeta_squared"]

# Largest entry of U U^T - I: float32 rows stay far below it.
ORTHONORMAL = 1e-5

# Share of the largest entry, or eigenvalue, that rounding may have put into a covariance.
ROUNDING = 1e-8

# Divides what is smaller without overflow.
TINY = float(np.finfo(np.float64).tiny)

NORMS = ("spectral", "frobenius")


def captured_variance(
    components: Any, X: Any = None, n_components: int | None = None, *, covariance: Any = None
) -> float:
    """Variance along the components, over the largest possible along as many directions.

    It reads X, or its covariance, without noise: a number to compare methods by on public data,
    not to publish of private data.

    Parameters
    ----------
    components : ndarray of shape (k, n_features) or a fitted estimator
        Orthonormal rows, or what has them as ``components_``.
    X : array-like of shape (n_rows, n_features), optional
        Its sample covariance is judged on. Give this or `covariance`; if the estimator has a
        `scale`, of the scaled features.
    n_components : int, optional
        Number of leading components to judge, at least 1. By default all.
    covariance : array-like of shape (n_features, n_features), optional
        Judge on this one; then the result is 1 - `zeta_squared`.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the rows are not orthonormal, shapes do not fit, or there is no variance.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.metrics import captured_variance
    >>> X = np.diag([3.0, 2.0, 1.0])
    >>> bool(captured_variance(np.eye(3)[:1], X) < 1)
    True
    >>> captured_variance(np.eye(3)[:1], covariance=np.diag([4.0, 3.0, 8.0]))
    0.5
    """
    if (X is None) == (covariance is None):
        raise ValueError("captured_variance judges on X or on a covariance; give one of the two")
    if n_components is not None and not (isinstance(n_components, Integral) and n_components > 0):
        raise ValueError(f"n_components={n_components!r} is no whole number of at least 1")
    rows = _orthonormal(components, "components")[:n_components]
    if X is None:
        return 1.0 - zeta_squared(rows, covariance)
    X = check_array(X, dtype=np.float64)
    _check_features(rows, X, "X")
    X = X / max(np.abs(X).max(), TINY)  # so that no square overflows
    centred = X - X[0]  # exactly 0 if all rows are alike
    largest = np.abs(centred).max()
    if largest == 0:
        raise ValueError("X has no variance: all its rows are alike; give rows that differ")
    centred /= largest
    centred -= centred.mean(axis=0)
    best = linalg.svdvals(centred)[: len(rows)]
    return min(float(np.sum((centred @ rows.T) ** 2) / np.sum(best**2)), 1.0)


def zeta_squared(components: Any, covariance: Any) -> float:
    r"""Share of the largest possible variance along k directions that the components miss.

    :math:`\zeta^2 = 1 - \langle U U^\top, \Sigma\rangle / \langle V_k V_k^\top, \Sigma\rangle`,
    where U has the components as columns and :math:`V_k` the top k eigenvectors of
    :math:`\Sigma`: the smallest :math:`\zeta` for which the components are
    :math:`\zeta`-approximate [1]_. Judged on a covariance without noise, so it is not private:
    for synthetic and public data.

    Parameters
    ----------
    components : ndarray of shape (k, n_features) or a fitted estimator
        Orthonormal rows, or what has them as ``components_``.
    covariance : array-like of shape (n_features, n_features)
        Symmetric and positive semi-definite, in the units of the components: if the estimator
        has a `scale`, of the scaled features.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the rows are not orthonormal, the shapes do not fit, or the covariance is no covariance
        or is 0.

    See Also
    --------
    captured_variance : 1 less this, also for data.

    Notes
    -----
    Losses far below the precision of float64 are seen, because no two nearly equal numbers are
    subtracted. With eigenvectors :math:`v_i`, eigenvalues :math:`\lambda_1 \ge \lambda_2 \ge
    \dots` and :math:`P = U U^\top`, the trace of P is k, so what :math:`v_1, \dots, v_k` have
    less of P, the others have more of it, and

    .. math:: \langle V_k V_k^\top - P, \Sigma\rangle
       = \sum_{i \le k} (\lambda_i - \lambda_k) \lVert (I - P) v_i \rVert^2
       + \sum_{i > k} (\lambda_k - \lambda_i) \lVert P v_i \rVert^2,

    a sum of terms that are not negative. The eigenvectors of a float64 covariance are found to
    within about :math:`10^{-16} \lambda_1 / (\lambda_k - \lambda_{k+1})`, and :math:`\zeta`, the
    root of the result, to within about that. Components in float32 are themselves off by about
    1e-8, which shows as 1e-16.

    References
    ----------
    .. [1] J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with
       adaptive noise. Definition 1, solved for :math:`\zeta^2`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.metrics import zeta_squared
    >>> angle = 1e-9
    >>> tilted = [[np.cos(angle), np.sin(angle)]]
    >>> f"{zeta_squared(tilted, np.diag([2.0, 1.0])):.3e}"
    '5.000e-19'
    """
    rows = _orthonormal(components, "components")
    covariance = check_array(covariance, dtype=np.float64, input_name="covariance")
    _check_features(rows, covariance, "covariance")
    largest = np.abs(covariance).max()
    if (
        covariance.shape[0] != covariance.shape[1]
        or np.abs(covariance - covariance.T).max() > ROUNDING * largest
    ):
        raise ValueError("covariance is not symmetric; give E[x x^T], of shape (d, d)")
    values, vectors = decreasing_eigh((covariance + covariance.T) / 2)
    if values[-1] < -ROUNDING * values[0] or values[0] <= 0:
        raise ValueError(
            "covariance is 0 or has negative eigenvalues; give a positive semi-definite matrix"
        )
    return missed_share(rows, values, vectors)


def missed_share(rows: np.ndarray, values: np.ndarray, vectors: np.ndarray) -> float:
    """`zeta_squared` of orthonormal rows against eigenvalues, from large to small, and vectors."""
    k = len(rows)
    top = vectors[:k]
    missed = np.sum((top - (top @ rows.T) @ rows) ** 2, axis=1)
    taken = np.sum((rows @ vectors[k:].T) ** 2, axis=0)
    loss = (values[:k] - values[k - 1]) @ missed + (values[k - 1] - values[k:]) @ taken
    return float(min(loss / values[:k].sum(), 1.0))


def sin_theta(components: Any, reference: Any, norm: str = "spectral") -> float:
    r"""Sines of the principal angles between two subspaces, as one number.

    Not private if the reference is not.

    Parameters
    ----------
    components, reference : ndarray of shape (k, n_features) or a fitted estimator
        Orthonormal rows, or what has them as ``components_``.
    norm : {"spectral", "frobenius"}, default="spectral"
        The sine of the largest angle, or the root of the sum of all squared sines.

    Returns
    -------
    float
        From 0, the same subspace, to 1 or :math:`\sqrt k`.

    Raises
    ------
    ValueError
        If rows are not orthonormal, shapes differ, or there is no such norm.

    Notes
    -----
    Small angles come from their sines and large ones from their cosines
    (`scipy.linalg.subspace_angles`; Björck & Golub 1973, Knyazev & Argentati 2002). Angles down to
    1e-15 keep their size, where the cosine of an angle below 1e-8 is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.metrics import sin_theta
    >>> angle = 1e-12
    >>> f"{sin_theta([[np.cos(angle), np.sin(angle)]], [[1.0, 0.0]]):.6e}"
    '1.000000e-12'
    """
    if norm not in NORMS:
        raise ValueError(f"norm={norm!r} is none of {NORMS}; choose one")
    rows, others = _orthonormal(components, "components"), _orthonormal(reference, "reference")
    _check_features(rows, others, "reference")
    if len(rows) != len(others):
        raise ValueError(
            f"components has {len(rows)} rows and reference {len(others)}; compare subspaces of "
            "one dimension"
        )
    sines = np.sin(linalg.subspace_angles(rows.T, others.T))  # the largest first
    return float(sines[0] if norm == "spectral" else linalg.norm(sines))


def subspace_distance(components: Any, reference: Any, norm: str = "frobenius") -> float:
    r"""Distance between the orthogonal projectors on two subspaces, :math:`\lVert P - Q\rVert`.

    Not private if the reference is not.

    Parameters
    ----------
    components, reference : ndarray of shape (k, n_features) or a fitted estimator
        Orthonormal rows, or what has them as ``components_``.
    norm : {"frobenius", "spectral"}, default="frobenius"
        The norm of P - Q: :math:`\sqrt 2` times `sin_theta` in Frobenius norm, and the same as
        it in spectral norm (Stewart & Sun 1990, section I.5).

    Returns
    -------
    float
        From 0 to :math:`\sqrt{2 k}`, or to 1.

    Raises
    ------
    ValueError
        If rows are not orthonormal, shapes differ, or there is no such norm.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.metrics import subspace_distance
    >>> round(subspace_distance([[1.0, 0.0]], [[0.0, 1.0]]), 6)
    1.414214
    """
    factor = math.sqrt(2) if norm == "frobenius" else 1.0
    return factor * sin_theta(components, reference, norm)


def _orthonormal(components: Any, name: str) -> np.ndarray:
    """Rows that span what the components do, orthonormal to the last digit."""
    if hasattr(components, "fit"):
        check_is_fitted(components, "components_")
        components = components.components_
    rows = check_array(components, dtype=np.float64, input_name=name)
    k, d = rows.shape
    if k > d or np.abs(rows @ rows.T - np.eye(k)).max() > ORTHONORMAL:
        raise ValueError(
            f"the rows of {name} are not orthonormal; orthonormalise them, for example by "
            "numpy.linalg.qr of the transpose"
        )
    return linalg.qr(rows.T, mode="economic")[0].T


def _check_features(rows: np.ndarray, other: np.ndarray, name: str) -> None:
    if rows.shape[1] != other.shape[1]:
        raise ValueError(
            f"components has {rows.shape[1]} features and {name} {other.shape[1]}; both must "
            "have the same"
        )
