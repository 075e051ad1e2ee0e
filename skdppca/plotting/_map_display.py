"""A projection map as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..maps import ProjectionMap
from ..privacy import PrivacyReport
from ._display import NOISE, WARNING, Display, as_written, guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colorbar import Colorbar

# Cells whose count may be noise alone have this colour.
EMPTY = "#f2f2f2"

# Outside of these ratios of height to width, the two components have different scales.
FLATTEST = 0.4
TALLEST = 1.6


@dataclass(kw_only=True, eq=False, repr=False)
class ProjectionMapDisplay(Display):
    """A projection map, one panel for each class, on one colour scale.

    Use `from_map`. Darker cells hold more records. Cells below the threshold are blank: if all
    cells were empty, the noise of about one of them would exceed the threshold. The colour bar's
    label gives the number of records outside of all cells. Only the map is read, so the picture is
    as private as the map.

    Both components have the same scale, unless the second one's extent is more than 1.6 times the
    first one's, or the first one's more than 2.5 times the second one's.

    Parameters
    ----------
    found : skdppca.maps.ProjectionMap

    Attributes
    ----------
    axes_ : ndarray of Axes
        None where no panel is.
    bounding_ax_ : matplotlib.axes.Axes or None
        The axes that they lie in; None if you gave one for each class.
    figure_ : matplotlib.figure.Figure
    meshes_ : list of matplotlib.collections.QuadMesh
    colorbar_ : matplotlib.colorbar.Colorbar

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss, maps
    >>> from skdppca.plotting import ProjectionMapDisplay
    >>> X = load_digits().data
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(X)
    >>> found = maps.projection_map(pca, X, epsilon=1.0, delta=1e-6, bins=12)
    >>> ax = Figure(layout="constrained").subplots()
    >>> display = ProjectionMapDisplay.from_map(found, ax=ax)
    >>> display.axes_[0, 0].get_xlabel()
    'Component 1'
    """

    found: ProjectionMap

    @classmethod
    def from_map(
        cls,
        found: ProjectionMap,
        *,
        ax: Axes | Sequence[Axes] | None = None,
        title: str | None = "guarantee",
    ) -> Self:
        """Plot a projection map.

        Parameters
        ----------
        found : ProjectionMap
            From `skdppca.maps.projection_map`.
        ax, title
            See `plot`.

        Returns
        -------
        ProjectionMapDisplay
        """
        return cls(found=found).plot(ax, title=title)

    def plot(
        self, ax: Axes | Sequence[Axes] | None = None, *, title: str | None = "guarantee"
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of them, optional
            Axes to be divided, or one for each class. By default a new figure of pyplot.
        title : str or None, default="guarantee"
            By default the guarantee of the map and that of its axes; None for none.

        Returns
        -------
        ProjectionMapDisplay
            This one.
        """
        counts = np.asarray(self.found.counts).reshape(-1, *np.shape(self.found.counts)[-2:])
        n = len(counts)
        with np.errstate(over="ignore"):
            ratio = float(np.ptp(self.found.edges[1]) / np.ptp(self.found.edges[0]))
        side = 5.2 if n == 1 else 2.6
        tall = side * min(max(ratio, FLATTEST), TALLEST)
        panels = self._take_panels(ax, n, side, tall, of="classes", shared=True)
        self.meshes_: list[QuadMesh] = []
        columns = self.axes_.shape[1]
        # The colours end above the threshold, even if no count does.
        most = max(float(counts.max()), self.found.threshold + 1.0)
        style: dict[str, Any] = {"cmap": _colours(), "vmin": 0.0, "vmax": most}
        for i, panel in enumerate(panels):
            seen = np.ma.masked_less(counts[i].T, self.found.threshold)
            self.meshes_.append(panel.pcolormesh(*self.found.edges, seen, **style))
            panel.set_facecolor(EMPTY)
            panel.set_aspect("equal" if FLATTEST <= ratio <= TALLEST else "auto")
            panel.spines[["top", "right"]].set_visible(False)
            if i % columns == 0:
                panel.set_ylabel(f"Component {self.found.components[1] + 1}")
            if i + columns >= n:
                panel.set_xlabel(f"Component {self.found.components[0] + 1}")
            if self.bounding_ax_ is not None:
                panel.tick_params(labelleft=i % columns == 0, labelbottom=i + columns >= n)
            if self.found.classes is not None:
                panel.set_title(as_written(f"class {self.found.classes[i]}"), fontsize="medium")
        self.colorbar_: Colorbar = self._bar(self.meshes_[0], panels)
        if self.bounding_ax_ is not None or self.found.classes is None:
            report = self.found.privacy_
            self._write_title(title, _title(report), report.private)
        return self

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        counts = np.asarray(self.found.counts)
        above = int(np.sum(counts >= self.found.threshold))
        first, second = (component + 1 for component in self.found.components)
        return (
            f"Noisy histogram along components {first} and {second}: {above} of {counts.size} "
            f"cells hold more than noise (sd {self.found.noise_sd:.2g}); the fullest holds about "
            f"{round(float(counts.max()))} records."
        )

    def _bar(self, mesh: QuadMesh, axes: list[Axes]) -> Colorbar:
        bar = self.figure_.colorbar(mesh, ax=axes, fraction=0.05, aspect=25, shrink=0.9)
        if self.found.threshold > 0:
            bar.ax.axhspan(0.0, self.found.threshold, color=EMPTY)
            bar.ax.axhline(self.found.threshold, color=NOISE, linewidth=0.8)
        report = self.found.privacy_
        who = "records" if report.unit == "row" else as_written(f"{report.unit}s")
        n, outside = np.size(self.found.outside), round(float(np.sum(self.found.outside)))
        bar.set_label(
            f"Noisy number of {who} (noise: sd {self.found.noise_sd:.2g})\n"
            f"outside of all cells: {outside} (sd {self.found.noise_sd * math.sqrt(n):.2g})"
            + ("" if report.private else "; NOT PRIVATE"),
            fontsize="small",
            color="black" if report.private else WARNING,
        )
        return bar


def _colours() -> Any:
    """Return a colour map whose lightest colour can be told from a blank cell."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["YlGnBu"](np.linspace(0.12, 1.0, 256)))


def _title(report: PrivacyReport) -> str:
    details = report.details
    axes = f"{details['axes']}, ε = {details['axes_epsilon']:g}, "
    axes += f"δ = {details['axes_delta']:g}"
    if (details["axes_unit"], details["axes_adjacency"]) != (report.unit, report.adjacency):
        axes += f" for every {as_written(details['axes_unit'])}, {details['axes_adjacency']}"
    return f"{guarantee('Projection map', report)}\non top of what its axes cost ({axes})"
