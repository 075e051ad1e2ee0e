"""The steps of a Pipeline: which released something, and which make a guarantee wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sklearn.pipeline import Pipeline

from ..decomposition.fit_warnings import does_nothing, learns


@dataclass(frozen=True)
class UnreleasedStep:
    """A step of a Pipeline that released nothing.

    Parameters
    ----------
    name, kind : str
        In the Pipeline, and of its class.
    place : {"before", "behind"}
        Place of the step relative to the last private step.
    fitted : bool
        Whether it learns from the records that it is given.
    """

    name: str
    kind: str
    place: Literal["before", "behind"]
    fitted: bool

    @property
    def voids(self) -> bool:
        """True if the private release holds what the step learned, although nothing was charged."""
        return self.place == "before" and self.fitted


def private_steps(estimator: Any) -> list[Any]:
    """The steps of a Pipeline that released something; what is no Pipeline is one itself."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [step for _, step in estimator.steps if hasattr(step, "privacy_")]


def other_steps(releases: Any) -> list[UnreleasedStep]:
    """The steps of the Pipelines among these that released nothing, in their order."""
    given = releases if isinstance(releases, list | tuple) else [releases]
    found = []
    for pipeline in (one for one in given if isinstance(one, Pipeline)):
        private = [hasattr(step, "privacy_") for _, step in pipeline.steps]
        last = len(private) - 1 - private[::-1].index(True) if any(private) else -1
        for place, (name, step) in enumerate(pipeline.steps):
            if not private[place] and not does_nothing(step):
                kind = type(step).__name__
                where: Literal["before", "behind"] = "before" if place < last else "behind"
                found.append(UnreleasedStep(name, kind, where, learns(step)))
    return found


def learned_before(estimator: Any, private: Any) -> tuple[str, ...]:
    """Names and classes of the steps before a private one that learned from the records.

    What they learned is in what comes behind them, and nothing was charged for it.
    """
    if not isinstance(estimator, Pipeline):
        return ()
    steps = [step for _, step in estimator.steps]
    until = Pipeline(estimator.steps[: steps.index(private) + 1])
    return tuple(f"{step.name} ({step.kind})" for step in other_steps(until) if step.voids)


def names_before(estimator: Any, private: Any) -> list[str] | None:
    """The names that the steps before a private one give to its columns.

    None where there are no such steps, where one of them learned from the records (its names may
    tell of these), or where one of them gives no names.
    """
    if not isinstance(estimator, Pipeline) or learned_before(estimator, private):
        return None
    before = estimator[: [step for _, step in estimator.steps].index(private)]
    try:
        return list(map(str, before.get_feature_names_out())) if before.steps else None
    except (AttributeError, ValueError):  # scikit-learn's NotFittedError is both
        return None
