"""What all pictures share: where they are drawn, their style, and the guarantee as a title."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._text import printable
from ..privacy import PrivacyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "COLOURS",
    "DASHED",
    "DIVERGING",
    "NOISE",
    "ORANGE",
    "UNSTATED",
    "VERMILION",
    "WARNING",
    "Panels",
    "as_written",
    "figure",
    "fitted",
    "guarantee",
    "is_private",
    "panels",
    "percent",
    "percent_axis",
    "percent_up",
    "short",
    "shown_axes",
    "styled",
    "write_guarantee",
    "write_title",
]

NOISE, WARNING = "#7a7a7a", "#b3261e"

# What a guarantee is that does not hold as its figures state it.
UNSTATED = "NOT AS STATED"

# Safe for colour-blind readers (Okabe & Ito 2008).
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000", NOISE)

DASHED = (0, (5, 3))

# Height of the line above panels that has their title, over that of a panel.
HEADING = 1e-3

# Colours of signed numbers, white at 0.
DIVERGING = "RdBu_r"


def figure(width: float, height: float) -> Figure:
    """Return a figure without a window and without pyplot state, for any backend."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; pip install 'skdppca[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def shown_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure of pyplot, which notebooks show."""
    figure(width, height)  # raises without matplotlib
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


@dataclass(frozen=True)
class Panels:
    """Axes for several pictures of one kind.

    Parameters
    ----------
    axes : ndarray of shape (n_rows, n_columns) of Axes or None
        None where none is used.
    bounding : Axes or None
        The axes that they lie in; None if every one of them was given.
    heading : Axes
        Those that get the title: a line of no height above all panels, or the first panel.
    figure : Figure
    """

    axes: np.ndarray
    bounding: Axes | None
    heading: Axes
    figure: Figure

    @property
    def used(self) -> list[Axes]:
        """The axes to be drawn in, in their order."""
        return [ax for ax in self.axes.ravel() if ax is not None]


def panels(
    ax: Axes | Sequence[Axes] | np.ndarray | None,
    n: int,
    n_columns: int,
    size: Callable[[int, int], tuple[float, float]],
    *,
    of: str,
    share: tuple[bool, bool] = (False, False),
) -> Panels:
    """Return axes for `n` panels.

    Parameters
    ----------
    ax : Axes, sequence of Axes or None
        Axes to be divided; one for each panel; or None for a new figure of pyplot.
    n_columns : int
        The most panels side by side.
    size : callable
        Width and height of a new figure, by its numbers of rows and columns.
    of : str
        What a panel shows, for errors.
    share : (bool, bool)
        Whether all panels have one horizontal, or one vertical axis.
    """
    if ax is not None and not hasattr(ax, "get_subplotspec"):
        given = np.asarray(ax, dtype=object).ravel()
        if len(given) < n:
            raise ValueError(f"ax has {len(given)} axes for {n} {of}; give one axes, or {n}")
        return Panels(given[:n].reshape(1, n), None, given[0], given[0].figure)
    rows = math.ceil(n / n_columns)
    columns = math.ceil(n / rows)
    bounding: Any = shown_axes(*size(rows, columns)) if ax is None else ax
    place = bounding.get_subplotspec()
    if place is None:
        raise ValueError(
            "ax is in no grid, so it cannot be divided; give axes that plt.subplots() makes, or "
            f"one axes for each of the {n} {of}"
        )
    from matplotlib.gridspec import GridSpecFromSubplotSpec

    bounding.set_axis_off()
    # A title of the axes that are divided would lie on those of the first row: layouts give the
    # whole place to the panels.
    heights = [HEADING, *[1.0] * rows]
    grid = GridSpecFromSubplotSpec(rows + 1, columns, subplot_spec=place, height_ratios=heights)
    heading = bounding.figure.add_subplot(grid[0, :])
    heading.set_axis_off()
    axes = np.full((rows, columns), None, dtype=object)
    for i in range(n):
        first = axes[0, 0]
        axes.flat[i] = bounding.figure.add_subplot(
            grid[columns + i],
            sharex=first if share[0] else None,
            sharey=first if share[1] else None,
        )
    heading.set_title(bounding.get_title(loc="left"), loc="left")
    bounding.set_title("", loc="left")
    return Panels(axes, bounding, heading, bounding.figure)


def fitted(estimator: Any, attribute: str = "components_") -> Any:
    """Return a fitted private estimator, or the last such step of a fitted pipeline.

    Raises
    ------
    NotFittedError, TypeError
    """
    check_is_fitted(estimator)
    if isinstance(estimator, Pipeline):
        for _, step in reversed(estimator.steps):
            if hasattr(step, "privacy_") and hasattr(step, attribute):
                return step
        raise TypeError(
            "no step of this pipeline is a private PCA; give a pipeline with one of the "
            "estimators of skdppca, for example make_pipeline(PrivatePCA(epsilon=1.0), ...)"
        )
    if not (hasattr(estimator, "privacy_") and hasattr(estimator, attribute)):
        raise TypeError(
            f"{type(estimator).__name__} is no private PCA; give a fitted estimator of skdppca, "
            "for example PrivatePCA(epsilon=1.0).fit(X)"
        )
    return estimator


def styled(defaults: Mapping[str, Any], own: Mapping[str, Any] | None, of: Any) -> dict[str, Any]:
    """Return the user's style over the defaults; both may use the short names of a class."""
    from matplotlib.cbook import normalize_kwargs

    return {**normalize_kwargs(dict(defaults), of), **normalize_kwargs(dict(own or {}), of)}


def as_written(text: object) -> str:
    """Return a user's text, escaped so that matplotlib reads no formula between dollar signs."""
    return printable(str(text)).replace("$", r"\$")


def short(text: object, longest: int) -> str:
    """Return a user's text on one line of `longest` letters at most, escaped as `as_written`."""
    shown = printable(str(text))
    return as_written(shown if len(shown) <= longest else f"{shown[: longest - 1]}…")


def percent(share: float) -> str:
    """Return a share as whole per cent."""
    return f"{100 * share:.0f} %"


def percent_up(share: float) -> str:
    """Return a share as per cent with one decimal, rounded up."""
    return f"{min(math.ceil(share * 1000 - 1e-7) / 10, 100.0):.1f} %"


def percent_axis(axis: Axis) -> None:
    """Write the ticks of an axis as per cent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def is_private(reports: Sequence[PrivacyReport]) -> bool:
    """Whether all of the reports promise something."""
    return all(report.private for report in reports)


def guarantee(name: str, report: PrivacyReport) -> str:
    """Return the guarantee in one line, or the reason why there is none."""
    if not report.private:
        reason = "; ".join(reason.split(":")[0] for reason in report.not_private)
        return f"{as_written(name)}: NOT PRIVATE ({as_written(reason)})"
    return (
        f"{as_written(name)}: $\\varepsilon$ = {report.epsilon:g}, $\\delta$ = {report.delta:g} "
        f"for every {as_written(report.unit)} ({report.adjacency})"
    )


def write_guarantee(
    ax: Axes,
    title: str | None,
    reports: Sequence[PrivacyReport],
    learned_before: Sequence[str] = (),
) -> None:
    """Write the title: the guarantees of all reports, one a line, or the user's own.

    Steps that learned from the records before make the guarantees wrong: a line says so.
    """
    lines = [guarantee(report.method, report) for report in reports]
    lines += [as_written(f"{UNSTATED}: {step} learned from the records") for step in learned_before]
    write_title(ax, title, "\n".join(lines), is_private(reports) and not learned_before)


def write_title(ax: Axes, title: str | None, text: str, private: bool = True) -> None:
    """Write a title above the axes, in red for what is not private.

    Parameters
    ----------
    title : str or None
        "guarantee" for `text`, which takes the place of no other title: a warning goes below it.
        None for none.
    """
    earlier, shown = ax.get_title(loc="left"), text if title == "guarantee" else title
    if title == "guarantee" and earlier:
        if private:
            return
        shown = earlier if text in earlier else f"{earlier}\n{text}"
    if shown is None:
        return
    colour: dict[str, Any] = {} if private else {"color": WARNING}
    ax.set_title(shown, fontsize="medium", loc="left", wrap=True, **colour)
