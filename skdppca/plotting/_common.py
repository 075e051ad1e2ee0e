"""What all pictures share: a figure of their own, and the guarantee as a title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..privacy import PrivacyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NOISE", "WARNING", "as_written", "dress_title", "figure", "guarantee", "shown_axes"]

NOISE, WARNING = "#7a7a7a", "#b3261e"


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


def as_written(text: object) -> str:
    """Return a user's text, escaped so that matplotlib reads no formula between dollar signs."""
    return str(text).replace("$", r"\$")


def guarantee(name: str, report: PrivacyReport) -> str:
    """Return the guarantee in one line, or the reason why there is none."""
    if not report.private:
        reason = "; ".join(reason.split(":")[0] for reason in report.not_private)
        return f"{name}: NOT PRIVATE ({reason})"
    return (
        f"{name}: $\\varepsilon$ = {report.epsilon:g}, $\\delta$ = {report.delta:g} "
        f"for every {as_written(report.unit)} ({report.adjacency})"
    )


def dress_title(ax: Axes, name: str, report: PrivacyReport) -> None:
    """Put the guarantee above the axes, or in red the reason why there is none."""
    colour: dict[str, Any] = {} if report.private else {"color": WARNING}
    ax.set_title(guarantee(name, report), fontsize="medium", loc="left", wrap=True, **colour)
