"""The style of all pictures: colours, and how numbers and texts are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._text import printable

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "COLOURS",
    "DASHED",
    "DIVERGING",
    "LEGEND",
    "NOISE",
    "ORANGE",
    "UNSTATED",
    "VERMILION",
    "WARNING",
    "as_written",
    "check_choice",
    "figure",
    "percent",
    "percent_axis",
    "percent_up",
    "short",
    "styled",
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

# Colours of signed numbers, white at 0.
DIVERGING = "RdBu_r"

LEGEND: dict[str, Any] = {
    "fontsize": "small",
    "title_fontsize": "small",
    "edgecolor": "none",
    "framealpha": 0.75,
}


def figure(width: float, height: float) -> Figure:
    """Return a figure without a window and without pyplot state, for any backend."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; pip install 'skdppca[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


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


def check_choice(name: str, value: object, *choices: object) -> None:
    """Refuse a parameter that is none of its words."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"{name}={value!r} is unknown; choose {', '.join(first)} or {last}")
