"""What a plan holds, and how it is filled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..records import MAX_ROWS
from ._methods import METHODS
from ._predict import MOST_FITS, TooLittle, noise_floor, predict
from ._synthetic import FEATURES, Problem
from ._text import assumptions, percent, sentence, table

__all__ = ["Expectation", "Plan", "filled"]

# A curve has the plan itself and these multiples of one of its numbers.
MULTIPLES = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0)
CURVE_FITS = 16


@dataclass(frozen=True)
class Expectation:
    """What one method is expected to do.

    Parameters
    ----------
    method : str
    captured : float
        Variance along the released components over the largest possible along so many
        directions: the median over fits. The metric is `skdppca.metrics.captured_variance`.
    captured_low, captured_high : float
        Half of all fits lie between.
    noise_floor : float or None
        Variance, in units of the spectrum, that the last component must have to be seen, the
        others being as assumed: of its direction's square, halfway between ``k / d`` (chance) and
        1 is in the released span on average. It says what privacy's noise drowns; sampling is
        not in it. Infinite if no variance is enough; None if it was not asked for.
    clip : {"clipped", "scaled"}
        What is done to records, or to their products with the components so far.
    clip_norm : float or None
        To which norm; of products its square is the bound.
    noise_sd : float or None
        Of an entry of the noisy mean matrix or product, in units of the spectrum. Neither is told
        of a method that adds noise to the components themselves.
    memory : str
        What is held beside the rows, and passes over them if several.
    releases : str
    extrapolated : bool
        More features than are simulated: rough, right within a factor of about 2 in the loss.
    """

    method: str
    captured: float
    captured_low: float
    captured_high: float
    noise_floor: float | None
    clip: str
    clip_norm: float | None
    noise_sd: float | None
    memory: str
    releases: str
    extrapolated: bool

    @property
    def percent(self) -> str:
        """`captured`, with so many digits that what is missed of 1 shows."""
        return percent(self.captured)


@dataclass(frozen=True)
class Plan:
    """Expectations for one budget and shape of data, best first; made by `plan`.

    Parameters
    ----------
    n_samples, n_features, n_components : int
    epsilon, delta : float
    adjacency : str
    spectrum : str
        Name of the assumed spectrum; "given" for numbers of the user's own.
    variances : tuple of float
        The spectrum, from large to small.
    rows : tuple of Expectation
    """

    n_samples: int
    n_features: int
    n_components: int
    epsilon: float
    delta: float
    adjacency: str
    spectrum: str
    variances: tuple[float, ...]
    rows: tuple[Expectation, ...]

    def __getitem__(self, method: str) -> Expectation:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(f"{method!r} is not in this plan; it has {[r.method for r in self.rows]}")

    def to_dict(self) -> list[dict[str, Any]]:
        """A dict a method, for a table."""
        return [asdict(row) for row in self.rows]

    def seen(self, method: str) -> int | None:
        """How many of the wanted components vary more than the method's noise floor."""
        floor = self[method].noise_floor
        wanted = self.variances[: self.n_components]
        return None if floor is None else sum(variance > floor for variance in wanted)

    def along(self, name: str = "epsilon") -> tuple[Plan, ...]:
        """The same plan, without noise floors, from a tenth to ten times one of its numbers.

        Parameters
        ----------
        name : {"epsilon", "n_samples"}

        Returns
        -------
        tuple of Plan
            In increasing order; this one is among them, but none of too little to be simulated.
        """
        if name not in ("epsilon", "n_samples"):
            raise ValueError(f"name={name!r} is not 'epsilon' or 'n_samples'; choose one")
        plans = []
        for multiple in MULTIPLES:
            value = getattr(self, name) * multiple
            if name == "n_samples":
                value = min(max(2, round(value)), MAX_ROWS)
            moved = replace(self, **{name: value}, rows=())
            methods = [row.method for row in self.rows]
            with suppress(TooLittle):
                plans.append(self if multiple == 1 else filled(moved, methods, floors=False))
        return tuple(plans)

    def sentence(self) -> str:
        """The answer in a sentence or two."""
        return sentence(self)

    def __str__(self) -> str:
        return "\n".join([sentence(self), "", *table(self), "", assumptions(self)])


def filled(empty: Plan, names: list[str], floors: bool) -> Plan:
    """The plan with a row a method, best first; without noise floors it is quicker."""
    rows = [_expect(empty, name, floors) for name in names]
    return replace(empty, rows=tuple(sorted(rows, key=lambda row: -row.captured)))


def _expect(empty: Plan, name: str, floors: bool) -> Expectation:
    method = METHODS[name]
    problem = Problem.of(
        empty.n_samples,
        np.array(empty.variances),
        empty.n_components,
        empty.epsilon,
        empty.delta,
        empty.adjacency,
        method.exponent,
    )
    try:
        found = predict(method, problem, MOST_FITS if floors else CURVE_FITS)
        floor = noise_floor(method, problem) if floors else None
    except TooLittle as refused:
        raise TooLittle(
            f"epsilon={empty.epsilon}, delta={empty.delta} with n_samples={empty.n_samples} are "
            f"too little for {name} to be simulated: nothing could be seen through its noise; "
            "raise them, or leave it out of methods"
        ) from refused
    low, median, high = found.losses
    return Expectation(
        method=name,
        captured=1 - median,
        captured_low=1 - high,
        captured_high=1 - low,
        noise_floor=floor,
        clip=found.clip,
        clip_norm=found.clip_norm,
        noise_sd=found.noise_sd,
        memory=method.memory,
        releases=method.releases,
        extrapolated=empty.n_features > FEATURES,
    )
