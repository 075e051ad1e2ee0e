"""The methods that a plan compares: how each is built, and what is read off its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..decomposition import (
    GDPPCA,
    KDPPCA,
    BasePrivatePCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from ..mechanisms.kendall import complete_pairs
from ..mechanisms.sensitivity import ball_sum, psd_sum

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True)
class Method:
    """A method of a plan.

    Parameters
    ----------
    estimator : type
    query : str or None
        Name of the noisy sums that its components come from, in its report; None if they come from
        none.
    sensitivity : callable
        ``sensitivity(bound, adjacency)`` of that sum.
    memory : str
        What it holds beside the rows.
    releases : str
    exponent : float
        The query's radius grows with this power of the total variance.
    adds_up_to : float
        Over the number of records: the trace of the sum if rows or pairs are scaled to norm 1.
    unbiased : bool
        Without noise it errs by sampling alone: no iteration is cut short.
    standing_in : dict
        Parameters for rows that stand for others: what is quick and, n being told apart, the same.
    """

    estimator: type[BasePrivatePCA]
    query: str | None
    sensitivity: Callable[[float, str], float]
    memory: str
    releases: str
    exponent: float = 1.0
    adds_up_to: float = 1.0
    unbiased: bool = False
    standing_in: dict[str, Any] = field(default_factory=dict)


# Name -> method: whatever fits rows under `epsilon` and reports its queries can be planned.
METHODS = {
    "DPGauss": Method(
        DPGauss,
        "Gram matrix",
        psd_sum,
        "d x d",
        "components, mean, all variances, error bars",
    ),
    "ResidualGauss": Method(
        ResidualGauss, "gradient", ball_sum, "d x d", "components, rough mean, variances"
    ),
    "GDPPCA": Method(
        GDPPCA,
        "Kendall matrix",
        complete_pairs,
        "d x d, all rows",
        "components, robust location, all variance ratios and a scale",
        adds_up_to=0.5,
        unbiased=True,
        standing_in={"pairs": "incomplete"},
    ),
    "SmoothSensitivityPCA": Method(
        SmoothSensitivityPCA,
        None,
        psd_sum,
        "d x k, exact solver",
        "components, rough mean, variances",
        unbiased=True,
    ),
    "DPPowerMethod": Method(
        DPPowerMethod,
        "product",
        ball_sum,
        "d x k, 3 passes",
        "components, rough mean, variances",
        exponent=0.5,
    ),
    "KDPPCA": Method(
        KDPPCA,
        "gradient",
        ball_sum,
        "d x k, 7 passes",
        "components, rough mean, variances",
        exponent=0.5,
    ),
    "KDPOjas": Method(
        KDPOjas,
        "gradient",
        ball_sum,
        "d x k, 12 passes",
        "components, rough mean, variances",
        exponent=0.5,
    ),
}
