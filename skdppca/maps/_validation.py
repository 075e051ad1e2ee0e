"""Checks of the arguments of a projection map: all of them public."""

from __future__ import annotations

import math
from collections.abc import Hashable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..decomposition.base import BasePrivatePCA
from ..decomposition.parameters import check_parameters
from ..decomposition.validation import public_classes
from ..privacy import GaussianEvent, PrivacyEvent
from ..releasing import check_chargeable, event_of

# Without an extent, the map reaches this many standard deviations to either side of the mean.
REACH = 3.0

MAX_CELLS = 2**20

# Smallest mu for one cell; it grows with the root of their number. Noise below it is too large for
# the grid.
LEAST_MU = 2.0**-26


def check_pca(pca: Any) -> None:
    """Refuse a PCA that is not fitted, or not of this package: its axes need not be private."""
    if isinstance(pca, BasePrivatePCA):
        check_is_fitted(pca)
        return
    for place, (_, step) in enumerate(pca.steps if isinstance(pca, Pipeline) else []):
        if isinstance(step, BasePrivatePCA):
            rows = f"pipeline[:{place}].transform(X)" if place else "X"
            raise TypeError(
                "pca is a Pipeline, and a map takes the fitted PCA alone. Give that step and the "
                f"rows that reach it: projection_map(pipeline[{place}], {rows}, ...)"
            )
    raise TypeError(
        f"pca is a {type(pca).__name__}, which is no private PCA of this package, so its axes "
        "would tell of the rows. Fit one first, for example "
        "pca = PrivatePCA(n_components=2).fit(X)"
    )


def check_budget(given: dict[str, Any]) -> None:
    """Check the budget of a map as the estimators check theirs."""
    names = ("epsilon", "delta", "accountant", "random_state")
    constraints = {name: BasePrivatePCA._parameter_constraints[name] for name in names}
    check_parameters(constraints, given, "projection_map")
    check_chargeable(given["epsilon"], given["accountant"], given["random_state"])


def check_components(components: Any, n_components: int) -> tuple[int, int]:
    """Return two different components, counted from 0, or raise."""
    try:
        first, second = components
        valid = all(_is_whole(i) and 0 <= int(i) < n_components for i in (first, second))
    except (TypeError, ValueError):
        valid = False
    if not valid or first == second:
        raise ValueError(
            f"components={components!r} are not two different ones of the {n_components} there "
            "are; count from 0"
        )
    return int(first), int(second)


def map_edges(
    pca: BasePrivatePCA, pair: tuple[int, int], bins: Any, extent: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the cells along both components, from public or released numbers."""
    try:
        counts: tuple[Any, ...] = (bins, bins) if _is_whole(bins) else tuple(bins)
        valid = len(counts) == 2 and all(_is_whole(b) and int(b) > 0 for b in counts)
    except TypeError:
        valid = False
    if not valid:
        raise ValueError(f"bins={bins!r} is no positive int, and no two of them")
    counts = tuple(map(int, counts))  # NumPy's would wrap around
    if math.prod(counts) > MAX_CELLS:
        raise ValueError(f"bins={bins!r} make more than {MAX_CELLS} cells; choose fewer")
    extent = _reach(pca, pair) if extent is None else extent
    try:
        ends = np.asarray(extent, dtype=np.float64)
        valid = ends.shape == (2, 2)
    except (TypeError, ValueError, OverflowError):
        valid = False
    if valid:
        with np.errstate(all="ignore"):
            x, y = (np.linspace(ends[i, 0], ends[i, 1], counts[i] + 1) for i in (0, 1))
            valid = all(np.isfinite(e).all() and (np.diff(e) > 0).all() for e in (x, y))
    if not valid:
        raise ValueError(
            "extent must be ((least, largest), (least, largest)) of the two components, public, "
            f"finite and increasing; got {extent!r}"
        )
    for edges in (x, y):
        edges.flags.writeable = False
    return x, y


def _reach(pca: BasePrivatePCA, pair: tuple[int, int]) -> np.ndarray:
    if not hasattr(pca, "explained_variance_"):
        raise ValueError(
            "extent=None takes the released variances, but there are none; give a public extent"
        )
    variances = np.asarray(pca.explained_variance_, dtype=np.float64)[list(pair)]
    sds = np.ones(2) if pca.whiten else np.sqrt(variances)
    if not (sds > 0).all():
        raise ValueError("extent=None, but a component has no variance; give a public extent")
    return np.outer(REACH * sds, [-1, 1])


def neighbours(pca: BasePrivatePCA, adjacency: Any, unit: Any) -> tuple[str, str]:
    """Return the adjacency and the unit: what is given, or else what the PCA was fitted with."""
    adjacency = pca.privacy_.adjacency if adjacency is None else adjacency
    if adjacency not in ("add-remove", "replace-one"):
        raise ValueError(
            f"adjacency={adjacency!r} is neither 'add-remove' nor 'replace-one'; choose one"
        )
    unit = pca.privacy_.unit if unit is None else unit
    if unit == "interaction":  # one entry can move its row to another cell: two counts change
        raise ValueError(
            "unit='interaction' protects single entries, a map whole rows; set unit='row', or "
            "call what a group is by another name"
        )
    if not isinstance(unit, str):
        raise ValueError(f"unit={unit!r} is no text; give 'row' or the name of a group")
    return adjacency, unit


def check_classes(y: Any, classes: Any) -> tuple[Hashable, ...] | None:
    """Return the public labels, all different; None without classes."""
    if (y is None) != (classes is None):
        given, missing = ("y", "classes") if classes is None else ("classes", "y")
        raise ValueError(
            f"{given} was given without {missing}: y has the rows' labels, and classes names in "
            "public which of them to show"
        )
    return None if classes is None else public_classes(classes)


def _is_whole(value: Any) -> bool:
    """Return whether the value is an int; Python counts True among them."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def priced(
    epsilon: float,
    delta: float,
    edges: tuple[np.ndarray, np.ndarray],
    names: tuple[Hashable, ...] | None,
) -> PrivacyEvent:
    """Return the cost of the map; raise if there are too many cells, also for the budget."""
    n_cells = (1 if names is None else len(names)) * (1 + math.prod(len(e) - 1 for e in edges))
    if n_cells > 2 * MAX_CELLS:
        raise ValueError(
            f"bins and classes make more than {2 * MAX_CELLS} cells in all; choose fewer"
        )
    event = event_of(epsilon, delta)
    if isinstance(event, GaussianEvent) and event.mu < LEAST_MU * math.sqrt(n_cells):
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} ask for more noise than the grid holds; nothing "
            "could be seen through it: raise them"
        )
    return event
