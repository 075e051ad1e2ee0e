"""Charges of an accountant, step by step, below the line of its budget."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from .._text.digits import down, up
from ..privacy import BaseAccountant, Entry, Statement
from ..privacy.statement import spread
from ._display import (
    BLUE,
    DASHES,
    LEGEND,
    NOISE,
    ORANGE,
    WARNING,
    Display,
    as_written,
    check_choice,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Kinds of charges, each with the marker and colour of its points.
RELEASE = "release"
KINDS: dict[str, dict[str, Any]] = {
    RELEASE: {"marker": "o", "color": BLUE},
    "external": {"marker": "D", "color": ORANGE},
    "seeded: not private": {"marker": "X", "color": WARNING},
}

LINE: dict[str, Any] = {
    "drawstyle": "steps-post",
    "color": BLUE,
    "linewidth": 1.3,
    "zorder": 2,
}
MARK: dict[str, Any] = {"linestyle": "none", "markersize": 6, "zorder": 3}

# Room for one entry of the legend, as a share of the height; by the size of its letters.
ROOM = 0.09

# Charges that are drawn, evenly spread, if there are more; and all that are no plain release.
MOST_DRAWN = 200

# The most charges with names along the axis, and the most letters of a name: else none is legible.
MOST_NAMED = 12
LONGEST = 24


@dataclass(kw_only=True, eq=False, repr=False)
class LedgerDisplay(Display):
    """Privacy spent, charge by charge, with the budget as a line.

    Use `from_ledger`. It reads what the accountant recorded, which is public.

    Parameters
    ----------
    statement : skdppca.privacy.Statement
        What was charged, and the budget.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    line_ : matplotlib.lines.Line2D
        The steps.
    budget_ : matplotlib.lines.Line2D
    marks_ : dict of str to matplotlib.lines.Line2D
        The charges, by kind.

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

    statement: Statement

    @classmethod
    def from_ledger(
        cls,
        ledger: BaseAccountant | Statement,
        *,
        over: Literal["charge", "time"] = "charge",
        ax: Axes | None = None,
        title: str | None = "guarantee",
    ) -> Self:
        """Plot what an accountant charged.

        If there are more than 200 charges, 200 are drawn, evenly spread, the last one among them;
        and all that another tool made or that are not private.

        Parameters
        ----------
        ledger : PrivacyLedger, PrivacyAccountant or Statement
        over, ax, title
            See `plot`.

        Returns
        -------
        LedgerDisplay
        """
        statement = ledger if isinstance(ledger, Statement) else ledger.statement()
        return cls(statement=statement).plot(ax, over=over, title=title)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        over: Literal["charge", "time"] = "charge",
        title: str | None = "guarantee",
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

        Returns
        -------
        LedgerDisplay
            This one.
        """
        check_choice("over", over, "charge", "time")
        ax = self._take_axes(ax, 7.2, 4.4)
        entries = self.statement.entries
        priced = [i for i, entry in enumerate(entries) if entry.after is not None]
        drawn = {priced[i] for i in spread(len(priced), MOST_DRAWN)}
        known = [
            (
                i + 1 if over == "charge" else datetime.fromisoformat(entries[i].receipt.time),
                entries[i].total,
                _kind(entries[i]),
            )
            for i in priced
            if i in drawn or _kind(entries[i]) != RELEASE
        ]
        (self.line_,) = ax.plot(*self._steps(known, over), **LINE)
        self.marks_ = {}
        for kind, style in KINDS.items():
            if chosen := [(place, total) for place, total, own in known if own == kind]:
                points = zip(*chosen, strict=True)
                (self.marks_[kind],) = ax.plot(*points, label=kind, **MARK, **style)
        left = f"budget (one more charge may cost {down(self._remaining)})"
        epsilon = self.statement.budget.epsilon
        self.budget_ = ax.axhline(epsilon, label=left, color=WARNING, **DASHES)
        self._dress(over, title)
        return self

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        entries, budget = self.statement.entries, self.statement.budget
        n = len(entries)
        spent = (entries[-1].total if entries else None) or 0.0
        return (
            f"{n} charge{'' if n == 1 else 's'} spent epsilon {up(spent, 4)} of {budget.epsilon:g} "
            f"at delta {budget.delta:g}. One more may cost {down(self._remaining)}."
        )

    @property
    def _remaining(self) -> float:
        return self.statement.remaining.epsilon

    def _steps(self, known: list[Any], over: str) -> tuple[list[Any], list[Any]]:
        """From zero, before the first charge, to what is spent now."""
        x, y = [place for place, *_ in known], [total for _, total, _ in known]
        if over == "charge":
            return [0.0, *x, len(self.statement.entries) + 0.5], [0.0, *y, *(y[-1:] or [0.0])]
        return x[:1] + x, [0.0] * bool(y) + y

    def _dress(self, over: str, title: str | None) -> None:
        ax, budget = self.ax_, self.statement.budget
        labels = [entry.receipt.label for entry in self.statement.entries]
        n = len(labels)
        if over == "time":
            ax.set_xlabel("Time of the charge (UTC)")
            ax.tick_params("x", rotation=30)
        elif 0 < n <= MOST_NAMED:
            names = [short(label, LONGEST) or f"charge {i + 1}" for i, label in enumerate(labels)]
            ax.set_xticks(range(1, n + 1), names, rotation=30, ha="right", fontsize="small")
        else:
            ax.set_xlabel("Charges")
            ax.locator_params("x", integer=True)
        ax.set_ylabel(f"Epsilon spent, at delta = {budget.delta:g}")
        # room for the legend above the line of the budget
        ax.set_ylim(0, ax.get_ylim()[1] * (1 + ROOM * len(ax.get_legend_handles_labels()[0])))
        ax.grid(axis="y", color=NOISE, alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", **LEGEND)
        terms = self.statement.chain.terms
        whom = as_written(f"for every {terms.unit} ({terms.adjacency})")
        text = f"Budget: ε = {budget.epsilon:g}, δ = {budget.delta:g}"
        self._write_title(title, f"{text} {whom}")


def _kind(entry: Entry) -> str:
    if entry.receipt.seeded:
        return "seeded: not private"
    return "external" if entry.external else RELEASE
