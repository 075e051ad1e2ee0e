"""What a private search can account for: one private PCA, and a public grid of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..decomposition import BasePrivatePCA
from ..decomposition.parameters import plain
from ..decomposition.validation import check_reach, check_vector
from ..privacy import GaussianEvent
from ..private_data import Public

__all__ = ["Candidates"]

# What the search decides, or what all candidates must share for their scores to be comparable.
OURS = ("epsilon", "delta", "accountant", "random_state")
SHARED = ("adjacency", "unit", "scale")


@dataclass(frozen=True)
class Candidates:
    """An estimator taken apart, and the parameters to try on its private step.

    Parameters
    ----------
    estimator : BasePrivatePCA or Pipeline
    grid : list of dict
        Parameters of the estimator.
    name : str
        Of the private step; empty if the estimator is one.
    before, after : list of (str, estimator)
        The other steps of the pipeline.
    step : BasePrivatePCA
    """

    estimator: Any
    grid: list[dict[str, Any]]
    name: str
    before: list[tuple[str, Any]]
    step: BasePrivatePCA
    after: list[tuple[str, Any]]

    @classmethod
    def of(cls, estimator: Any, param_grid: Any) -> Candidates:
        """Take an estimator apart, or refuse it.

        Raises
        ------
        TypeError, ValueError
            What is not private, or not comparable.
        """
        grid = list(ParameterGrid(param_grid))
        if not grid:
            raise ValueError(
                f"param_grid={param_grid!r} holds no candidate; {{}} holds the estimator itself"
            )
        if isinstance(estimator, BasePrivatePCA):
            found = cls(estimator, grid, "", [], estimator, [])
        elif type(estimator) is Pipeline:
            steps = [
                (name, step) for name, step in estimator.steps if step not in (None, "passthrough")
            ]
            private = [i for i, (_, s) in enumerate(steps) if isinstance(s, BasePrivatePCA)]
            if len(private) != 1:
                raise ValueError(
                    f"estimator has {len(private)} private PCAs among its steps; give a Pipeline "
                    "with exactly one"
                )
            i = private[0]
            found = cls(estimator, grid, steps[i][0], steps[:i], steps[i][1], steps[i + 1 :])
            for name, step in (*found.before, *found.after):
                _check_other_step(name, step)
        else:
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, whose cost is not known; give a "
                "private PCA, or a Pipeline with one"
            )
        _check_own(found.step)
        for parameters in grid:
            found._check_names(parameters)
            found._check_shared(found.candidate(parameters))
        return found

    def candidate(self, parameters: Mapping[str, Any], **ours: Any) -> BasePrivatePCA:
        """The private step with these parameters of the grid, and with those the search sets."""
        step = parameters.get(self.name, self.step)
        if not isinstance(step, BasePrivatePCA):
            raise TypeError(f"param_grid puts a {type(step).__name__} in place of the private PCA")
        prefix = f"{self.name}__" if self.name else ""
        own = {key[len(prefix) :]: parameters[key] for key in parameters if key != self.name}
        return clone(step).set_params(**clone(own, safe=False), **ours)

    def check(self, public: Public, mu: float, **ours: Any) -> None:
        """Refuse candidates that could not be fitted, or that do not cost at most `mu`."""
        for parameters in self.grid:
            given = self.candidate(parameters, **ours)
            given._validate_params()
            step = plain(given)
            step._check_parameters(public.n_features)
            mean, _ = public_vectors(step, public.n_features)
            check_reach(mean, None, step.norm_bound)
            step._mechanism(public)
            event = step._event(public)
            step._check_noise(event, public.n_features)
            if type(event) is not GaussianEvent or event.failure:
                raise ValueError(
                    f"a candidate costs {event!r}; private selection is proven for Gaussian "
                    "releases that cannot fail only: choose another method"
                )
            if event.mu > mu:
                raise RuntimeError(f"a candidate costs mu={event.mu}, more than mu={mu}")

    def _check_names(self, parameters: Mapping[str, Any]) -> None:
        for key in parameters:
            own = not self.name or key == self.name or key.startswith(f"{self.name}__")
            if not own:
                raise ValueError(
                    f"param_grid sets {key!r}; scores compare candidates on the same rows, so "
                    f"only parameters of {self.name!r} can be searched"
                )
            name = key.split("__")[-1]
            if name in OURS + SHARED:
                raise ValueError(
                    f"param_grid sets {key!r}, which must be the same for all candidates; set "
                    + (f"PrivateSearchCV({name}=...)" if name in OURS else "it on the estimator")
                )

    def _check_shared(self, step: BasePrivatePCA) -> None:
        _check_own(step)
        for name in SHARED:
            if not np.array_equal(getattr(step, name), getattr(self.step, name)):
                raise ValueError(
                    f"param_grid has candidates that differ in {name}; such costs or scores "
                    "cannot be compared: search them apart"
                )


def public_vectors(
    step: BasePrivatePCA, n_features: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The public mean, in units of the scaled features, and the public scales."""
    scale = mean = None
    if step.scale is not None and not step._scales_privately:
        scale = check_vector(step.scale, n_features, "scale", positive=True)
    if step.mean is not None:
        mean = check_vector(step.mean, n_features, "mean")
    check_reach(mean, scale, None)
    return (mean if mean is None or scale is None else mean / scale), scale


def _check_own(step: BasePrivatePCA) -> None:
    if step._scales_privately:
        raise ValueError(
            "scale='private' would score every candidate in units of its own, which cannot be "
            "compared; give public scales, or choose the parameters on other data"
        )
    for name in ("accountant", "random_state"):
        if getattr(step, name) is not None:
            raise ValueError(
                f"the private PCA has {name}={getattr(step, name)!r}, which would apply to one "
                f"candidate alone; pass PrivateSearchCV({name}=...) instead"
            )
    if step._accounted_unit != step.unit:
        raise ValueError(
            f"the private PCA protects one {step._accounted_unit}, but the scores of a search are "
            f"proven for whole records (unit={step.unit!r}); fit it by itself"
        )


def _check_other_step(name: str, step: Any) -> None:
    parts = step.get_params(deep=True).values() if hasattr(step, "get_params") else []
    if any(isinstance(part, BasePrivatePCA) for part in parts) or get_tags(step).requires_fit:
        raise ValueError(
            f"step {name!r}, a {type(step).__name__}, is fitted on the data at a cost that is not "
            "known; keep to steps that treat each row by itself, such as Normalizer"
        )
