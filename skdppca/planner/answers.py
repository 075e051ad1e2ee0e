"""What each method is expected to do: simulated, or read from the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from .._text.digits import percent_captured
from ..decomposition import METHODS
from .cache import remembered
from .planned_fit import PlannedFit
from .simulation import (
    EFFORTS,
    SIMULATION,
    Effort,
    Prediction,
    Tick,
    TooLittle,
    expected_components,
    predict,
)
from .synthetic_rows import LAWS

Q = TypeVar("Q", bound=PlannedFit)

# Told after every simulated fit: whose it is, and which share of all fits is done.
Progress = Callable[[str, float], None]

# What a simulation depends on, beside the method and the variances.
SIMULATED = (
    "n_samples",
    "n_components",
    "epsilon",
    "delta",
    "adjacency",
    "group_size",
    "shared",
    "scale",
    "missing",
    "tails",
    "cohorts",
)


@dataclass(frozen=True)
class Expectation:
    """What one method is expected to do.

    Parameters
    ----------
    method : str
    recommended : bool
        Whether `PrivatePCA` takes this method by the same public facts.
    captured : float
        Variance along the released components over the largest possible along as many directions:
        the median over fits. The metric is `skdppca.metrics.captured_variance`.
    captured_low, captured_high : float
        Half of all fits lie between these.
    clip : {"clipped", "scaled"}
        What is done to records, or to their products with the components so far.
    clip_norm : float or None
        The norm to which records are clipped; products are clipped to its square. None for a
        method that adds noise to several sums, or to none, and if entries may be absent.
    noise_sd : float or None
        Noise of an entry of the mean matrix or product, in units of the spectrum. None where
        `clip_norm` is.
    memory : str
        What is held beside the rows, and the number of passes over them if there are several.
    releases : str
        What a fit releases.
    extrapolated : bool
        Whether there are more features than are simulated. The loss is then less certain.
    captured_skewed : float or None
        Where `captured_low` would be if the rows were skewed: the lowest of lognormal values and of
        rare counts along the axes, and of normal ones. None for other methods than the recommended
        one, and in `Plan.along`.
    """

    method: str
    recommended: bool
    captured: float
    captured_low: float
    captured_high: float
    clip: str
    clip_norm: float | None
    noise_sd: float | None
    memory: str
    releases: str
    extrapolated: bool
    captured_skewed: float | None = None

    @property
    def percent(self) -> str:
        """`captured` as a percentage, with enough digits to show what is missed."""
        return percent_captured(self.captured)


def expectations(
    planned: PlannedFit,
    names: Sequence[str],
    recommended: str,
    curve: bool,
    progress: Progress | None,
) -> tuple[Expectation, ...]:
    """Simulate methods, the recommended one first, then those that are expected to capture most.

    A point of a curve takes less time: few fits, and no skewed rows.
    """
    ahead = sorted(names, key=lambda name: name != recommended)
    rows: list[Expectation] = []
    with threadpool_limits(1):  # of small matrices: threads would wait for each other
        for i, name in enumerate(ahead):
            tick = _ticking(progress, name, i, len(ahead))
            exactly = name == recommended or recommended not in names
            full = EFFORTS.recommended if exactly else EFFORTS.others
            found = _predicted(planned, name, EFFORTS.curve if curve else full, tick)
            row = _expectation(planned, name, found, name == recommended)
            if row.recommended and not curve:
                row = replace(row, captured_skewed=_captured_skewed(planned, name, row, tick))
            rows.append(row)
            tick(1.0)
    return tuple(sorted(rows, key=lambda row: (not row.recommended, -row.captured)))


def _ticking(progress: Progress | None, name: str, done: int, of: int) -> Tick:
    """Progress in one of several methods."""

    def tick(share: float) -> None:
        if progress is not None:
            progress(name, (done + min(share, 1.0)) / of)

    return tick


def counted(planned: Q, name: str) -> Q:
    """The planned fit with the number of components that a fit is expected to choose."""

    def count() -> int:
        with threadpool_limits(1):
            return expected_components(planned.candidate(name), planned.problem(), wanted)

    wanted: Any = planned.wanted
    found = _simulated(planned, name, {"wanted": wanted}, count)
    return replace(planned, n_components=max(1, found))


def _captured_skewed(planned: PlannedFit, name: str, row: Expectation, tick: Tick) -> float:
    worst = [
        _predicted(planned, name, EFFORTS.skewed, lambda _: tick(1.0), law).losses[2]
        for law in LAWS
        if law != "normal"
    ]
    return min(row.captured_low, 1 - max(worst))


def _predicted(
    planned: PlannedFit, name: str, effort: Effort, tick: Tick, law: str = "normal"
) -> Prediction:
    def simulate() -> dict[str, Any]:
        candidate, problem = planned.candidate(name), planned.problem(law)
        return asdict(predict(candidate, problem, effort, tick))

    what = {"predict": asdict(effort), "law": law}
    return Prediction(**_simulated(planned, name, what, simulate))


def _expectation(
    planned: PlannedFit, name: str, found: Prediction, recommended: bool
) -> Expectation:
    low, median, high = found.losses
    return Expectation(
        method=name,
        recommended=recommended,
        captured=1 - median,
        captured_low=1 - high,
        captured_high=1 - low,
        clip=found.clip,
        clip_norm=found.clip_norm,
        noise_sd=found.noise_sd,
        memory=METHODS[name].memory,
        releases=METHODS[name].releases,
        extrapolated=planned.n_features > SIMULATION.most_features,
    )


def _simulated(
    planned: PlannedFit, name: str, what: dict[str, Any], simulate: Callable[[], Any]
) -> Any:
    """Return the outcome of a simulation, which may be known from an earlier plan."""
    facts = {fact: getattr(planned, fact) for fact in SIMULATED}
    facts["variances"] = hashlib.sha256(np.array(planned.variances).tobytes()).hexdigest()
    facts["method"] = name
    try:
        return remembered(facts | what, simulate)
    except TooLittle as refused:
        raise TooLittle(
            f"epsilon={planned.epsilon}, delta={planned.delta} with "
            f"n_samples={planned.n_samples} are too little for {name} to be simulated: nothing "
            "could be seen through its noise; raise them, or leave it out of methods"
        ) from refused
