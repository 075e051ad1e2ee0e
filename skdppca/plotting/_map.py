"""A projection map as a heat map."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..maps import ProjectionMap
from ._common import WARNING, as_written, figure, guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["projection_map"]

# Cells whose count may be noise alone have this colour.
EMPTY = "#f2f2f2"

MAPS_A_ROW = 5

# Outside of these ratios of height to width, the two components have different scales.
FLATTEST, TALLEST = 0.4, 1.6


def projection_map(found: ProjectionMap, axes: np.ndarray | list[Axes] | None = None) -> Figure:
    """Draw a projection map, one panel for each class, on one colour scale.

    Darker cells hold more records. Cells below ``found.threshold`` are blank: if all cells were
    empty, the noise of about one of them would exceed the threshold. The label of the colour bar
    gives the number of records outside of all cells. Only the map is read, so the picture is as
    private as the map.

    Both components have the same scale, unless the second one's extent is more than 1.6 times the
    first one's, or the first one's more than 2.5 times the second one's.

    Parameters
    ----------
    found : ProjectionMap
        From `skdppca.maps.projection_map`.
    axes : array of matplotlib.axes.Axes, optional
        Where to draw, one class in each. By default in a new figure outside of pyplot. Your own
        axes get no title if there are several classes: add ``found.privacy_.guarantee()``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are fewer axes than classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca import maps, plotting
    >>> X = load_digits().data
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(X)
    >>> found = maps.projection_map(pca, X, epsilon=1.0, delta=1e-6, bins=12)
    >>> plotting.projection_map(found).axes[0].get_xlabel()
    'Component 1'
    """
    counts = found.counts.reshape(-1, *found.counts.shape[-2:])
    n, report = len(counts), found.privacy_
    rows = math.ceil(n / MAPS_A_ROW)
    columns = math.ceil(n / rows)
    alone = axes is None
    with np.errstate(over="ignore"):
        ratio = float(np.ptp(found.edges[1]) / np.ptp(found.edges[0]))
    if axes is None:
        side = 5.2 if n == 1 else 2.6
        tall = side * min(max(ratio, FLATTEST), TALLEST)
        axes = figure(side * columns + 1.0, tall * rows + 0.9).subplots(
            rows, columns, squeeze=False, sharex=True, sharey=True
        )
    axes = np.asarray(axes, dtype=object).ravel()
    if len(axes) < n:
        raise ValueError(f"axes has {len(axes)} axes for {n} classes; give one for each")
    # The colours end above the threshold, even if no count does.
    most = max(float(counts.max()), found.threshold + 1.0)
    for i, ax in enumerate(axes):
        if i >= n:
            ax.remove()
            continue
        seen = np.ma.masked_less(counts[i].T, found.threshold)
        mesh = ax.pcolormesh(*found.edges, seen, cmap=_colours(), vmin=0.0, vmax=most)
        ax.set_facecolor(EMPTY)
        ax.set_aspect("equal" if FLATTEST <= ratio <= TALLEST else "auto")
        ax.spines[["top", "right"]].set_visible(False)
        if i % columns == 0:
            ax.set_ylabel(f"Component {found.components[1] + 1}")
        if i + columns >= n:
            ax.set_xlabel(f"Component {found.components[0] + 1}")
            ax.tick_params(labelbottom=True)
        if found.classes is not None:
            ax.set_title(as_written(found.classes[i]), fontsize="medium")
    sheet = axes[0].figure
    bar = sheet.colorbar(mesh, ax=list(axes[:n]), fraction=0.05, aspect=25, shrink=0.9)
    who = "records" if report.unit == "row" else as_written(f"{report.unit}s")
    colour = {} if report.private else {"color": WARNING}
    warning = "" if report.private else "; NOT PRIVATE"
    bar.set_label(
        f"Noisy number of {who} (noise: sd {found.noise_sd:.2g})\n"
        f"outside of all cells: {round(float(found.outside.sum()))} "
        f"(sd {found.noise_sd * math.sqrt(n):.2g}){warning}",
        fontsize="small",
        **colour,
    )
    if found.threshold > 0:
        bar.ax.axhspan(0.0, found.threshold, color=EMPTY)
        bar.ax.axhline(found.threshold, color="#7a7a7a", linewidth=0.8)
    if alone or found.classes is None:
        told = axes[0].set_title if not alone else sheet.suptitle
        place = {"x": 0.01, "ha": "left"} if alone else {"loc": "left"}
        told(_title(found), fontsize="medium", wrap=True, **place, **colour)
    return sheet


def _colours() -> Any:
    """Return a colour map whose lightest colour can be told from a blank cell."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["YlGnBu"](np.linspace(0.12, 1.0, 256)))


def _title(found: ProjectionMap) -> str:
    report, told = found.privacy_, found.privacy_.details
    axes = f"{told['axes']}, $\\varepsilon$ = {told['axes_epsilon']:g}, "
    axes += f"$\\delta$ = {told['axes_delta']:g}"
    if (told["axes_unit"], told["axes_adjacency"]) != (report.unit, report.adjacency):
        axes += f" for every {as_written(told['axes_unit'])}, {told['axes_adjacency']}"
    return f"{guarantee('Projection map', report)}\nbesides its axes ({axes})"
