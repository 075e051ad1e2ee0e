"""What a mechanism hands over to its estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..mechanisms.base import Spender

__all__ = ["Release", "cast_released"]

# Released arrays that get the input's precision.
FLOAT_ATTRIBUTES = (
    "components_",
    "mean_",
    "scale_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
)


@dataclass(frozen=True)
class Release:
    """What a mechanism hands over: all of it private outputs or computed from them.

    Parameters
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows.
    centre : ndarray of shape (d,)
        In units of the scaled features.
    explained_variance : ndarray of shape (k,) or None
        None if no variances are released.
    total_variance, noise_variance : float or None
    n_samples : float
        The number of records: exact where it is public, noisy elsewhere.
    n_rows : float
        What the variances were divided by, plus 1.
    spender : Spender
        The queries that were answered.
    details : dict
        For the report.
    scale : ndarray of shape (d,) or None
        Private scales: what the components' features were divided by, in units of the features of
        the records that the mechanism was given. The centre is then in units of the scaled ones.
    """

    components: np.ndarray
    centre: np.ndarray
    explained_variance: np.ndarray | None
    total_variance: float | None
    noise_variance: float | None
    n_samples: float
    n_rows: float
    spender: Spender
    details: dict[str, Any] = field(default_factory=dict)
    scale: np.ndarray | None = None


def cast_released(estimator: Any, dtype: type) -> None:
    """The input's precision if it holds the release, which was computed in float64."""
    released = {k: v for k, v in vars(estimator).items() if k in FLOAT_ATTRIBUTES}
    if max(np.abs(values).max() for values in released.values()) < np.finfo(dtype).max:
        for name, values in released.items():
            setattr(estimator, name, values.astype(dtype, copy=False))
