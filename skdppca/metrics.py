"""How good components are, judged on data. Nothing here is private."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_array

__all__ = ["captured_variance"]


def captured_variance(components: Any, X: Any, n_components: int | None = None) -> float:
    """Variance of X along the components, over the largest possible along so many directions.

    It reads X without noise: a number to compare methods by on public data, not to publish of
    private data.

    Parameters
    ----------
    components : ndarray of shape (k, n_features) or a fitted estimator
        Orthonormal rows, or what has them as ``components_``.
    X : array-like of shape (n_rows, n_features)
    n_components : int, optional
        Judge the first so many only.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.metrics import captured_variance
    >>> X = np.diag([3.0, 2.0, 1.0])
    >>> bool(captured_variance(np.eye(3)[:1], X) < 1)
    True
    """
    rows = np.asarray(getattr(components, "components_", components), dtype=np.float64)
    rows = rows[:n_components]
    X = check_array(X, dtype=np.float64)
    centred = X - X.mean(axis=0)
    best = linalg.svdvals(centred)[: len(rows)]
    return float(np.sum((centred @ rows.T) ** 2) / np.sum(best**2))
