"""What a mechanism hands over to its estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..mechanisms.base import Spender

__all__ = ["Release"]


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
