"""Expected accuracy of each method: simulated, or read from the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Memory
from platformdirs import user_cache_path
from threadpoolctl import threadpool_limits

from .._text.digits import percent_captured
from ..decomposition import METHODS
from .planned_fit import PlannedFit
from .simulation import (
    EFFORTS,
    SIMULATION,
    Tick,
    TooLittle,
    expected_components,
    predict,
)
from .synthetic_rows import LAWS

# Told after every simulated fit: whose it is, and which share of all fits is done.
Progress = Callable[[str, float], None]

# The folder for what was simulated; if it is set and empty, nothing is kept.
VARIABLE = "SKDPPCA_CACHE"


@dataclass(frozen=True)
class Expectation:
    """Expected accuracy of one method, with its noise, its memory and its releases.

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
    lost : float
        Share of all fits whose components are all lost in the noise, as the fit's report says, or
        that find no scale with ``scale="private"``.
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
    lost: float
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
    progress: Progress,
) -> tuple[Expectation, ...]:
    """Simulate methods, the recommended one first, then those that are expected to capture most.

    A point of a curve takes less time: few fits, and no skewed rows.
    """
    ahead = sorted(names, key=lambda name: name != recommended)
    rows: list[Expectation] = []
    with threadpool_limits(1):  # of small matrices: threads would wait for each other
        for i, name in enumerate(ahead):
            tick = partial(_tick, progress, name, i, len(ahead))
            exactly = name == recommended or recommended not in names
            full = EFFORTS.recommended if exactly else EFFORTS.others
            effort = EFFORTS.curve if curve else full
            row = Expectation(
                method=name,
                recommended=name == recommended,
                **_simulated(planned, name, predict, effort, tick=tick),
                memory=METHODS[name].memory,
                releases=METHODS[name].releases,
                extrapolated=planned.n_features > SIMULATION.most_features,
            )
            if row.recommended and not curve:
                row = replace(row, captured_skewed=_captured_skewed(planned, row, tick))
            rows.append(row)
            tick(1.0)
    return tuple(sorted(rows, key=lambda row: (not row.recommended, -row.captured)))


def counted(planned: PlannedFit, name: str) -> PlannedFit:
    """The planned fit with the number of components that a fit is expected to choose."""
    with threadpool_limits(1):
        found = _simulated(planned, name, expected_components, planned.wanted)
    return replace(planned, n_components=max(1, found))


def _tick(progress: Progress, name: str, done: int, of: int, share: float) -> None:
    """Report progress in one of several methods."""
    progress(name, (done + min(share, 1.0)) / of)


def _captured_skewed(planned: PlannedFit, row: Expectation, tick: Tick) -> float:
    found = [row.captured_low]
    for law in (law for law in LAWS if law != "normal"):
        skewed = _simulated(
            planned, row.method, predict, EFFORTS.skewed, law=law, tick=lambda _: tick(1.0)
        )
        found.append(skewed["captured_low"])
    return min(found)


def _simulated(
    planned: PlannedFit,
    name: str,
    simulate: Callable[..., Any],
    *arguments: Any,
    law: str = "normal",
    **ignored: Any,
) -> Any:
    """Return the outcome of a simulation, which may be known from an earlier plan."""
    known = _memory().cache(simulate, ignore=list(ignored))
    try:
        return known(planned.problem(name, law), *arguments, **ignored)
    except TooLittle as refused:
        raise TooLittle(
            f"epsilon={planned.epsilon}, delta={planned.delta} with "
            f"n_samples={planned.n_samples} are too little for {name} to be simulated: nothing "
            "could be seen through its noise; raise them, or leave it out of methods"
        ) from refused


def _memory() -> Memory:
    """Return where simulations are kept: in the user's cache folder, or as `VARIABLE` says."""
    home = os.environ.get(VARIABLE)
    with suppress(OSError, RuntimeError):  # nobody may write there, or there is no home
        if home is None:
            home = str(user_cache_path("skdppca", appauthor=False) / "plans")
        return Memory(str(Path(home, _sources())) if home else None, verbose=0)
    return Memory(None, verbose=0)


@cache
def _sources() -> str:
    """Return a digest of what simulates: this package, numpy, scipy and scikit-learn."""
    versions = [version(name) for name in ("numpy", "scipy", "scikit-learn")]
    digest = hashlib.sha256(" ".join(versions).encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
