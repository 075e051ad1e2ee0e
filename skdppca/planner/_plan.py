"""`plan`: each method's expected accuracy and noise floor, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..records import MAX_ROWS
from ._methods import METHODS
from ._predict import MOST_FITS, noise_floor, predict
from ._spectra import check_spectrum
from ._synthetic import FEATURES, MOST_COMPONENTS, Problem

__all__ = ["Expectation", "Plan", "plan"]

ADJACENCIES = ("add-remove", "replace-one")

# A curve has the plan itself and these multiples of one of its numbers.
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
            In increasing order; this one is among them.
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
            plans.append(self if multiple == 1 else _filled(moved, methods, floors=False))
        return tuple(plans)

    def sentence(self) -> str:
        """The answer in a sentence or two."""
        best = self.rows[0]
        text = (
            f"At n={self.n_samples}, d={self.n_features}, k={self.n_components}, "
            f"epsilon={self.epsilon:g}, expect {best.captured:.1%} of the best possible variance "
            f"from {best.method} (half of all fits: {best.captured_low:.1%} to "
            f"{best.captured_high:.1%})."
        )
        if best.noise_floor is not None:
            first, last = self.variances[0], self.variances[self.n_components - 1]
            text += (
                f" The last component must vary by {best.noise_floor:.3g} to be seen; assumed are "
                f"{first:.3g} to {last:.3g}."
            )
        return text

    def __str__(self) -> str:
        table = [HEADS]
        for row in self.rows:
            floor, told = row.noise_floor is not None, row.noise_sd is not None
            table.append(
                (
                    row.method,
                    f"{row.captured:.3f}",
                    f"{1 - row.captured:.1e}",
                    f"{1 - row.captured_high:.1e} to {1 - row.captured_low:.1e}",
                    f"{row.noise_floor:.3g}" if floor else "-",
                    f"{self.seen(row.method)} of {self.n_components}" if floor else "-",
                    f"{row.noise_sd:.1e}" if told else "-",
                    f"{row.clip_norm:.3g}" + " (all)" * (row.clip == "scaled") if told else "-",
                    row.memory,
                )
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in table
        ]
        lines += ["", *(f"{row.method} releases {row.releases}." for row in self.rows)]
        spectrum = "your own" if self.spectrum == "given" else self.spectrum
        told = f"spectrum: {spectrum}, delta={self.delta:g}, {self.adjacency}. {ASSUMED}"
        if any(row.extrapolated for row in self.rows):
            told += f" Extrapolated from {FEATURES} features: losses within a factor of about 2."
        return "\n".join([self.sentence(), "", *lines, "", told[0].upper() + told[1:]])


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

    No data are read: the methods themselves run on synthetic rows. Choose epsilon, the number of
    components or the method by it, freely and as often as you like.

    Parameters
    ----------
    n_samples : int
        Records; under add-remove their number is private, so give a public guess.
    n_features : int
        Beyond 400 the answer is extrapolated.
    n_components : int
        At most `n_features`; at most 100 where it is extrapolated.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
    spectrum : str or array-like of shape (n_features,), optional
        What is assumed of the data: variances along the principal axes (public guesses, or from
        public data of the kind; eigenvalues of the private data are private), or one of

        - "power-law" (default): the j-th is ``1 / j``;
        - "spiked": components from 10 down to 5 times the variance of all other directions;
        - "flat": all the same. Nothing is to be found, so every method captures nearly all; what
          it tells is the noise floor.

        The first variance of these is 1.
    methods : iterable of str, optional
        Names of estimators; by default all of `skdppca.planner`'s.

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
    Noise, clipping and every search of a method depend on ``n_samples`` times its Gaussian-DP
    parameter mu alone, as long as there are some hundred records. So at most 2000 rows are drawn
    and fitted at a budget of ``mu n / 2000``, with the covariance that n rows would have. What
    the simulated rows lose by sampling is told from what noise loses by what fits to the same
    rows have in common, and shrunk by ``2000 / n``. Seeds are public and fixed: the same
    question has the same answer.

    Checked against fits at full size: ``benchmarks/bench_planner.py``, on settings that no
    constant was chosen on.

    Examples
    --------
    >>> from skdppca.planner import plan
    >>> found = plan(5000, 20, 3, epsilon=1.0, methods=["DPGauss"])
    >>> bool(0.9 < found["DPGauss"].captured < 1)
    True
    """
    n_samples = _integer("n_samples", n_samples, 2, MAX_ROWS)
    n_features = _integer("n_features", n_features, 1, MAX_ROWS)
    n_components = _integer("n_components", n_components, 1, n_features)
    if n_features > FEATURES and n_components > MOST_COMPONENTS:
        raise ValueError(
            f"n_components={n_components} with n_features={n_features} cannot be simulated; plan "
            f"for at most {MOST_COMPONENTS} components, or {FEATURES} features"
        )
    if not isinstance(epsilon, Real) or not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon={epsilon!r} is no budget; give a number above 0 (without noise, all "
            "methods are sklearn.decomposition.PCA)"
        )
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie between 0 and 1; well below 1 / n_samples")
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency={adjacency!r} is none of {ADJACENCIES}; choose one")
    name, variances = check_spectrum(spectrum, n_features, n_components)
    empty = Plan(
        n_samples,
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


def _integer(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is not a whole number; give an int")
    if not least <= value <= most:
        raise ValueError(f"{name}={value} must be between {least} and {most}; choose such a number")
    return int(value)


def _names(methods: Iterable[str] | None) -> list[str]:
    if methods is None:
        return list(METHODS)
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise ValueError(f"methods={names} must be some of {list(METHODS)}; {unknown} are not")
    return names


def _filled(empty: Plan, names: list[str], floors: bool) -> Plan:
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
    found = predict(method, problem, MOST_FITS if floors else CURVE_FITS)
    low, median, high = found.losses
    return Expectation(
        method=name,
        captured=1 - median,
        captured_low=1 - high,
        captured_high=1 - low,
        noise_floor=noise_floor(method, problem) if floors else None,
        clip=found.clip,
        clip_norm=found.clip_norm,
        noise_sd=found.noise_sd,
        memory=method.memory,
        releases=method.releases,
        extrapolated=empty.n_features > FEATURES,
    )
