"""The style of all pictures: colours, and how numbers and texts are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._text import printable
from ..privacy.installing import how_to_install

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Words in these have a contrast of at least 4.5 with white.
NOISE, WARNING = "#707070", "#b3261e"

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
            f"plots need matplotlib, which is not installed; {how_to_install('plot')}"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def as_written(text: object) -> str:
    """Return a user's text, escaped so that matplotlib reads no formula between dollar signs."""
    return printable(str(text)).replace("$", r"\$")


def short(text: object, longest: int) -> str:
    """Return a user's text on one line of `longest` letters at most, escaped as `as_written`."""
    shown = printable(str(text))
    return as_written(shown if len(shown) <= longest else f"{shown[: longest - 1]}…")


def contrast(one: Any, other: Any) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2.2, 1.4.3); words need 4.5."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(ground: Any) -> str:
    """Return black or white, whichever is read more easily on a colour."""
    return max("black", "white", key=lambda ink: contrast(ink, ground))


def _luminance(colour: Any) -> float:
    from matplotlib.colors import to_rgb

    parts = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def percent_axis(axis: Axis) -> None:
    """Write the ticks of an axis as per cent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def check_choice(name: str, value: object, *choices: object) -> None:
    """Refuse a parameter that is none of its words."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"{name}={value!r} is unknown; choose {', '.join(first)} or {last}")
