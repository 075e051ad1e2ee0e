"""A plan as a picture: the expected captured variance by epsilon or by number of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ._display import COLOURS, DASHES, LEGEND, NOISE, VERMILION, Display, check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

AXIS_NAMES = {"epsilon": "epsilon", "n_samples": "Number of records n"}

# They tell the methods apart without colour.
MARKERS = "osD^vP<X"

# The smallest missed variance that is drawn, and the ticks of the axis.
SMALLEST = 1e-5
TICKS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5)


@dataclass(kw_only=True, eq=False, repr=False)
class PlanDisplay(Display):
    """Expected captured variance of the methods of a plan.

    Use `from_plan`. A plan reads no data, so the picture shows none.

    Parameters
    ----------
    plans : sequence of Plan
        The plan itself, and plans for other numbers: `Plan.along`.
    plan : Plan
        Whose numbers are marked.
    over : {"epsilon", "n_samples"}
        Horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    lines_ : dict of str to matplotlib.lines.Line2D
        One for each method.
    ranges_ : dict of str to matplotlib.collections.FillBetweenPolyCollection
        The bands.
    here_ : matplotlib.lines.Line2D
        The plan's own number.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from skdppca.planner import plan
    >>> from skdppca.plotting import PlanDisplay
    >>> found = plan(2000, 10, 2, methods=["DPGauss"])
    >>> display = PlanDisplay.from_plan(found, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'epsilon'
    """

    plans: Sequence[Any]
    plan: Any
    over: str

    @classmethod
    def from_plan(
        cls,
        plan: Any,
        *,
        over: str = "epsilon",
        plans: Sequence[Any] | None = None,
        ax: Axes | None = None,
        title: str | None = "guarantee",
    ) -> Self:
        """Simulate a plan for other numbers, and plot what is expected.

        Parameters
        ----------
        plan : skdppca.planner.Plan
        over : {"epsilon", "n_samples"}, default="epsilon"
            The horizontal axis, from a tenth to ten times the plan's value.
        plans : sequence of Plan, optional
            What ``plan.along(over)`` returned. By default it is simulated now.
        ax, title
            See `plot`.

        Returns
        -------
        PlanDisplay
        """
        check_choice("over", over, *AXIS_NAMES)
        plans = plan.along(over) if plans is None else plans
        return cls(plans=plans, plan=plan, over=over).plot(ax, title=title)

    def plot(self, ax: Axes | None = None, *, title: str | None = "guarantee") -> Self:
        """Draw the expectations, and the bands in which half of all fits lie.

        The axis of the captured variance is logarithmic in what is missed, so 90 % is as far from
        99 % as 99 % is from 99.9 %. Less than 0.001 % is drawn there.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default in a new figure of pyplot.
        title : str or None, default="guarantee"
            By default what was planned for, unless the axes have a title; None for none.

        Returns
        -------
        PlanDisplay
            This one.
        """
        self._take_axes(ax, 7.2, 4.4)
        self.lines_: dict[str, Line2D] = {}
        self.ranges_: dict[str, FillBetweenPolyCollection] = {}
        self._curves(self.over)
        by_n = self.over == "n_samples"
        fixed = f"epsilon={self.plan.epsilon:g}" if by_n else f"n={self.plan.n_samples}"
        self._write_title(title, _title(self.plan, fixed))
        return self

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        return str(self.plan.sentence())

    def _curves(self, over: str) -> None:
        ax, values = self.ax_, [getattr(point, over) for point in self.plans]
        for i, mine in enumerate(self.plan.rows):
            rows = [point[mine.method] for point in self.plans]
            advised = mine.recommended and not self.plan.finds_nothing
            (self.lines_[mine.method],) = ax.plot(
                values,
                [_loss(row.captured) for row in rows],
                color=COLOURS[i % len(COLOURS)],
                marker=MARKERS[i % len(MARKERS)],
                markersize=5,
                linewidth=2.6 if advised else 1.3,
                label=f"{mine.method}: {mine.percent}" + "\n(recommended)" * advised,
            )
            self.ranges_[mine.method] = ax.fill_between(
                values,
                [_loss(row.captured_low) for row in rows],
                [_loss(row.captured_high) for row in rows],
                color=COLOURS[i % len(COLOURS)],
                alpha=0.15,
                linewidth=0,
            )
        here = getattr(self.plan, over)
        self.here_: Line2D = ax.axvline(here, zorder=0, color=VERMILION, **DASHES)
        ax.set(xscale="log", xlabel=AXIS_NAMES[over])
        ax.set_ylabel("Expected captured variance,\nof the best possible")
        lowest = min(np.min(line.get_ydata()) for line in self.lines_.values())
        ax.set(yscale="log", ylim=(1.0, lowest / 1.3))
        ticks = [tick for tick in TICKS if tick >= ax.get_ylim()[1]]
        ax.set_yticks(ticks, [_percent(1 - tick) for tick in ticks])
        ax.yaxis.minorticks_off()
        self._ticks(ax.xaxis, over, values)
        ax.grid(axis="y", color=NOISE, alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        where = f"at epsilon={here:g}" if over == "epsilon" else f"at n={here}"
        ax.legend(
            title=f"{where}\nband: half of all fits",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            **LEGEND,
        )

    def _ticks(self, axis: Any, over: str, values: Sequence[float]) -> None:
        here = getattr(self.plan, over)
        rounded = [value if value == here else float(f"{value:.2g}") for value in values]
        axis.set_ticks(values, [f"{value:g}" for value in rounded])
        axis.minorticks_off()


def _loss(captured: float) -> float:
    return max(1 - captured, SMALLEST)


def _percent(share: float) -> str:
    return f"{share:.3%}".rstrip("%").rstrip("0").rstrip(".") + " %"


def _title(plan: Any, fixed: str) -> str:
    return (
        f"{fixed}, d={plan.n_features}, k={plan.n_components}, delta={plan.delta:g}, "
        f"{plan.adjacency}{_besides(plan)}; {plan.spectrum} spectrum; no data"
    )


def _besides(plan: Any) -> str:
    """Return the assumptions on the rows beside their spectrum, in words."""
    parts = ["" if plan.group_size is None else f"groups of {plan.group_size}"]
    parts += ["private scales" * (plan.scale == "private"), "heavy tails" * (plan.tails == "heavy")]
    parts += ["absent entries" * (plan.missing == "mean")]
    return "".join(f", {part}" for part in parts if part)
