"""Candidates of a private search: a private PCA, a classifier, and a public grid of both."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from ..decomposition import BasePrivatePCA
from ..decomposition.fit_warnings import learns
from ..decomposition.validation import check_reach
from ..neighbors import PrivateNearestCentroid
from ..privacy import GaussianEvent, PrivacyEvent
from ..privacy.declared import DeclaredScales, check_vector
from ..private_data import Public
from ..releasing import make_plain

PrivateStep = BasePrivatePCA | PrivateNearestCentroid

# One run fits these: a private PCA, and perhaps a classifier on the scores of the same records.
Candidate = list[Any]

# Parameters of a step that the search sets: epsilon, delta and random_state.
Ours = Mapping[str, Any]

# Parameters that the search decides, or that all candidates share, to have comparable scores.
OURS = ("epsilon", "delta", "accountant", "random_state")
SHARED = ("adjacency", "unit", "scale", "missing", "classes")


@dataclass(frozen=True)
class Candidates:
    """An estimator taken apart, and the parameters to try on its private steps.

    Parameters
    ----------
    estimator : BasePrivatePCA or Pipeline
    grid : list of dict
        Parameters of the estimator.
    private : dict of str to estimator
        The private PCA, whose name is empty if the estimator is one, and the classifier, if there
        is one right behind it.
    before, after : list of (str, estimator)
        The other steps of the pipeline.
    """

    estimator: Any
    grid: list[dict[str, Any]]
    private: dict[str, PrivateStep]
    before: Sequence[tuple[str, Any]] = ()
    after: Sequence[tuple[str, Any]] = ()

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
            found = cls(estimator, grid, {"": estimator})
        elif type(estimator) is Pipeline:
            found = cls._of_pipeline(estimator, grid)
        else:
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, whose cost is not known; give a "
                "private PCA, or a Pipeline with one"
            )
        for step in found.private.values():
            _check_own(step)
        for parameters in grid:
            found._check_names(parameters)
            found._check_shared(found.candidate(parameters))
        return found

    @classmethod
    def _of_pipeline(cls, estimator: Pipeline, grid: list[dict[str, Any]]) -> Candidates:
        steps = [
            (name, step) for name, step in estimator.steps if step not in (None, "passthrough")
        ]
        private = [i for i, (_, s) in enumerate(steps) if isinstance(s, BasePrivatePCA)]
        if len(private) != 1:
            raise ValueError(
                f"estimator has {len(private)} private PCAs among its steps; give a Pipeline "
                "with exactly one"
            )
        if len(estimator.named_steps) < len(estimator.steps):
            raise ValueError("estimator has two steps of one name; give each a name of its own")
        i = private[0]
        end = i + 1
        if end == len(steps) - 1 and type(steps[end][1]) is PrivateNearestCentroid:
            end += 1
        before, after = steps[:i], steps[end:]
        for other in (*before, *after):
            _check_other_step(*other)
        return cls(estimator, grid, dict(steps[i:end]), before, after)

    @property
    def pca(self) -> BasePrivatePCA:
        """The private PCA, as it was given."""
        return cast(BasePrivatePCA, next(iter(self.private.values())))

    def candidate(
        self, parameters: Mapping[str, Any], ours: Sequence[Ours] = ({}, {})
    ) -> Candidate:
        """The private steps with these parameters of the grid, and with those the search sets."""
        return [
            _with_parameters(name, step, parameters, own)
            for (name, step), own in zip(self.private.items(), ours, strict=False)
        ]

    def check(
        self,
        public: Public,
        mus: Sequence[float],
        ours: Sequence[Ours],
        declared: DeclaredScales,
    ) -> None:
        """Refuse candidates that could not be fitted, or whose steps cost more than `mus`.

        Parameters
        ----------
        public : Public
        mus : sequence of float
        ours : sequence of mapping
        declared : DeclaredScales
            The scales of all candidates.
        """
        for parameters in self.grid:
            candidate = self.candidate(parameters, ours)
            for given, mu in zip(candidate, mus, strict=True):
                given._validate_params()
                step = make_plain(copy.copy(given))
                event = (
                    _check_pca(step, public, declared)
                    if isinstance(step, BasePrivatePCA)
                    else _check_classifier(step, candidate[0], public)
                )
                if type(event) is not GaussianEvent or event.failure:
                    raise ValueError(
                        f"a candidate costs {event!r}; private selection is proven for Gaussian "
                        "releases that cannot fail only: choose another method"
                    )
                if event.mu > mu:
                    raise RuntimeError(f"a candidate costs mu={event.mu}, more than mu={mu}")

    def _check_names(self, parameters: Mapping[str, Any]) -> None:
        names = list(filter(None, self.private))
        for key in parameters:
            own = not names or any(key == name or key.startswith(f"{name}__") for name in names)
            if not own:
                raise ValueError(
                    f"param_grid sets {key!r}; scores compare candidates on the same rows, so "
                    f"only parameters of {' and '.join(map(repr, names))} can be searched"
                )
            name = key.split("__")[-1]
            if name in OURS + SHARED:
                raise ValueError(
                    f"param_grid sets {key!r}, which must be the same for all candidates; set "
                    + (f"PrivateSearchCV({name}=...)" if name in OURS else "it on the estimator")
                )

    def _check_shared(self, candidate: Candidate) -> None:
        for step, model in zip(candidate, self.private.values(), strict=True):
            _check_own(step)
            for name in SHARED:
                if hasattr(model, name) and not _same(getattr(step, name), getattr(model, name)):
                    raise ValueError(
                        f"param_grid has candidates that differ in {name}; such costs or scores "
                        "cannot be compared: search them apart"
                    )
        for name in ("adjacency", "unit"):
            own, other = getattr(candidate[-1], name), getattr(self.pca, name)
            if own != other:
                raise ValueError(
                    f"the classifier has {name}={own!r} and the private PCA {name}={other!r}; "
                    "costs add up for one notion of neighbours only: set both to the same"
                )


def public_vectors(
    step: BasePrivatePCA, declared: DeclaredScales
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The public mean, in units of the scaled features, and the public scales."""
    scale = declared.public
    mean = None if step.mean is None else check_vector(step.mean, len(declared.private), "mean")
    check_reach(mean, scale, None)
    return (mean if mean is None or scale is None else mean / scale), scale


def _with_parameters(
    name: str, step: PrivateStep, parameters: Mapping[str, Any], ours: Ours
) -> Any:
    """A copy of the step, or of what the grid puts in its place, with its part of the grid."""
    given, is_pca = parameters.get(name, step), isinstance(step, BasePrivatePCA)
    if not isinstance(given, BasePrivatePCA if is_pca else PrivateNearestCentroid):
        what = "private PCA" if is_pca else "classifier"
        raise TypeError(f"param_grid puts a {type(given).__name__} in place of the {what}")
    prefix = f"{name}__" if name else ""
    own = {
        key[len(prefix) :]: value
        for key, value in parameters.items()
        if key != name and key.startswith(prefix)
    }
    return clone(given).set_params(**clone(own, safe=False), **ours)


def _check_pca(step: BasePrivatePCA, public: Public, declared: DeclaredScales) -> PrivacyEvent:
    """Refuse what a fit would refuse; what it costs."""
    step._check_parameters(public.n_features)
    mean, _ = public_vectors(step, declared)
    if isinstance(step.scale, Mapping):
        step.scale = declared.entries
    check_reach(mean, None, step.norm_bound)
    step._mechanism(public)
    event = step._event(public)
    step._check_noise(event, public.n_features)
    step._check_memory(public)
    return event


def _check_classifier(
    step: PrivateNearestCentroid, pca: BasePrivatePCA, public: Public
) -> PrivacyEvent:
    """Refuse what a fit would refuse; what it costs."""
    count = pca.n_components
    known = int(count) if isinstance(count, int | np.integer) else None
    step._check_parameters(public.n_features if known is None else known)
    if step.mean is not None and known is None:
        raise ValueError(
            f"the classifier has a mean, but n_components={count!r} leaves open how long it must "
            "be; set mean=None and center=False, because scores lie about 0"
        )
    mean = None if known is None or step.mean is None else check_vector(step.mean, known, "mean")
    check_reach(mean, None, step.norm_bound)
    return step._event()


def _same(one: Any, other: Any) -> bool:
    """Return whether two public parameters are equal, arrays entry by entry."""
    if isinstance(one, range | tuple) or isinstance(other, range | tuple):
        one, other = list(one), list(other)
    return bool(np.array_equal(one, other))


def _check_own(step: PrivateStep) -> None:
    what = "private PCA" if isinstance(step, BasePrivatePCA) else "classifier"
    for name in ("accountant", "random_state"):
        if getattr(step, name) is not None:
            raise ValueError(
                f"the {what} has {name}={getattr(step, name)!r}, which would apply to one "
                f"candidate alone; pass PrivateSearchCV({name}=...) instead"
            )
    if isinstance(step, BasePrivatePCA) and step._accounted_unit != step.unit:
        raise ValueError(
            f"the private PCA protects one {step._accounted_unit}, but the scores of a search are "
            f"proven for whole records (unit={step.unit!r}); fit it by itself"
        )


def _check_other_step(name: str, step: Any) -> None:
    what = f"step {name!r}, a {type(step).__name__},"
    if isinstance(step, PrivateNearestCentroid):
        raise ValueError(
            f"{what} is not the last step right behind the private PCA; put it there, and steps "
            "that map each row by itself in front of the private PCA"
        )
    if is_classifier(step) or is_regressor(step):
        raise ValueError(
            f"{what} would be fitted on the records without noise. One record changes it, and with "
            "it the predictions for all others, so a score could move by as much as there are "
            "records. End the Pipeline with "
            "skdppca.neighbors.PrivateNearestCentroid(classes=...), which is private itself"
        )
    parts = step.get_params(deep=True).values() if hasattr(step, "get_params") else []
    if any(isinstance(part, BasePrivatePCA) for part in parts) or learns(step):
        raise ValueError(
            f"{what} is fitted on the data at a cost that is not known; keep to steps that treat "
            "each row by itself, such as Normalizer, an encoder with given categories, or a "
            "FrozenEstimator of what learned from public rows"
        )
