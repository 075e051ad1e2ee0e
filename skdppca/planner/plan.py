"""`plan`: the expected accuracy and noise floor of each method, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._sklearn import Interval, StrOptions, validate_parameter_constraints
from ..decomposition import METHODS, BasePrivatePCA
from ..records import MAX_ROWS
from .simulation import (
    FEATURES,
    MOST_COMPONENTS,
    MOST_FITS,
    Problem,
    TooLittle,
    noise_floor,
    predict,
)
from .spectra import DEFAULT, SPECTRA, check_spectrum
from .text import aligned, percent

__all__ = ["Expectation", "Plan", "plan"]

# The variances are held one by one.
MOST_FEATURES = 2**24

COUNTS = {
    "n_samples": [Interval(Integral, 2, MAX_ROWS, closed="both")],
    "n_features": [Interval(Integral, 1, MOST_FEATURES, closed="both")],
    "n_components": [Interval(Integral, 1, None, closed="left")],
}
CONSTRAINTS = {
    **COUNTS,
    "epsilon": [Interval(Real, 0, None, closed="neither")],  # at inf there is nothing to plan
    "delta": BasePrivatePCA._parameter_constraints["delta"],
    "adjacency": BasePrivatePCA._parameter_constraints["adjacency"],
    "spectrum": [StrOptions(set(SPECTRA)), "array-like", None],
    "methods": [StrOptions(set(METHODS)), Iterable, None],
}

# A curve holds the plan itself and plans at these multiples of one of its numbers.
MULTIPLES = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0)
CURVE_FITS = 16

HEADS = (
    "method",
    "captured",
    "missed",
    "half of all fits",
    "noise floor",
    "seen",
    "noise sd",
    "clip norm",
    "memory",
)
ASSUMED = (
    "Assumed: Gaussian rows about the origin, one a record, of the variances of the spectrum; no "
    "data were read. Heavy tails, clusters, a far mean or groups change the figures."
)


@dataclass(frozen=True)
class Expectation:
    """What one method is expected to do.

    Parameters
    ----------
    method : str
    captured : float
        Variance along the released components over the largest possible along as many directions:
        the median over fits. The metric is `skdppca.metrics.captured_variance`.
    captured_low, captured_high : float
        Half of all fits lie between these.
    noise_floor : float or None
        Variance, in units of the spectrum, that the last component must have to be seen, the
        others being as assumed. It is seen if, on average, the released span holds at least half
        of the way from ``k / d`` (chance) to 1 of its direction's square. The floor says what
        privacy noise drowns; sampling error is not in it. Infinite if no variance is enough; None
        if it was not asked for.
    clip : {"clipped", "scaled"}
        What is done to records, or to their products with the components so far.
    clip_norm : float or None
        The norm to which records are clipped; products are clipped to its square. None for a
        method that adds noise to the components themselves.
    noise_sd : float or None
        Noise of an entry of the mean matrix or product, in units of the spectrum. None for a
        method that adds noise to the components themselves.
    memory : str
        What is held beside the rows, and the number of passes over them if there are several.
    releases : str
        What a fit releases.
    extrapolated : bool
        Whether there are more features than are simulated. The loss is then right within a factor
        of about 2.
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
        """`captured` as a percentage, with enough digits to show what is missed."""
        return percent(self.captured)


@dataclass(frozen=True)
class Plan:
    """Expectations for one budget and one shape of data, best first; made by `plan`.

    Parameters
    ----------
    n_samples, n_features, n_components : int
    epsilon, delta : float
    adjacency : str
    spectrum : str
        Name of the assumed spectrum; "given" for the user's own numbers.
    variances : tuple of float
        The spectrum, largest first.
    rows : tuple of Expectation
        One for each method.
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
        """Return one dict for each method, as rows of a table."""
        return [asdict(row) for row in self.rows]

    def seen(self, method: str) -> int | None:
        """Return how many of the wanted components vary more than the method's noise floor."""
        floor = self[method].noise_floor
        wanted = self.variances[: self.n_components]
        return None if floor is None else sum(variance > floor for variance in wanted)

    def along(self, name: str = "epsilon") -> tuple[Plan, ...]:
        """Repeat the plan, without noise floors, from a tenth to ten times one of its numbers.

        Parameters
        ----------
        name : {"epsilon", "n_samples"}

        Returns
        -------
        tuple of Plan
            In increasing order, with this plan among them. Budgets too small to be simulated are
            left out.
        """
        if name not in ("epsilon", "n_samples"):
            raise ValueError(f"name={name!r} is not 'epsilon' or 'n_samples'; choose one")
        methods = [row.method for row in self.rows]
        plans = []
        for multiple in MULTIPLES:
            value = getattr(self, name) * multiple
            if name == "n_samples":
                value = min(max(2, round(value)), MAX_ROWS)
            moved = replace(self, **{name: value}, rows=())
            with suppress(TooLittle):
                plans.append(self if multiple == 1 else _filled(moved, methods, floors=False))
        return tuple(plans)

    def sentence(self) -> str:
        """Return the answer in one or two sentences."""
        best = self.rows[0]
        text = (
            f"At n={self.n_samples}, d={self.n_features}, k={self.n_components}, "
            f"epsilon={self.epsilon:g}, expect {best.percent} of the best possible variance "
            f"from {best.method} (half of all fits: {percent(best.captured_low)} to "
            f"{percent(best.captured_high)})."
        )
        if best.noise_floor == math.inf:
            text += " Under this noise the last component would not be seen, whatever its variance."
        elif best.noise_floor is not None:
            last = self.variances[self.n_components - 1]
            text += (
                f" The last component must vary by {best.noise_floor:.3g} to be seen; it is "
                f"assumed to vary by {last:.3g}."
            )
        return text

    def __str__(self) -> str:
        table = aligned([HEADS, *map(self._cells, self.rows)])
        releases = [f"{row.method} releases {row.releases}." for row in self.rows]
        return "\n".join([self.sentence(), "", *table, "", *releases, "", self._assumptions()])

    def _cells(self, row: Expectation) -> tuple[str, ...]:
        floor, noise = row.noise_floor is not None, row.noise_sd is not None
        return (
            row.method,
            f"{row.captured:.3f}",
            f"{1 - row.captured:.1e}",
            f"{1 - row.captured_high:.1e} to {1 - row.captured_low:.1e}",
            f"{row.noise_floor:.3g}" if floor else "-",
            f"{self.seen(row.method)} of {self.n_components}" if floor else "-",
            f"{row.noise_sd:.1e}" if noise else "-",
            f"{row.clip_norm:.3g}" + " (all)" * (row.clip == "scaled") if noise else "-",
            row.memory,
        )

    def _assumptions(self) -> str:
        spectrum = "your own" if self.spectrum == "given" else self.spectrum
        text = f"Spectrum: {spectrum}, delta={self.delta:g}, {self.adjacency}. {ASSUMED}"
        if any(row.extrapolated for row in self.rows):
            text += f" Extrapolated from {FEATURES} features: losses within a factor of about 2."
        return text


def plan(
    n_samples: int,
    n_features: int,
    n_components: int,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    *,
    adjacency: str = "add-remove",
    spectrum: Any = None,
    methods: Iterable[str] | None = None,
) -> Plan:
    r"""Expected accuracy and noise floor of each method, before any budget is spent.

    No data are read: the methods themselves run on synthetic rows. Use the answer to choose
    epsilon, the number of components or the method. Ask as often as you like; it costs nothing.

    Parameters
    ----------
    n_samples : int
        Number of records. Under "add-remove" it is private, so give a public guess.
    n_features : int
        Number of features. Beyond 400 the answer is extrapolated.
    n_components : int
        Number of components: at most `n_features`, and at most 100 where the answer is
        extrapolated.
    epsilon : float, default=1.0
        Privacy budget of one fit; finite.
    delta : float, default=1e-6
        Additive part of the guarantee. Choose it well below ``1 / n_samples``.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in, as for the estimators.
    spectrum : str or array-like of shape (n_features,), optional
        Assumed variances along the principal axes: public guesses, or numbers from public data of
        the same kind. The eigenvalues of the private data are private. Or one of these names; the
        first variance is then 1:

        - "power-law" (default): the j-th variance is ``1 / j``;
        - "spiked": the components have 10 down to 5 times the variance of all other directions;
        - "flat": all variances are equal. There is nothing to find, so every method captures
          nearly all; read the noise floor.
    methods : iterable of str, optional
        Names of estimators, such as "DPGauss"; by default all methods.

    Returns
    -------
    Plan
        Best first. ``print`` it; `Plan.to_dict` gives rows for a table, and
        `skdppca.plotting.plan` a picture.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters, with a remedy.

    Notes
    -----
    The noise, the clipping and every search of a method depend on ``n_samples`` times its
    Gaussian-DP parameter mu only, as long as there are some hundred records. So at most 2000 rows
    are drawn, with the covariance that n rows would have, and fitted at a budget of
    ``mu n / 2000``. What fits to the same rows have in common is their sampling error, which is
    shrunk by ``2000 / n``; the rest of the loss is noise. Seeds are public and fixed: the same
    question has the same answer.

    ``benchmarks/bench_planner.py`` compares plans with fits at full size, in settings that no
    constant was chosen on.

    Examples
    --------
    >>> from skdppca.planner import plan
    >>> found = plan(5000, 20, 3, epsilon=1.0, methods=["DPGauss"])
    >>> bool(0.9 < found["DPGauss"].captured < 1)
    True
    """
    given = {
        "n_samples": n_samples,
        "n_features": n_features,
        "n_components": n_components,
        "epsilon": epsilon,
        "delta": delta,
        "adjacency": adjacency,
        "spectrum": spectrum,
        "methods": methods,
    }
    _check(given)
    n_features, n_components = int(n_features), int(n_components)
    name, variances = check_spectrum(
        DEFAULT if spectrum is None else spectrum, n_features, n_components
    )
    empty = Plan(
        int(n_samples),
        n_features,
        n_components,
        float(epsilon),
        float(delta),
        adjacency,
        name,
        tuple(map(float, variances)),
        (),
    )
    return _filled(empty, _names(methods), floors=True)


def _check(given: dict[str, Any]) -> None:
    """Refuse invalid arguments of `plan`; the spectrum's numbers are checked with their count."""
    for name in COUNTS:
        if isinstance(given[name], bool):  # Python counts it among the whole numbers
            raise TypeError(f"{name}={given[name]} is not a whole number; give an int")
    validate_parameter_constraints(CONSTRAINTS, given, "plan")
    d, k = given["n_features"], given["n_components"]
    if k > d:
        raise ValueError(f"n_components={k} exceeds n_features={d}; choose at most {d}")
    if d > FEATURES and k > MOST_COMPONENTS:
        raise ValueError(
            f"n_components={k} with n_features={d} cannot be simulated; plan for at most "
            f"{MOST_COMPONENTS} components, or {FEATURES} features"
        )


def _names(methods: Iterable[str] | None) -> list[str]:
    """Return the names of the methods, each once."""
    if methods is None:
        return list(METHODS)
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names or any(name not in list(METHODS) for name in names):
        raise ValueError(f"methods={names} must be one or more of {list(METHODS)}; choose of these")
    return list(dict.fromkeys(names))


def _filled(empty: Plan, names: list[str], floors: bool) -> Plan:
    """Return the plan with a row for each method; it takes less time without noise floors."""
    rows = [_expectation(empty, name, floors) for name in names]
    return replace(empty, rows=tuple(sorted(rows, key=lambda row: -row.captured)))


def _expectation(empty: Plan, name: str, floors: bool) -> Expectation:
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
