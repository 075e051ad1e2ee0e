"""`plan`: the expected accuracy of each method, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, Literal

from .._text import aligned, html_table
from .._text.digits import percent_captured
from ..records import MAX_ROWS
from .answers import Expectation, Progress, counted, expectations
from .planned_fit import PlannedFit, checked, methods_of
from .simulation import SIMULATION, TooLittle
from .synthetic_rows import DEFAULT, SYNTHETIC, check_spectrum

# A curve holds the plan itself and plans at these multiples of one of its numbers.
MULTIPLES = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0)

HEADS = (
    "method",
    "captured",
    "missed",
    "half of all fits",
    "noise sd",
    "clip norm",
    "memory",
)


@dataclass(frozen=True)
class NothingConstants:
    """When a plan says that nothing is found, and how many records would do. Round numbers."""

    # Shares of the way from what chance captures to all: less than the first is nothing, and the
    # second is enough.
    least: float = 0.1
    # A method finds nothing if it loses all components in more than this share of fits.
    lost: float = 0.5
    enough: float = 0.5
    # Numbers of records that are tried, each about 3.2 times the one before.
    steps: int = 8
    # If chance misses less than this, all is found: what is less is rounding.
    least_missed: float = 1e-9


NOTHING = NothingConstants()
RECOMMENDED = " (recommended)"


@dataclass(frozen=True)
class Plan(PlannedFit):
    """Expectations for one budget and one shape of data; made by `plan`.

    Parameters
    ----------
    n_samples, n_features : int
    n_components : int
        The number that was asked for, or the one that a fit is expected to choose.
    epsilon, delta : float
    adjacency : str
    spectrum : str
        Name of the assumed spectrum; "given" for the user's own numbers.
    variances : tuple of float
        The spectrum, largest first.
    group_size : int or None
    shared : float
    scale : str or None
    missing, tails, gap : str
    is_sparse : bool
    wanted : int, float, str or None
        `n_components` as it was asked for.
    recommended : str
        The method that `PrivatePCA` takes by the same public facts.
    why : str
        Why it does.
    rows : tuple of Expectation
        One for each method: the recommended one first, then those that are expected to capture
        most.
    enough : int or None
        If no method finds anything: about how many records would do. None if it is not so, or if
        no number up to ten thousand times as many would.
    """

    recommended: str
    why: str
    rows: tuple[Expectation, ...]
    enough: int | None = None

    def __getitem__(self, method: str) -> Expectation:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(f"{method!r} is not in this plan; it has {[r.method for r in self.rows]}")

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict for each method, as rows of a table."""
        return [asdict(row) for row in self.rows]

    def along(self, name: str = "epsilon", progress: Progress | None = None) -> tuple[Plan, ...]:
        """Repeat the plan, by fewer fits, from a tenth to ten times one of its numbers.

        Parameters
        ----------
        name : {"epsilon", "n_samples"}
        progress : callable, optional
            See `plan`.

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
        for i, multiple in enumerate(MULTIPLES):
            value = getattr(self, name) * multiple
            if name == "n_samples":
                value = min(max(2, round(value)), MAX_ROWS)
            moved = replace(self, **{name: value}, rows=())
            part = _part(progress or _silent, i, len(MULTIPLES))
            with suppress(TooLittle):
                plans.append(self if multiple == 1 else _filled(moved, methods, True, part))
        return tuple(plans)

    def sentence(self) -> str:
        """Return the answer in a few sentences."""
        first = self.rows[0]
        if self.finds_nothing:
            would = (
                f"About {self.enough} would do."
                if self.enough is not None
                else "Ask for fewer components or a larger epsilon."
            )
            return (
                f"No method finds this with {self.n_samples} records at epsilon={self.epsilon:g} "
                f"(d={self.n_features}, k={self.n_components}): what it releases is noise. {would}"
            )
        low, high = map(percent_captured, (first.captured_low, first.captured_high))
        text = (
            f"At n={self.n_samples}, d={self.n_features}, k={self.n_components}, "
            f"epsilon={self.epsilon:g}, expect {first.percent} of the best possible "
            f"variance from {first.method} (half of all fits: {low} to {high})."
        )
        if first.captured_skewed is not None:
            text += (
                " That is for normal rows. Skewed rows (lognormal values, rare counts) may take it "
                f"down to {percent_captured(first.captured_skewed)}."
            )
        return text

    @property
    def finds_nothing(self) -> bool:
        """True if every method loses its components in the noise, or captures what chance would."""
        return max(map(self._found, self.rows)) < NOTHING.least

    def _found(self, row: Expectation) -> float:
        """Return how far a method goes from chance to all; 0 if most of its fits show noise."""
        k, d = self.n_components, self.n_features
        chance = k / d * math.fsum(self.variances) / math.fsum(self.variances[:k])
        if chance > 1 - NOTHING.least_missed:
            return 1.0
        return 0.0 if row.lost > NOTHING.lost else (row.captured - chance) / (1 - chance)

    def choice(self) -> str:
        """Return in words which method `PrivatePCA` takes, and whether another one is ahead."""
        text = f"PrivatePCA takes {self.recommended}, because {self.why}."
        first, *others = self.rows
        ahead = [row for row in others if row.captured_low > first.captured]
        if first.recommended and ahead and not self.finds_nothing:
            best = max(ahead, key=lambda row: row.captured)
            less, more = f"{1 - best.captured:.1e}", f"{1 - first.captured:.1e}"
            if less != more:
                text += (
                    f" If the data are as assumed, {best.method} is expected to miss less: {less} "
                    f"instead of {more}."
                )
        return text

    def __str__(self) -> str:
        table, releases = aligned(self._table()), self._releases()
        return "\n".join(
            [self.sentence(), self.choice(), "", *table, "", *releases, "", self._assumptions()]
        )

    def __repr__(self) -> str:
        first = self.rows[0]
        expected = f"{first.method} captures {first.percent}"
        expected = "no method finds anything" if self.finds_nothing else expected
        return (
            f"<Plan: n_samples={self.n_samples}, n_features={self.n_features}, "
            f"n_components={self.n_components}, epsilon={self.epsilon:g}, delta={self.delta:g}"
            f"; {expected}>"
        )

    def _repr_html_(self) -> str:
        heads, *rows = self._table()
        above = f"<p>{escape(self.sentence())} {escape(self.choice())}</p>"
        below = "".join(
            f"<p>{escape(text)}</p>" for text in (*self._releases(), self._assumptions())
        )
        return f"<div>{above}{html_table(heads, rows)}{below}</div>"

    def _releases(self) -> list[str]:
        return [f"{row.method} releases {row.releases}." for row in self.rows]

    def _table(self) -> list[tuple[str, ...]]:
        """Heads and cells."""
        table = [HEADS, *map(self._cells, self.rows)]
        # where no method finds anything, all else describes noise
        return [(row[0], row[1], row[-1]) for row in table] if self.finds_nothing else table

    def _cells(self, row: Expectation) -> tuple[str, ...]:
        noise = row.noise_sd is not None
        return (
            row.method + RECOMMENDED * (row.recommended and not self.finds_nothing),
            f"{row.captured:.3f}",
            f"{1 - row.captured:.1e}",
            f"{1 - row.captured_high:.1e} to {1 - row.captured_low:.1e}",
            f"{row.noise_sd:.1e}" if noise else "-",
            f"{row.clip_norm:.3g}" + " (all)" * (row.clip == "scaled") if noise else "-",
            row.memory,
        )

    def _assumptions(self) -> str:
        spectrum = "your own" if self.spectrum == "given" else self.spectrum
        text = [
            f"Spectrum: {spectrum}, delta={self.delta:g}, {self.adjacency}. Assumed: Gaussian rows "
            "about the origin, of the variances of the spectrum; no data were read."
        ]
        if not self.finds_nothing:
            text.append(
                "Only the figure for skewed rows is for lognormal values and counts along the axes."
            )
        if self.group_size is None:
            text.append("Every row is a record.")
        else:
            text.append(
                f"Every record has {self.group_size} rows, which share {self.shared:.0%} of the "
                "variance."
            )
        if self.scale == "private":
            text.append(
                "The spectrum is that of the standardised features, whose units differ by factors "
                f"of up to {SYNTHETIC.units:g}."
            )
        if self.missing == "mean":
            text.append(f"{SYNTHETIC.absent:.0%} of the entries are absent at random.")
        if self.tails == "heavy":
            text.append(
                f"Records are stretched at random, as by Student's t of {SYNTHETIC.degrees} "
                "degrees of freedom; captured is the variance of the rows before that."
            )
        if self.delta == 0:
            text.append("The mean is public, and so is a norm bound that 99% of the records keep.")
        text.append("Clusters, a far mean or other tails change the figures.")
        if any(row.extrapolated for row in self.rows):
            text.append(
                f"Extrapolated from {SIMULATION.most_features} features: losses within a factor "
                "of about 2."
            )
        return " ".join(text)


def plan(
    n_samples: int,
    n_features: int,
    n_components: int | float | Literal["auto", "mle"] | None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    *,
    adjacency: Literal["add-remove", "replace-one"] = "add-remove",
    group_size: int | None = None,
    shared: float = 0.5,
    scale: Literal["private"] | None = None,
    missing: Literal["error", "mean"] = "error",
    tails: Literal["heavy", "light"] = "light",
    gap: Literal["large", "unknown"] = "unknown",
    is_sparse: bool = False,
    spectrum: Any | Literal["flat", "power-law", "spiked"] = None,
    methods: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    r"""Expected accuracy of each method, before any budget is spent.

    No data are read: the methods themselves run on synthetic rows. Use the answer to choose
    epsilon, the number of components or the method. Ask as often as you like; it costs nothing.

    Parameters
    ----------
    n_samples : int
        Number of records. Under "add-remove" it is private, so give a public guess.
    n_features : int
        Number of features. Beyond 400 the answer is extrapolated.
    n_components : int, float, "auto", "mle" or None
        See `PrivatePCA`. A number: at most `n_features`, and at most 100 where the answer is
        extrapolated. Otherwise the plan is for the number that a fit is expected to choose, for up
        to 400 features.
    epsilon : float, default=1.0
        Privacy budget of one fit; finite.
    delta : float, default=1e-6
        Additive part of the guarantee. Choose it well below ``1 / n_samples``. 0 asks for a pure
        guarantee: the mean and a norm bound are taken to be public then.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in, as for the estimators.
    group_size : int, optional
        If a record is a group of rows: how many rows each record has. By default every row is a
        record.
    shared : float, default=0.5
        Share of the variance that the rows of one record have in common, between 0 and 1.
    scale : "private", optional
        Plan for private scales. The spectrum is then that of the standardised features.
    missing : {"error", "mean"}, default="error"
        "mean" plans for absent entries: a tenth of all, at random.
    tails : {"light", "heavy"}, default="light"
        "heavy" plans for records of which some are far longer than the others, and for methods set
        as `PrivatePCA` sets them then.
    gap : {"unknown", "large"}, default="unknown"
        See `PrivatePCA`. It may change which method is recommended.
    is_sparse : bool, default=False
        Whether X will be a sparse matrix. It may change which method is recommended.
    spectrum : str or array-like of shape (n_features,), optional
        Assumed variances along the principal axes: public guesses, or numbers from public data of
        the same kind. The eigenvalues of the private data are private. Or one of these names; the
        first variance is then 1:

        - "power-law" (default): the j-th variance is ``1 / j``;
        - "spiked": the components have 10 down to 5 times the variance of all other directions;
        - "flat": all variances are equal. There is nothing to find, so every method captures
          nearly all.
    methods : iterable of str, optional
        Names of estimators, such as "DPGauss", or their words in a shell, such as "gauss"; by
        default all methods that can be fitted so.
    progress : callable, optional
        Called as ``progress(method, share)`` after every simulated fit: which method was fitted,
        and which share of all fits is done.

    Returns
    -------
    Plan
        The method that `PrivatePCA` takes first, then the others, best first. ``print`` it;
        `Plan.to_dict` gives rows for a table, and `skdppca.plotting.PlanDisplay` a picture.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters, with a remedy.

    Notes
    -----
    The noise, the clipping and every search of a method depend on ``n_samples`` times its
    Gaussian-DP parameter mu only, as long as there are some hundred records. So at most 2000 rows
    are drawn, with the covariance that n records would have, and fitted at a budget of
    ``mu n / 2000``. What fits to the same rows have in common is their sampling error, which is
    shrunk by ``2000 / n``; the rest of the loss is noise. Seeds are public and fixed: the same
    question has the same answer.

    The recommended method is simulated most precisely, and the others by fewer fits. Answers are
    kept in the user's cache folder. The environment variable ``SKDPPCA_CACHE`` names another
    folder, which nobody else may write to; if it is empty, nothing is kept.

    ``benchmarks/bench_planner.py`` compares plans with fits at full size, in settings that no
    constant was chosen on.

    Examples
    --------
    >>> from skdppca.planner import plan
    >>> found = plan(5000, 20, 3, epsilon=1.0, methods=["DPGauss"])
    >>> bool(0.9 < found["DPGauss"].captured < 1)
    True
    >>> found.recommended
    'ResidualGauss'
    """
    facts = checked(dict(locals()))
    wanted, d = facts.pop("n_components"), facts["n_features"]
    k = wanted if isinstance(wanted, int) else d
    name, variances = check_spectrum(DEFAULT if spectrum is None else spectrum, d, k)
    asked = PlannedFit(
        **facts,
        n_components=k,
        wanted=wanted,
        spectrum=name,
        variances=tuple(map(float, variances)),
    )
    recommended, why = asked.chosen()
    names = methods_of(methods, asked)
    if asked.sees_spectrum:
        asked = counted(asked, recommended)
    empty = Plan(**vars(asked), recommended=recommended, why=why, rows=())
    found = _filled(empty, names, False, progress or _silent)
    return replace(found, enough=_enough(found)) if found.finds_nothing else found


def _enough(found: Plan) -> int | None:
    """About how many records the first method of a plan needs, to one digit."""
    method = found.rows[0].method
    for step in range(1, NOTHING.steps + 1):
        n = min(round(float(f"{found.n_samples * 10 ** (step / 2):.1g}")), MAX_ROWS)
        moved = _filled(replace(found, n_samples=n, rows=()), [method], True, _silent)
        if moved._found(moved.rows[0]) >= NOTHING.enough:
            return n
    return None


def _filled(empty: Plan, names: list[str], curve: bool, progress: Progress) -> Plan:
    return replace(empty, rows=expectations(empty, names, empty.recommended, curve, progress))


def _silent(method: str, share: float) -> None:
    """Report progress to nobody."""


def _part(progress: Progress, done: int, of: int) -> Progress:
    """Report progress in one of several plans."""
    return lambda method, share: progress(method, (done + share) / of)
