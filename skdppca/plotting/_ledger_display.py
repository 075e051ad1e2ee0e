"""What an accountant charged, step by step, below the line of its budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from .._text.digits import up
from ..privacy import BaseAccountant, Entry, Statement
from ..privacy.statement import spread
from ._display import Display
from ._style import (
    BLUE,
    COLOURS,
    DASHED,
    LEGEND,
    NOISE,
    ORANGE,
    WARNING,
    as_written,
    check_choice,
    short,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Kinds of charges, each with the marker and colour of its points.
KINDS: dict[str, dict[str, Any]] = {
    "release": {"marker": "o", "color": BLUE},
    "external": {"marker": "D", "color": ORANGE},
    "seeded: not private": {"marker": "X", "color": WARNING},
}

LINE: dict[str, Any] = {
    "drawstyle": "steps-post",
    "color": BLUE,
    "linewidth": 1.3,
    "zorder": 2,
}
COHORT: dict[str, Any] = {"drawstyle": "steps-post", "linewidth": 0.9, "zorder": 1}
MARK: dict[str, Any] = {"linestyle": "none", "markersize": 6, "zorder": 3}
BUDGET: dict[str, Any] = {"color": WARNING, "linewidth": 1.1, "linestyle": DASHED}

# Room for one entry of the legend, as a share of the height; by the size of its letters.
ROOM = 0.09

# The most charges of a kind that are drawn: more would hide each other.
MOST_DRAWN = 200

# The most cohorts with a line of their own: the last ones.
MOST_COHORTS = 5

# The most charges with names along the axis, and the most letters of a name: else none is legible.
MOST_NAMED = 12
LONGEST = 24


@dataclass(kw_only=True, eq=False, repr=False)
class LedgerDisplay(Display):
    """Privacy spent, charge by charge, with the budget as a line.

    Use `from_ledger`. It reads what the accountant recorded, which is public. With cohorts, the
    steps are the total of the person who was charged most. Thin steps are those of single cohorts.

    Parameters
    ----------
    totals : sequence of float or None
        Epsilon of all charges up to each one, at `delta`; None where it is not known.
    labels : sequence of str
        What the charges were for.
    kinds : sequence of {"release", "external", "seeded: not private"}
        What they paid for.
    times : sequence of str
        When they were made: ISO 8601.
    epsilon, delta : float
        The budget.
    remaining : float
        The largest epsilon of one more charge.
    protects : str, default=""
        Whom the budget protects, for the title.
    cohorts : mapping of str to sequence of float or None, optional
        The totals of some cohorts.
    n_cohorts : int, default=0
        How many cohorts there are.
    reports : sequence of PrivacyReport, default=()
        Of the fits that were charged, if they are at hand.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    line_ : matplotlib.lines.Line2D
        The steps.
    budget_ : matplotlib.lines.Line2D
    marks_ : dict of str to matplotlib.lines.Line2D
        The charges, by kind.
    cohort_lines_ : dict of str to matplotlib.lines.Line2D
        The steps of single cohorts.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from skdppca import PrivacyAccountant, plotting
    >>> accountant = PrivacyAccountant(epsilon=2.0, delta=1e-6)
    >>> receipt = accountant.charge_external(
    ...     "OpenDP: counts by year", epsilon=0.5, delta=0.0, adjacency="add-remove"
    ... )
    >>> display = plotting.LedgerDisplay.from_ledger(accountant, ax=Figure().subplots())
    >>> display.alt_text_
    '1 charge spent epsilon 0.5 of 2 at delta 1e-06. One more may cost 1.53.'
    """

    totals: Sequence[float | None]
    labels: Sequence[str]
    kinds: Sequence[str]
    times: Sequence[str]
    epsilon: float
    delta: float
    remaining: float
    protects: str = ""
    cohorts: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    n_cohorts: int = 0

    @classmethod
    def from_ledger(
        cls,
        ledger: BaseAccountant | Statement,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Plot what an accountant charged.

        Of more than 200 charges of one kind, 200 are drawn, evenly spread, the last one among them.

        Parameters
        ----------
        ledger : PrivacyLedger, PrivacyAccountant or Statement
        ax, options
            As in `plot`.

        Returns
        -------
        LedgerDisplay
        """
        statement = ledger if isinstance(ledger, Statement) else ledger.statement()
        terms, entries = statement.chain.terms, statement.entries
        kinds = [_kind(entry) for entry in entries]
        drawn = _drawn(entries, kinds)
        display = cls(
            totals=[entry.total if i in drawn else None for i, entry in enumerate(entries)],
            labels=[entry.receipt.label for entry in entries],
            kinds=kinds,
            times=[entry.receipt.time for entry in entries],
            epsilon=terms.epsilon,
            delta=terms.delta,
            remaining=statement.remaining.epsilon,
            protects=f"for every {terms.unit} ({terms.adjacency})",
            cohorts={
                name: [_of_cohort(entry, name, i in drawn) for i, entry in enumerate(entries)]
                for name in statement.cohorts[-MOST_COHORTS:]
            },
            n_cohorts=len(statement.cohorts),
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        over: Literal["charge", "time"] = "charge",
        title: str | None = "guarantee",
        line_kw: dict[str, Any] | None = None,
        mark_kw: dict[str, Any] | None = None,
        budget_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the steps, the charges and the budget.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default in a new figure of pyplot.
        over : {"charge", "time"}, default="charge"
            The horizontal axis: one place for each charge, in their order, or the time.
        title : str or None, default="guarantee"
            By default the budget and whom it protects, unless the axes have a title; None for none.
        line_kw, mark_kw, budget_kw : dict, optional
            Passed to matplotlib for the steps, the charges, and the line of the budget.

        Returns
        -------
        LedgerDisplay
            This one.
        """
        check_choice("over", over, "charge", "time")
        from matplotlib.lines import Line2D

        ax = self._take_axes(ax, 7.2, 4.4)
        places = self._places(over)
        known = [
            (place, total, kind)
            for place, total, kind in zip(places, self.totals, self.kinds, strict=True)
            if total is not None
        ]
        x, y = [place for place, _, _ in known], [total for _, total, _ in known]
        (self.line_,) = ax.plot(*self._steps(x, y, over), **styled(LINE, line_kw, Line2D))
        self.cohort_lines_ = {}
        for (name, totals), colour in zip(self.cohorts.items(), COLOURS[1:], strict=False):
            own = [one for one in zip(places, totals, strict=True) if one[1] is not None]
            steps = self._steps([place for place, _ in own], [total for _, total in own], over)
            label = f"cohort {short(name, LONGEST)}"
            (self.cohort_lines_[name],) = ax.plot(
                *steps, **(COHORT | {"color": colour, "label": label})
            )
        self.marks_ = {}
        for kind, style in KINDS.items():
            chosen = [(place, total) for place, total, own in known if own == kind]
            if chosen:
                (self.marks_[kind],) = ax.plot(
                    *zip(*chosen, strict=True),
                    **styled(MARK | style | {"label": kind}, mark_kw, Line2D),
                )
        whom = " on all" if self.n_cohorts else ""
        left = {"label": f"budget (one more charge{whom} may cost {_down(self.remaining)})"}
        self.budget_ = ax.axhline(self.epsilon, **styled(BUDGET | left, budget_kw, Line2D))
        self._dress(over, title)
        return self

    @property
    def alt_text_(self) -> str:
        """What the picture shows, in words."""
        n = len(self.totals)
        spent = (self.totals[-1] if self.totals else None) or 0.0
        several = f"{self.n_cohorts} cohort{'' if self.n_cohorts == 1 else 's'}"
        of_whom = f" (of {several}, the one that was charged most)" if self.n_cohorts else ""
        on_all = " on all" if self.n_cohorts else ""
        return (
            f"{n} charge{'' if n == 1 else 's'} spent epsilon {up(spent, 4)} of {self.epsilon:g} "
            f"at delta {self.delta:g}{of_whom}. One more{on_all} may cost {_down(self.remaining)}."
        )

    def _steps(self, x: list[Any], y: list[Any], over: str) -> tuple[list[Any], list[Any]]:
        """From zero, before the first charge, to what is spent now."""
        if over == "charge":
            return [0.0, *x, len(self.totals) + 0.5], [0.0, *y, *(y[-1:] or [0.0])]
        return x[:1] + x, [0.0] * bool(y) + y

    def _places(self, over: str) -> list[Any]:
        if over == "charge":
            return [i + 1 for i in range(len(self.totals))]
        return [datetime.fromisoformat(time) for time in self.times]

    def _dress(self, over: str, title: str | None) -> None:
        ax, n = self.ax_, len(self.totals)
        if over == "time":
            ax.set_xlabel("Time of the charge (UTC)")
            ax.tick_params("x", rotation=30)
        elif 0 < n <= MOST_NAMED:
            names = [
                short(label, LONGEST) or f"charge {i + 1}" for i, label in enumerate(self.labels)
            ]
            ax.set_xticks(range(1, n + 1), names, rotation=30, ha="right", fontsize="small")
        else:
            ax.set_xlabel("Charges")
            ax.locator_params("x", integer=True)
        ax.set_ylabel(f"Epsilon spent, at delta = {self.delta:g}")
        # room for the legend above the line of the budget
        ax.set_ylim(0, ax.get_ylim()[1] * (1 + ROOM * len(ax.get_legend_handles_labels()[0])))
        ax.grid(axis="y", color=NOISE, alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", **LEGEND)
        budget = rf"Budget: $\varepsilon$ = {self.epsilon:g}, $\delta$ = {self.delta:g}"
        self._write_title(title, f"{budget} {as_written(self.protects)}")


def _drawn(entries: Sequence[Entry], kinds: Sequence[str]) -> set[int]:
    """Places of the charges that are drawn: some of each kind, whose totals are known."""
    known = [i for i, entry in enumerate(entries) if entry.after is not None]
    drawn: set[int] = set()
    for kind in KINDS:
        own = [i for i in known if kinds[i] == kind]
        drawn.update(own[place] for place in spread(len(own), MOST_DRAWN))
    return drawn


def _of_cohort(entry: Entry, name: str, drawn: bool) -> float | None:
    """What a cohort had paid after a charge, where it takes no long time to price."""
    if not drawn or entry.after is None:
        return None
    total = entry.after.of(name)
    return None if total.is_slow else total.epsilon(entry.delta)


def _kind(entry: Entry) -> str:
    if entry.receipt.seeded:
        return "seeded: not private"
    return "external" if entry.external else "release"


def _down(epsilon: float) -> str:
    """Three digits, rounded down: no text promises more than is left."""
    if not 0 < epsilon < math.inf:
        return f"{epsilon:g}"
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return f"{math.floor(epsilon / unit * (1 + 1e-12)) * unit:.3g}"
