"""The steps of a Pipeline that released nothing, and whether they make a guarantee wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

__all__ = ["Step", "learned_before", "other_steps"]


@dataclass(frozen=True)
class Step:
    """A step of a Pipeline that released nothing.

    Parameters
    ----------
    name, kind : str
        In the Pipeline, and of its class.
    place : {"before", "behind"}
        Of the last private step.
    fitted : bool
        Whether it learns from the records that it is given.
    """

    name: str
    kind: str
    place: str
    fitted: bool


def other_steps(releases: Any) -> list[Step]:
    """The steps of the Pipelines among these that released nothing, in their order."""
    given = releases if isinstance(releases, list | tuple) else [releases]
    found = []
    for pipeline in (one for one in given if isinstance(one, Pipeline)):
        private = [hasattr(step, "privacy_") for _, step in pipeline.steps]
        last = len(private) - 1 - private[::-1].index(True) if any(private) else -1
        for place, (name, step) in enumerate(pipeline.steps):
            if not private[place] and step is not None and step != "passthrough":
                where = "before" if place < last else "behind"
                found.append(
                    Step(name, type(step).__name__, where, bool(get_tags(step).requires_fit))
                )
    return found


def learned_before(estimator: Any, private: Any) -> tuple[str, ...]:
    """Names and classes of the steps before a private one that learned from the records.

    What they learned is in what comes behind them, and nothing was charged for it.
    """
    if not isinstance(estimator, Pipeline):
        return ()
    steps = [step for _, step in estimator.steps]
    until = Pipeline(estimator.steps[: steps.index(private) + 1])
    return tuple(
        f"{step.name} ({step.kind})"
        for step in other_steps(until)
        if step.place == "before" and step.fitted
    )
