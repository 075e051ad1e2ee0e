"""A projection map as a heat map."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from ..maps import ProjectionMap
from ..privacy import PrivacyReport
from ._display import Display, guarantee
from ._style import NOISE, WARNING, as_written, styled

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
    counts, edges, components, classes, threshold, outside, noise_sd
        As in `skdppca.maps.ProjectionMap`.
    reports : sequence of PrivacyReport, default=()
        Of the map.

    Attributes
    ----------
    axes_ : ndarray of Axes
        None where no panel is.
    bounding_ax_ : matplotlib.axes.Axes or None
        The axes that they lie in; None if you gave one for each class.
    figure_ : matplotlib.figure.Figure
    meshes_ : list of matplotlib.collections.QuadMesh
    colorbar_ : matplotlib.colorbar.Colorbar, list of them, or None
        A list if every panel has a scale of its own.

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

    counts: np.ndarray
    edges: tuple[np.ndarray, np.ndarray]
    components: tuple[int, int]
    classes: Sequence[Hashable] | None = None
    threshold: float
    outside: np.ndarray
    noise_sd: float

    @classmethod
    def from_map(
        cls, found: ProjectionMap, *, ax: Axes | Sequence[Axes] | None = None, **options: Any
    ) -> Self:
        """Plot a projection map.

        Parameters
        ----------
        found : ProjectionMap
            From `skdppca.maps.projection_map`.
        ax, options
            As in `plot`.

        Returns
        -------
        ProjectionMapDisplay
        """
        display = cls(
            counts=found.counts,
            edges=found.edges,
            components=found.components,
            classes=found.classes,
            threshold=found.threshold,
            outside=found.outside,
            noise_sd=found.noise_sd,
            reports=(found.privacy_,),
        )
        return display.plot(ax, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, *args: Any, **options: Any) -> NoReturn:
        """Refuse: a map is a release of its own, which spends budget. Use `from_map`."""
        raise TypeError(
            "a map spends budget, which a fit does not hold; call found = "
            "skdppca.maps.projection_map(pca, X, epsilon=1.0) first, and then "
            "ProjectionMapDisplay.from_map(found)"
        )

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        cmap: Any = "YlGnBu",
        n_columns: int = 5,
        shared_scale: bool = True,
        colorbar: bool = True,
        title: str | None = "guarantee",
        mesh_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of them, optional
            Axes to be divided, or one for each class. By default a new figure of pyplot.
        cmap : str or Colormap, default="YlGnBu"
            From few to many; its palest eighth is not used, as it looks like a blank cell.
        n_columns : int, default=5
            The most classes side by side.
        shared_scale : bool, default=True
            Whether all classes have one colour scale. If not, shares within a class can be
            compared, and not the classes.
        colorbar : bool, default=True
            Whether there is one, or one for each panel with its own scale.
        title : str or None, default="guarantee"
            By default the guarantee of the map and that of its axes; None for none.
        mesh_kw : dict, optional
            Passed to matplotlib for the cells.

        Returns
        -------
        ProjectionMapDisplay
            This one.
        """
        from matplotlib.collections import QuadMesh

        counts = np.asarray(self.counts).reshape(-1, *np.shape(self.counts)[-2:])
        n = len(counts)
        with np.errstate(over="ignore"):
            ratio = float(np.ptp(self.edges[1]) / np.ptp(self.edges[0]))
        side = 5.2 if n == 1 else 2.6
        tall = side * min(max(ratio, FLATTEST), TALLEST)

        def size(rows: int, columns: int) -> tuple[float, float]:
            return side * columns + 1.0, tall * rows + 0.9

        panels = self._take_panels(ax, n, n_columns, size, of="classes", share=(True, True))
        self.meshes_: list[QuadMesh] = []
        columns = self.axes_.shape[1]
        for i, panel in enumerate(panels):
            # The colours end above the threshold, even if no count does.
            most = max(float((counts if shared_scale else counts[i]).max()), self.threshold + 1.0)
            seen = np.ma.masked_less(counts[i].T, self.threshold)
            style = {"cmap": _colours(cmap), "vmin": 0.0, "vmax": most}
            self.meshes_.append(
                panel.pcolormesh(*self.edges, seen, **styled(style, mesh_kw, QuadMesh))
            )
            panel.set_facecolor(EMPTY)
            panel.set_aspect("equal" if FLATTEST <= ratio <= TALLEST else "auto")
            panel.spines[["top", "right"]].set_visible(False)
            if i % columns == 0:
                panel.set_ylabel(f"Component {self.components[1] + 1}")
            if i + columns >= n:
                panel.set_xlabel(f"Component {self.components[0] + 1}")
            if self.bounding_ax_ is not None:
                panel.tick_params(labelleft=i % columns == 0, labelbottom=i + columns >= n)
            if self.classes is not None:
                panel.set_title(as_written(f"class {self.classes[i]}"), fontsize="medium")
        self.colorbar_: Colorbar | list[Colorbar] | None = None
        if colorbar and shared_scale:
            self.colorbar_ = self._bar(self.meshes_[0], panels)
            self._label(self.colorbar_)
        elif colorbar:
            self.colorbar_ = [
                self._bar(mesh, [panel]) for mesh, panel in zip(self.meshes_, panels, strict=True)
            ]
        if self.reports and (self.bounding_ax_ is not None or self.classes is None):
            self._write_title(title, _title(self.reports[0]), self._private)
        return self

    @property
    def alt_text_(self) -> str:
        """What the picture shows, in words."""
        counts = np.asarray(self.counts)
        above = int(np.sum(counts >= self.threshold))
        first, second = (component + 1 for component in self.components)
        return (
            f"Noisy histogram along components {first} and {second}: {above} of {counts.size} "
            f"cells hold more than noise (sd {self.noise_sd:.2g}); the fullest holds about "
            f"{round(float(counts.max()))} records."
        )

    def _bar(self, mesh: QuadMesh, axes: list[Axes]) -> Colorbar:
        bar = self.figure_.colorbar(mesh, ax=axes, fraction=0.05, aspect=25, shrink=0.9)
        if self.threshold > 0:
            bar.ax.axhspan(0.0, self.threshold, color=EMPTY)
            bar.ax.axhline(self.threshold, color=NOISE, linewidth=0.8)
        return bar

    def _label(self, bar: Colorbar) -> None:
        unit = self.reports[0].unit if self.reports else "row"
        who = "records" if unit == "row" else as_written(f"{unit}s")
        n, outside = np.size(self.outside), round(float(np.sum(self.outside)))
        bar.set_label(
            f"Noisy number of {who} (noise: sd {self.noise_sd:.2g})\n"
            f"outside of all cells: {outside} (sd {self.noise_sd * math.sqrt(n):.2g})"
            + ("" if self._private else "; NOT PRIVATE"),
            fontsize="small",
            color="black" if self._private else WARNING,
        )


def _colours(cmap: Any) -> Any:
    """Return a colour map whose lightest colour can be told from a blank cell."""
    from matplotlib import colormaps
    from matplotlib.colors import Colormap, ListedColormap

    whole = cmap if isinstance(cmap, Colormap) else colormaps[cmap]
    return ListedColormap(whole(np.linspace(0.12, 1.0, 256)))


def _title(report: PrivacyReport) -> str:
    details = report.details
    axes = f"{details['axes']}, $\\varepsilon$ = {details['axes_epsilon']:g}, "
    axes += f"$\\delta$ = {details['axes_delta']:g}"
    if (details["axes_unit"], details["axes_adjacency"]) != (report.unit, report.adjacency):
        axes += f" for every {as_written(details['axes_unit'])}, {details['axes_adjacency']}"
    return f"{guarantee('Projection map', report)}\non top of what its axes cost ({axes})"
