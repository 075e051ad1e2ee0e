"""The methods there are: one table for the choice, the planner, the command line and the tests.

The lists in the documentation follow from it, too. A new method has a row here, and its words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..statistics import KendallMatrix
from ..statistics.lemmas import ball_sum, psd_sum
from .base import BasePrivatePCA
from .dp_gauss import DPGauss
from .dp_power import DPPowerMethod
from .gdppca import GDPPCA
from .iterative import KDPPCA, KDPOjas
from .residual_gauss import ResidualGauss
from .smooth_sensitivity import SmoothSensitivityPCA


@dataclass(frozen=True)
class Method:
    """A method, and what a plan must know of it.

    Parameters
    ----------
    estimator : type
    command : str
        Its name on the command line.
    query : str or None
        Name of the noisy sums that its components come from, in its report; None if they come from
        none, or from several.
    sensitivity : callable
        ``sensitivity(bound, adjacency)`` of that sum.
    memory : str
        What it holds beside the rows.
    releases : str
    spectral : bool
        Whether it releases a spectrum, from which a number of components can be chosen.
    exponent : float
        The query's radius grows with this power of the total variance.
    adds_up_to : float
        Over the number of records: the trace of the sum if rows or pairs are scaled to norm 1.
    kinds : frozenset of str
        Kinds of the questions that its fits ask of several sites, which answer no others. Empty if
        not all that it asks for are sums over records.
    unbiased : bool
        Without noise it errs by sampling alone: no iteration is cut short.
    standing_in : dict
        Parameters for rows that stand for others: what is quick and, n being told apart, the same.
    """

    estimator: type[BasePrivatePCA]
    command: str
    query: str | None
    sensitivity: Callable[[float, str], float]
    memory: str
    releases: str
    spectral: bool = False
    exponent: float = 1.0
    adds_up_to: float = 1.0
    kinds: frozenset[str] = frozenset()
    unbiased: bool = False
    standing_in: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sums_only(self) -> bool:
        """Say whether it asks for sums alone, and is fitted from files and on a cluster as well."""
        return bool(self.kinds)


# Kinds of questions about the count, the centre, norms and scales, and about a span.
STEPS = {
    "BoundedTotal",
    "ClippedSum",
    "ColumnCells",
    "Count",
    "Distances",
    "GramNorms",
    "MeanSquares",
    "MeasureHistogram",
    "RowCounts",
    "Scaled",
    "Scores",
}
AROUND = STEPS | {"ResidualNorms", "ResidualSum", "Shifted", "Spreads"}

METHODS = {
    "DPGauss": Method(
        DPGauss,
        "gauss",
        "Gram matrix",
        psd_sum,
        "d x d",
        "components, mean, all variances, error bars",
        spectral=True,
        kinds=frozenset(STEPS | {"ClippedGram"}),
    ),
    "ResidualGauss": Method(
        ResidualGauss,
        "residual-gauss",
        None,
        psd_sum,
        "d x d",
        "components, mean, variances, error bars",
        spectral=True,
        kinds=frozenset(AROUND | {"ClippedGram", "CrossNorms", "CrossSum"}),
    ),
    "GDPPCA": Method(
        GDPPCA,
        "gdppca",
        "Kendall matrix",
        lambda bound, adjacency: bound * KendallMatrix(1).sensitivity(adjacency),
        "d x d, all rows",
        "components, robust location, all variance ratios and a scale",
        spectral=True,
        adds_up_to=0.5,
        unbiased=True,
        standing_in={"pairs": "incomplete"},
    ),
    "DPPowerMethod": Method(
        DPPowerMethod,
        "power",
        "product",
        ball_sum,
        "d x k, 3 passes",
        "components, rough mean, variances",
        exponent=0.5,
        kinds=frozenset(AROUND | {"LargestEntries", "NormProduct", "ProductSum"}),
    ),
    "SmoothSensitivityPCA": Method(
        SmoothSensitivityPCA,
        "smooth",
        None,
        psd_sum,
        "d x k, exact solver",
        "components, rough mean, variances",
        unbiased=True,
    ),
    "KDPPCA": Method(
        KDPPCA,
        "kdppca",
        "gradient",
        ball_sum,
        "d x k, 7 passes",
        "components, rough mean, variances",
        exponent=0.5,
        kinds=frozenset(AROUND | {"Explicit"}),
    ),
    "KDPOjas": Method(
        KDPOjas,
        "kdpojas",
        "gradient",
        ball_sum,
        "d x k, 12 passes",
        "components, rough mean, variances",
        exponent=0.5,
        kinds=frozenset(AROUND | {"Explicit"}),
    ),
}

# Names of methods, here and in a shell: of the class, and the word.
NAMES = {name: name for name in METHODS} | {one.command: name for name, one in METHODS.items()}

# All these names for a type checker, which cannot read the table.
Word = Literal[
    "DPGauss",
    "DPPowerMethod",
    "GDPPCA",
    "KDPOjas",
    "KDPPCA",
    "ResidualGauss",
    "SmoothSensitivityPCA",
    "gauss",
    "gdppca",
    "kdpojas",
    "kdppca",
    "power",
    "residual-gauss",
    "smooth",
]
