"""Base of all displays: the fit that is given, where it is drawn, and the guarantee above it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._text import printable
from ..privacy import PrivacyReport
from ..privacy.installing import how_to_install
from ._pipeline_steps import learned_before, private_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# Words in these have a contrast of at least 4.5 with white.
NOISE, WARNING = "#707070", "#b3261e"

# Said of a guarantee that does not hold as its figures state it.
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

DASHES: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (5, 3))}

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


# Height of the line above panels that has their title, over that of a panel.
HEADING = 1e-3

# The most panels side by side.
N_COLUMNS = 5


class Display:
    """A picture. Its fields are what is drawn; `plot` has the style, and stores the artists."""

    def _take_axes(self, ax: Axes | None, width: float, height: float) -> Axes:
        """Draw in these axes, or in those of a new figure of pyplot, which notebooks show."""
        self.ax_: Axes = _shown_axes(width, height) if ax is None else ax
        self.figure_: Figure = self.ax_.figure  # type: ignore[assignment]
        self._heading: Axes = self.ax_
        return self.ax_

    def _take_panels(
        self,
        ax: Axes | Sequence[Axes] | np.ndarray | None,
        n: int,
        width: float,
        height: float,
        *,
        of: str,
        shared: bool = False,
    ) -> list[Axes]:
        """Draw in `n` panels, which are returned in their order.

        The axes that get the title are a line of no height above all panels, or the first panel.

        Parameters
        ----------
        ax : Axes, sequence of Axes or None
            Axes to be divided; one for each panel; or None for a new figure of pyplot.
        width, height : float
            Size of a panel in a new figure.
        of : str
            What a panel shows, for errors.
        shared : bool, default=False
            Whether all panels have the same axes.
        """
        self.axes_: np.ndarray
        self.bounding_ax_: Axes | None = None
        if ax is not None and not hasattr(ax, "get_subplotspec"):
            given = np.asarray(ax, dtype=object).ravel()
            if len(given) < n:
                raise ValueError(f"ax has {len(given)} axes for {n} {of}; give one axes, or {n}")
            self.axes_, self._heading = given[:n].reshape(1, n), given[0]
        else:
            rows = math.ceil(n / N_COLUMNS)
            columns = math.ceil(n / rows)
            # room for the title and for a colour bar
            whole = max(width * columns + 1.0, 4.4), height * rows + 0.9
            bounding: Any = _shown_axes(*whole) if ax is None else ax
            self.axes_, self._heading = _divided(bounding, n, rows, columns, of, shared)
            self.bounding_ax_ = bounding
        self.figure_ = self._heading.figure  # type: ignore[assignment]
        return [panel for panel in self.axes_.ravel() if panel is not None]

    def _write_title(self, title: str | None, text: str, private: bool = True) -> None:
        """Write a title above the axes, in red for what is not private.

        Parameters
        ----------
        title : str or None
            "guarantee" for `text`, which takes the place of no other title: a warning goes below
            it. None for none.
        """
        if title == "guarantee":
            earlier = self._heading.get_title(loc="left")
            if earlier and private:
                return
            title = earlier if text in earlier else "\n".join(filter(None, (earlier, text)))
        if title is not None:
            colour: dict[str, Any] = {} if private else {"color": WARNING}
            self._heading.set_title(title, fontsize="medium", loc="left", wrap=True, **colour)


@dataclass(kw_only=True, eq=False, repr=False)
class FitDisplay(Display):
    """A picture of what fits released.

    Parameters
    ----------
    reports : sequence of PrivacyReport, default=()
    learned_before : sequence of str, default=()
        Steps of a Pipeline that learned from the records before, so that the guarantee does not
        hold as stated. The title says so, and is red if it is the user's own.
    """

    reports: Sequence[PrivacyReport] = ()
    learned_before: Sequence[str] = ()

    @classmethod
    def _of_fit(cls, estimator: Any, pca: Any, **data: Any) -> Self:
        """Return the display of a private PCA, which may be a step of the estimator."""
        before = learned_before(estimator, pca)
        return cls(reports=(pca.privacy_,), learned_before=before, **data)

    @property
    def _private(self) -> bool:
        """True if all of the reports promise something."""
        return all(report.private for report in self.reports)

    @property
    def _exact(self) -> bool:
        """True if no noise was added: epsilon is infinite."""
        return any(math.isinf(report.epsilon) for report in self.reports)

    def _noise_in_words(self, lost: np.ndarray | None, k: int) -> str:
        """Say how many of k components the noise drowns, as far as that is known."""
        if self._exact:
            return "no noise was added."
        if lost is None:
            return "nothing is known of its noise."
        return f"{int(np.sum(lost))} of {k} cannot be told from noise."

    def _write_guarantee(self, title: str | None) -> None:
        """Write the title: the guarantees of all reports, one a line, or the user's own.

        Steps that learned from the records before make the guarantees wrong: a line says so.
        """
        lines = [guarantee(report.method, report) for report in self.reports]
        lines += [
            as_written(f"{UNSTATED}: {step} learned from the records")
            for step in self.learned_before
        ]
        self._write_title(title, "\n".join(lines), self._private and not self.learned_before)


def fitted(estimator: Any, attribute: str = "components_") -> Any:
    """Return a fitted private estimator, or the last such step of a fitted pipeline.

    Raises
    ------
    NotFittedError, TypeError
    """
    check_is_fitted(estimator)
    for step in reversed(private_steps(estimator)):
        if hasattr(step, "privacy_") and hasattr(step, attribute):
            return step
    raise TypeError(
        f"{type(estimator).__name__} is no private PCA, and has none among its steps; give a "
        "fitted estimator of skdppca, for example PrivatePCA(epsilon=1.0).fit(X), or a Pipeline "
        "with one"
    )


def guarantee(name: str, report: PrivacyReport) -> str:
    """Return the guarantee in one line, or the reason why there is none."""
    if not report.private:
        reason = "; ".join(reason.split(":")[0] for reason in report.not_private)
        return f"{as_written(name)}: NOT PRIVATE ({as_written(reason)})"
    return (
        f"{as_written(name)}: ε = {report.epsilon:g}, δ = {report.delta:g} "
        f"for every {as_written(report.unit)} ({report.adjacency})"
    )


def _shown_axes(width: float, height: float) -> Axes:
    figure(width, height)  # raises without matplotlib
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _divided(
    bounding: Any, n: int, rows: int, columns: int, of: str, shared: bool
) -> tuple[np.ndarray, Axes]:
    """Divide axes into panels, None where none is used, below a line that has their title."""
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
        first = axes[0, 0] if shared else None
        place = grid[columns + i]
        axes.flat[i] = bounding.figure.add_subplot(place, sharex=first, sharey=first)
    heading.set_title(bounding.get_title(loc="left"), loc="left")
    bounding.set_title("", loc="left")
    return axes, heading
