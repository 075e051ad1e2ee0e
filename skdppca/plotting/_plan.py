"""A plan as a picture: the expected captured variance by epsilon, or by number of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._common import NOISE, WARNING, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plan"]

AXIS_NAMES = {"epsilon": "epsilon", "n_samples": "Number of records n"}

# Safe for colour-blind readers (Okabe & Ito 2008); markers tell the methods apart without colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a7a7a")
MARKERS = "osD^vP<X"

# The smallest missed variance that is drawn, and the ticks of the axis.
SMALLEST, TICKS = 1e-5, (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5)


def plan(
    plan: Any, over: str = "epsilon", ax: Axes | None = None, *, plans: Sequence[Any] | None = None
) -> Axes:
    """Plot the expected captured variance of every method of a plan.

    Parameters
    ----------
    plan : skdppca.planner.Plan
        A line marks its epsilon or number of records. The recommended method is drawn thicker.
    over : {"epsilon", "n_samples"}, default="epsilon"
        The horizontal axis, from a tenth to ten times the plan's value.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default in a new figure outside of pyplot: ``ax.figure`` of the result.
    plans : sequence of Plan, optional
        What ``plan.along(over)`` returned. By default it is simulated now.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    The vertical axis is logarithmic in the missed variance: 90 % is as far from 99 % as 99 % is
    from 99.9 %. A point that misses less than 0.001 % is drawn at 0.001 %.

    Examples
    --------
    >>> from skdppca import plotting
    >>> from skdppca.planner import plan
    >>> ax = plotting.plan(plan(2000, 10, 2, methods=["DPGauss"]))
    >>> ax.get_xlabel()
    'epsilon'
    """
    if ax is None:
        ax = figure(7.2, 4.4).subplots()
    plans = plan.along(over) if plans is None else plans
    values = [getattr(point, over) for point in plans]
    for i, row in enumerate(plan.rows):
        missed = [1 - point[row.method].captured for point in plans]
        ax.plot(
            values,
            [max(loss, SMALLEST) for loss in missed],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=5,
            linewidth=2.6 if row.recommended else 1.3,
            label=f"{row.method}: {row.percent}" + "\n(recommended)" * row.recommended,
        )
    here = getattr(plan, over)
    ax.axvline(here, color=WARNING, linewidth=1.1, linestyle=(0, (5, 3)), zorder=0)
    ax.set(xscale="log", yscale="log", xlabel=AXIS_NAMES[over])
    ax.set_ylabel("Expected captured variance,\nof the best possible")
    lowest = min(np.min(line.get_ydata()) for line in ax.lines[:-1])
    ax.set_ylim(1.0, max(lowest, SMALLEST) / 1.3)
    ticks = [tick for tick in TICKS if tick >= ax.get_ylim()[1]]
    ax.set_yticks(
        ticks, [f"{1 - tick:.3%}".rstrip("%").rstrip("0").rstrip(".") + " %" for tick in ticks]
    )
    ax.yaxis.minorticks_off()
    rounded = [value if value == here else float(f"{value:.2g}") for value in values]
    ax.set_xticks(values, [f"{value:g}" for value in rounded])
    ax.xaxis.minorticks_off()
    ax.grid(axis="y", color=NOISE, alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    fixed = f"epsilon={plan.epsilon:g}" if over == "n_samples" else f"n={plan.n_samples}"
    ax.set_title(
        f"{fixed}, d={plan.n_features}, k={plan.n_components}, delta={plan.delta:g}, "
        f"{plan.adjacency}{_besides(plan)}; {plan.spectrum} spectrum; no data",
        fontsize="medium",
        loc="left",
    )
    title = f"at {over}={here:g}" if over == "epsilon" else f"at n={here}"
    ax.legend(
        title=title, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False
    )
    return ax


def _besides(plan: Any) -> str:
    """What is assumed of the rows beside their spectrum."""
    parts = ["" if plan.group_size is None else f"groups of {plan.group_size}"]
    parts += ["private scales" * (plan.scale == "private"), "heavy tails" * (plan.tails == "heavy")]
    parts += ["absent entries" * (plan.missing == "mean")]
    return "".join(f", {part}" for part in parts if part)
