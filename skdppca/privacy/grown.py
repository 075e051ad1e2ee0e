"""What a release that grew by cohorts costs: its report lists what each of them paid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .chain import Receipt
from .cohorts import CohortTotals, cohort_names
from .events import GaussianEvent, NonPrivateEvent, PrivacyEvent

# What a report says of a cohort, and of each but the last one besides.
PART = ("cohorts", "epsilon", "delta", "mu", "n_samples", "drift", "kept")
EARLIER = ("release_id", "receipt")
# In how many cohorts a person may be, as a report has it.
MOST = "most_cohorts"
NUMBERS = ("epsilon", "delta", "mu", "n_samples", "kept")


def is_grown(details: Mapping[str, Any]) -> bool:
    """Whether the details of a report are those of a release that grew by cohorts."""
    return "cohorts" in details


def new_part(
    cohorts: Sequence[str],
    epsilon: float,
    delta: float,
    event: PrivacyEvent,
    n_samples: float,
    drift: float | None = None,
    kept: float = 1.0,
) -> dict[str, Any]:
    """What a report says of a cohort.

    Parameters
    ----------
    cohorts : sequence of str
        Empty if anybody may be in it.
    epsilon, delta, event
        What it paid.
    n_samples : float
        Public or noisy.
    drift : float or None
        How far it was from those before, in sds of the noise.
    kept : float
        What the weight of those before was multiplied by.
    """
    mu = event.mu if isinstance(event, GaussianEvent) else math.inf
    values = (list(cohorts), epsilon, delta, mu, float(n_samples), drift, kept)
    return dict(zip(PART, values, strict=True))


def cohorts_of(details: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """What the details of a report say of each cohort.

    Raises
    ------
    ValueError, TypeError
        If skdppca cannot have written it.
    """
    parts = details["cohorts"]
    if not isinstance(parts, list) or not parts or not isinstance(details.get(MOST), int):
        raise ValueError("its cohorts are not listed as skdppca lists them")
    for place, part in enumerate(parts):
        keys = PART if place == len(parts) - 1 else (*PART, *EARLIER)
        if not isinstance(part, dict) or set(part) != set(keys):
            raise ValueError(f"a cohort must have exactly the keys {', '.join(keys)}")
        if not isinstance(part["cohorts"], list):
            raise TypeError("the names of a cohort are no list")
        cohort_names(part["cohorts"] or None)
        if part.get("receipt") is not None:
            Receipt.from_dict(part["receipt"])
        if not isinstance(part.get("release_id", ""), str):
            raise TypeError("a cohort has a release_id that is no text")
        if not all(_number(part[name]) >= 0 for name in NUMBERS):
            raise ValueError("a cohort has a negative number, or none")
        if part["drift"] is not None:
            _number(part["drift"])
    return tuple(parts)


def total_of(
    parts: Sequence[Mapping[str, Any]], most: int, own: tuple[PrivacyEvent, Sequence[str]]
) -> CohortTotals:
    """What everybody has paid for cohorts that were released before, and for the next one."""
    total = CohortTotals(most)
    for part in parts:
        total = total.charged(GaussianEvent(_number(part["mu"])), tuple(part["cohorts"]))
    return total.charged(own[0], tuple(own[1]))


def cost_of(
    details: Mapping[str, Any],
    event: PrivacyEvent,
    cohorts: Sequence[str],
    most: int | None = None,
) -> PrivacyEvent:
    """What a release cost the person who was charged most.

    Nobody is in more than `most_cohorts` of the cohorts, as was declared. Somebody who may be in
    any, because it has no name, pays for that besides. See `CohortTotals` for the proof.

    Parameters
    ----------
    details : mapping
        Of the report.
    event, cohorts
        What was charged last, and to whom.
    most : int or None
        In how many cohorts a person is at most; None: as was declared.
    """
    if not is_grown(details):
        return event
    *others, _ = cohorts_of(details)
    paid = [_number(part["mu"]) for part in others]
    if not isinstance(event, GaussianEvent) or math.inf in paid:
        return NonPrivateEvent()
    bound = total_of(others, most or details[MOST], (event, cohorts)).bound()
    return GaussianEvent(bound.mu)


def charged_names(details: Mapping[str, Any], cohorts: Sequence[str]) -> list[tuple[str, ...]]:
    """Whose records were read, charge by charge; an empty entry for all people.

    Parameters
    ----------
    details : mapping
        Of the report.
    cohorts : sequence of str
        Of the last charge.
    """
    if not is_grown(details):
        return [tuple(cohorts)]
    return [tuple(part["cohorts"]) for part in cohorts_of(details)]


def _number(value: Any) -> float:
    """A number of a report, in which infinity is a text."""
    number = math.inf if value == "inf" else -math.inf if value == "-inf" else value
    if isinstance(number, bool) or not isinstance(number, int | float) or math.isnan(number):
        raise TypeError("a cohort has something else where a number belongs")
    return float(number)
