"""What the components of a table are made of, and which entries privacy noise explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from .._text.digits import whole_percent
from ._display import FitDisplay, fitted
from ._noise_of_fits import entry_errors
from ._pipeline_steps import names_before
from ._style import BLUE, DIVERGING, NOISE, check_choice, ink_on, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from matplotlib.patches import Circle
    from matplotlib.text import Annotation

# In standard deviations: noise alone stays within with probability .95.
BRACKET_SDS = 1.96

# Components that are drawn unless others are asked for.
MOST_COMPONENTS = 10
# More cells have no room for numbers.
MOST_VALUES = 320

# Names of features are cut to this.
LONGEST = 28

Kind = Literal["heatmap", "bar", "circle"]
Scaling = Literal["direction", "correlation"]
Sort = Literal["largest", "component"]

SCALES = {
    "direction": "Entry of the component",
    "correlation": "Correlation with the component",
}


@dataclass(kw_only=True, eq=False, repr=False)
class LoadingsDisplay(FitDisplay):
    r"""Entries of the components, by feature, with brackets on what noise alone can explain.

    Use `from_estimator`. It reads released numbers only, so the picture is as private as the fit.
    It draws the 20 features with the largest absolute entries, the largest first. Give
    ``max_features=None`` for all features, and ``sort=None`` for the order of the columns.

    Parameters
    ----------
    loadings : ndarray of shape (n_components, n_features)
        What is drawn: the chosen components and features.
    feature_names : sequence of str
    noise_sd : ndarray of shape (n_components, n_features), optional
        Standard deviation of the privacy noise in every entry; None if unknown.
    explained_variance_ratio : ndarray of shape (n_components,), optional
    component_indices : sequence of int, optional
        Which components these are, counted from 0.
    n_left_out : int, default=0
        How many features are not drawn.
    scaling : {"direction", "correlation"}, default="direction"
        What an entry is.
    reports : sequence of PrivacyReport, default=()
        Of the fit that the numbers came from.
    learned_before : sequence of str, default=()
        Steps of a Pipeline that learned from the records before, so that the guarantee does not
        hold as stated. The title says so, and is red if it is your own.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        For bars, the axes that the panels lie in.
    axes_ : ndarray of Axes
        The panels.
    bounding_ax_ : matplotlib.axes.Axes or None
        Of bars: the axes that are divided; None if you gave one for each component.
    figure_ : matplotlib.figure.Figure
    im_, text_, colorbar_ : AxesImage, ndarray of Text or None, Colorbar or None
        Of the heat map.
    bars_ : list of matplotlib.container.BarContainer
        One for each component.
    arrows_ : list of matplotlib.text.Annotation
    circle_ : matplotlib.patches.Circle

    Notes
    -----
    **Brackets** mark an entry below 1.96 standard deviations of the privacy noise: the same fit
    without noise may have 0 there. They leave out the sampling of the rows and the clipping of
    records.

    The components are eigenvectors :math:`u_i` of a noisy matrix. Let :math:`\theta_i` be its
    eigenvalues and :math:`\tau` the standard deviation of its noise off the diagonal. To first
    order, the noise in entry `l` of component `i` has the variance

    .. math:: \sum_{j \ne i} \left(\frac{\tau}{\theta_i - \theta_j}\right)^2 u_{jl}^2.

    Noise may have widened a gap, so each counts for :math:`\tau` less. Near the edge of the noise
    the first order is too small, so the sum is divided by the component's alignment.

    Of the directions that were left out, `j > k`, only the span is known. Each of them counts with
    :math:`(1 - \sum_{m \le k} u_{ml}^2) / (d - k)` in place of :math:`u_{jl}^2`.

    We measured how many entries of PCA without privacy the bars hold, at epsilon 1, 3 and 10 (means
    of 25 fits each). On the digits with 3 and 5 components they held 90 % to 95 %. Clipping turns
    components by more than the noise where it takes much: of the breast cancer data with public
    scales the bars held 78 % at epsilon 1 and 45 % at epsilon 10.

    The noise of single entries is known for methods that release the whole spectrum of one matrix:
    `DPGauss`, `GDPPCA`, and `ResidualGauss` where more of the matrix pays most. It is not known for
    private scales, whose own noise is not in the formula, for nested subspaces, nor for methods
    that find a subspace step by step. There are no brackets then, and the picture says so.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from skdppca import DPGauss
    >>> from skdppca.plotting import LoadingsDisplay
    >>> X = load_wine(as_frame=True).data
    >>> pca = DPGauss(n_components=2, epsilon=3.0, scale="private").fit(X)
    >>> display = LoadingsDisplay.from_estimator(pca, ax=Figure().subplots())
    >>> display.loadings.shape
    (2, 13)
    """

    loadings: np.ndarray
    feature_names: Sequence[str]
    noise_sd: np.ndarray | None = None
    explained_variance_ratio: np.ndarray | None = None
    component_indices: Sequence[int] | None = None
    n_left_out: int = 0
    scaling: Scaling = "direction"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        components: int | Sequence[int] | None = None,
        max_features: int | None = 20,
        feature_names: Sequence[str] | None = None,
        scaling: Scaling = "direction",
        sort: Sort | None = "largest",
        align_with: Any = None,
        ax: Axes | Sequence[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Plot the entries of the components of a fitted private PCA.

        Parameters
        ----------
        estimator : fitted private PCA or Pipeline
            Of a pipeline, its last private PCA.
        components : int or sequence of int, optional
            An int: that number of leading components. A sequence: which ones, counted from 0. By
            default the first 10.
        max_features : int or None, default=20
            How many features are drawn: those with the largest absolute entries in the drawn
            components. None for all.
        feature_names : sequence of str, optional
            By default the names of the columns that were fitted, or those that the steps of a
            Pipeline give them, if none of these steps learned from the records; else x0, x1 and so
            on.
        scaling : {"direction", "correlation"}, default="direction"
            - "direction": entries of `components_`, whose squares sum to 1 over all features;
            - "correlation": of every feature with the component, under the model of
              `get_covariance`.
        sort : {"largest", "component"} or None, default="largest"
            - "largest": by the largest absolute entry in the drawn components, the largest first;
            - "component": by the component that has this entry, then by its size;
            - None: as the columns were fitted.
        align_with : fitted private PCA or ndarray of shape (n_components, n_features), optional
            Signs are chosen to agree with it. By default the largest entry of each component is
            positive. Only the picture changes.
        ax, options
            As in `plot`.

        Returns
        -------
        LoadingsDisplay

        Raises
        ------
        NotReleasedError
            If `scaling` is "correlation" and the fit released no variances.
        """
        pca = fitted(estimator)
        check_choice("scaling", scaling, *SCALES)
        check_choice("sort", sort, *get_args(Sort), None)
        chosen = _chosen(components, len(pca.components_))
        given = names_before(estimator, pca) if feature_names is None else feature_names
        names = _names(pca, given)
        scale = _correlating(pca) if scaling == "correlation" else np.ones(pca.components_.shape)
        loadings = (_signs(pca, align_with)[:, None] * pca.components_ * scale)[chosen]
        errors = entry_errors(pca)
        shown = _order(loadings, max_features, sort)
        ratio = getattr(pca, "explained_variance_ratio_", None)
        display = cls._of_fit(
            estimator,
            pca,
            loadings=loadings[:, shown],
            feature_names=[names[i] for i in shown],
            noise_sd=None if errors is None else (errors * scale)[np.ix_(chosen, shown)],
            explained_variance_ratio=None if ratio is None else np.asarray(ratio)[chosen],
            component_indices=chosen,
            n_left_out=len(names) - len(shown),
            scaling=scaling,
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        kind: Kind = "heatmap",
        title: str | None = "guarantee",
        cmap: Any = DIVERGING,
        include_values: bool | Literal["auto"] = "auto",
        values_format: str = "+.2f",
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the entries.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of them for bars, optional
            Where to draw. By default in a new figure of pyplot.
        kind : {"heatmap", "bar", "circle"}, default="heatmap"
            - "heatmap": features down, components across;
            - "bar": bars for each component in a panel of its own; pale and hatched where there
              are brackets;
            - "circle": arrows along the first two of the components, in the unit circle. A biplot
              would show rows besides, which are not private.
        title : str or None, default="guarantee"
            By default the guarantee of the fit, unless the axes have a title; None for none.
        cmap : str or Colormap, default="RdBu_r"
            Of the heat map; its middle is 0.
        include_values : bool or "auto", default="auto"
            Whether the cells hold numbers; "auto" where there is room.
        values_format : str, default="+.2f"
            Of these numbers.
        colorbar : bool, default=True
            Whether the heat map has one.
        im_kw, text_kw, bar_kw : dict, optional
            Passed to matplotlib for the heat map, the numbers or names, and the bars.

        Returns
        -------
        LoadingsDisplay
            This one.
        """
        check_choice("kind", kind, *get_args(Kind))
        if kind == "heatmap":
            self._heatmap(ax, cmap, include_values, values_format, colorbar, im_kw, text_kw)
        elif kind == "bar":
            self._bars(ax, bar_kw)
        else:
            self._circle(ax, text_kw)
        self._write_guarantee(title)
        return self

    @property
    def bracketed(self) -> np.ndarray:
        """Which entries privacy noise alone can explain, as an array of the loadings' shape."""
        if self.noise_sd is None:
            return np.zeros(np.shape(self.loadings), dtype=bool)
        return np.abs(self.loadings) < BRACKET_SDS * np.asarray(self.noise_sd)

    @property
    def alt_text_(self) -> str:
        """What the picture shows, in words."""
        parts = []
        for index, row in zip(self._indices, np.asarray(self.loadings), strict=True):
            largest = np.argsort(-np.abs(row), kind="stable")[:3]
            named = ", ".join(f"{self.feature_names[i]} {row[i]:+.2f}" for i in largest)
            parts.append(f"Component {index + 1}: largest entries {named}.")
        if self.noise_sd is not None:
            count = int(self.bracketed.sum())
            parts.append(
                f"Privacy noise alone can explain {count} of {np.size(self.loadings)} entries."
            )
        return " ".join(parts)

    @property
    def _indices(self) -> list[int]:
        if self.component_indices is None:
            return list(range(len(self.loadings)))
        return list(self.component_indices)

    def _heads(self, between: str) -> list[str]:
        """Number and share of every component."""
        heads = [str(index + 1) for index in self._indices]
        if self.explained_variance_ratio is None:
            return heads
        shares = self.explained_variance_ratio
        return [
            f"{head}{between}{whole_percent(share)}"
            for head, share in zip(heads, shares, strict=True)
        ]

    def _label(self, ax: Axes, text: str, bars: bool = False) -> None:
        """Label the horizontal axis; below it, what is not drawn and what the brackets are."""
        lines, noisy = [text], self.noise_sd is not None and bool(np.any(self.noise_sd))
        if self.n_left_out:
            features = "feature" + "s" * (self.n_left_out > 1)
            lines.append(f"{self.n_left_out} more {features}, with smaller entries")
        if self.noise_sd is None:
            lines += ["no brackets: this fit does not", "give the noise of single entries"]
        elif bars and noisy:
            lines.append("line: 95 % of the privacy noise")
            if self.bracketed.any():
                lines.append("hatched: noise alone can explain it")
        elif self.bracketed.any():
            lines.append("in brackets: privacy noise")
            lines.append("alone can explain the entry")
        elif noisy:
            lines.append("privacy noise explains no entry")
        ax.set_xlabel("\n".join(lines), fontsize="small")

    def _heatmap(
        self,
        ax: Any,
        cmap: Any,
        include_values: bool | Literal["auto"],
        values_format: str,
        colorbar: bool,
        im_kw: dict[str, Any] | None,
        text_kw: dict[str, Any] | None,
    ) -> None:
        from matplotlib.image import AxesImage
        from matplotlib.text import Text

        loadings, bracketed = np.asarray(self.loadings), self.bracketed
        k, n = loadings.shape
        ax = self._take_axes(ax, max(4.6, 2.9 + 0.62 * k), max(2.2, 1.5 + 0.27 * n))
        most = max(float(np.abs(loadings).max()), 1e-300)
        defaults = {"cmap": cmap, "vmin": -most, "vmax": most, "aspect": "auto"}
        self.im_: AxesImage = ax.imshow(loadings.T, **styled(defaults, im_kw, AxesImage))
        ax.set_xticks(range(k), self._heads("\n"))
        ax.set_yticks(range(n), [short(name, LONGEST) for name in self.feature_names])
        self._label(ax, "Component")
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        self.text_: np.ndarray | None = None
        with_values = loadings.size <= MOST_VALUES if include_values == "auto" else include_values
        if with_values or bracketed.any():
            self.text_ = np.full((n, k), None, dtype=object)
            for (i, l), value in np.ndenumerate(loadings):  # noqa: E741
                number = format(value, values_format) if with_values else ""
                if number or bracketed[i, l]:
                    style = {
                        "ha": "center",
                        "va": "center",
                        "fontsize": 8,
                        "color": ink_on(self.im_.to_rgba(value)),
                    }
                    self.text_[l, i] = ax.text(
                        i,
                        l,
                        f"({number or '  '})" if bracketed[i, l] else number,
                        **styled(style, text_kw, Text),
                    )
        self.colorbar_: Colorbar | None = None
        if colorbar:
            self.colorbar_ = ax.figure.colorbar(self.im_, ax=ax, fraction=0.08, aspect=30)
            self.colorbar_.set_label(SCALES[self.scaling], fontsize="small")
            self.colorbar_.outline.set_visible(False)

    def _bars(self, ax: Any, bar_kw: dict[str, Any] | None) -> None:
        from matplotlib.patches import Patch

        loadings, bracketed = np.asarray(self.loadings), self.bracketed
        k, n = loadings.shape

        def size(rows: int, columns: int) -> tuple[float, float]:
            return max(5.0, 2.0 + 1.35 * columns), max(2.4, 1.5 + 0.24 * n)

        panels = self._take_panels(ax, k, k, size, of="components", share=(True, True))
        first = panels[0]
        self.ax_ = first if self.bounding_ax_ is None else self.bounding_ax_
        self.bars_: list[BarContainer] = []
        most = 1.1 * max(float(np.abs(loadings).max()), 1e-300)
        heads = self._heads(": ")
        for i, panel in enumerate(panels):
            bars = panel.barh(
                np.arange(n),
                loadings[i],
                xerr=None if self.noise_sd is None else BRACKET_SDS * np.asarray(self.noise_sd)[i],
                error_kw={"elinewidth": 0.9, "ecolor": NOISE},
                **styled({"color": BLUE, "height": 0.7}, bar_kw, Patch),
            )
            for bar in np.asarray(bars.patches, dtype=object)[bracketed[i]]:
                bar.set(facecolor="white", edgecolor=NOISE, hatch="////", linewidth=0.6)
            self.bars_.append(bars)
            panel.axvline(0, color="black", linewidth=0.8)
            panel.set_title(heads[i], fontsize="small")
            panel.spines[["top", "right", "left"]].set_visible(False)
            panel.tick_params("y", length=0, labelleft=i == 0)
            panel.tick_params("x", labelsize="small")
        first.set_yticks(range(n), [short(name, LONGEST) for name in self.feature_names])
        first.set_ylim(n - 0.4, -0.6)
        first.set_xlim(-most, most)
        tick = float(f"{0.6 * most:.0e}")
        first.set_xticks([-tick, 0, tick], [f"{-tick:g}", "0", f"{tick:g}"])
        self._label(panels[len(panels) // 2], SCALES[self.scaling], bars=True)

    def _circle(self, ax: Any, text_kw: dict[str, Any] | None) -> None:
        from matplotlib.patches import Circle
        from matplotlib.text import Text

        loadings, bracketed = np.asarray(self.loadings), self.bracketed
        if len(loadings) < 2:
            raise ValueError(
                "kind='circle' shows two components, and there is one; use kind='bar' instead"
            )
        ax = self._take_axes(ax, 7.0, 5.4)
        self.circle_: Circle = ax.add_patch(
            Circle((0, 0), 1, fill=False, color=NOISE, linewidth=0.8)
        )
        ax.axhline(0, color=NOISE, linewidth=0.5)
        ax.axvline(0, color=NOISE, linewidth=0.5)
        self.arrows_: list[Annotation] = []
        points = loadings[:2].T
        places = _beside(points)
        for l, (point, place) in enumerate(zip(points, places, strict=True)):  # noqa: E741
            noisy = bool(bracketed[:2, l].all())
            colour = NOISE if noisy else BLUE
            self.arrows_.append(
                ax.annotate(
                    "",
                    point,
                    (0, 0),
                    arrowprops={"arrowstyle": "->", "color": colour, "shrinkA": 0, "shrinkB": 0},
                )
            )
            name = short(self.feature_names[l], LONGEST)
            style = {
                "ha": "left" if place[0] > 0 else "right",
                "va": "center",
                "fontsize": 8,
                "color": colour,
            }
            ax.plot(
                [point[0], place[0]], [point[1], place[1]], color=NOISE, linewidth=0.4, alpha=0.6
            )
            ax.text(*place, f"({name})" if noisy else name, **styled(style, text_kw, Text))
        heads = self._heads(", ")
        self._label(ax, f"Component {heads[0]}")
        ax.set_ylabel(f"Component {heads[1]}", fontsize="small")
        ax.set(xlim=(-2.1, 2.1), ylim=(-1.2, 1.2), aspect="equal")
        ax.set_xticks([-1, -0.5, 0, 0.5, 1])
        ax.tick_params(length=0, labelsize="small")
        ax.spines[:].set_visible(False)

    def _take_axes(self, ax: Axes | None, width: float, height: float) -> Axes:
        self.axes_ = np.array([[super()._take_axes(ax, width, height)]], dtype=object)
        return self.ax_


def _chosen(components: int | Sequence[int] | None, k: int) -> list[int]:
    """Which components are drawn, counted from 0."""
    if components is None:
        return list(range(min(k, MOST_COMPONENTS)))
    several: Any = range(int(components)) if isinstance(components, Integral) else components
    chosen = [int(i) for i in several]
    if not chosen or not all(0 <= i < k for i in chosen):
        raise ValueError(
            f"components={components!r} are not among the {k} that were released; give a number "
            f"up to {k}, or indices from 0 to {k - 1}"
        )
    return chosen


def _names(pca: Any, given: Sequence[str] | None) -> list[str]:
    d = pca.n_features_in_
    names = getattr(pca, "feature_names_in_", None) if given is None else given
    names = [f"x{i}" for i in range(d)] if names is None else [str(name) for name in names]
    if len(names) != d:
        raise ValueError(
            f"feature_names has {len(names)} names for {d} features; give one for each"
        )
    return names


def _signs(pca: Any, other: Any) -> np.ndarray:
    """Signs of the components: those of another fit, or such that the largest entry is positive."""
    components = np.asarray(pca.components_, dtype=float)
    if other is None:
        places = np.argmax(np.abs(components), axis=1)
        leading = np.take_along_axis(components, places[:, None], axis=1)[:, 0]
    else:
        target = np.asarray(other if isinstance(other, np.ndarray) else fitted(other).components_)
        if target.ndim != 2 or target.shape[1] != components.shape[1]:
            raise ValueError(
                f"align_with has the shape {target.shape}, but there are {components.shape[1]} "
                "features; give a fit to the same columns"
            )
        both = min(len(target), len(components))
        leading = np.ones(len(components))
        leading[:both] = np.sum(components[:both] * target[:both], axis=1)
    return np.where(leading < 0, -1.0, 1.0)


def _correlating(pca: Any) -> np.ndarray:
    """What makes an entry a correlation: sd of the component over that of the feature."""
    components = np.asarray(pca.components_, dtype=float)
    variances = np.asarray(pca.explained_variance_, dtype=float)
    rest = float(pca.noise_variance_)
    signal = np.maximum(variances - rest, 0.0)
    features = signal @ components**2 + rest
    return np.sqrt(variances)[:, None] / np.sqrt(np.maximum(features, np.finfo(float).tiny))


def _order(loadings: np.ndarray, most: int | None, sort: Sort | None) -> list[int]:
    """Which features are drawn, from first to last."""
    sizes = np.abs(loadings).max(axis=0)
    shown = np.argsort(-sizes, kind="stable")[:most]
    if sort is None:
        shown = np.sort(shown)
    elif sort == "component":
        owner = np.abs(loadings).argmax(axis=0)
        shown = shown[np.argsort(owner[shown], kind="stable")]
    return [int(i) for i in shown]


def _beside(points: np.ndarray) -> np.ndarray:
    """Places of names on the two sides of the circle, so far apart that none covers another."""
    places = np.empty_like(points)
    for side in (-1, 1):
        own = np.flatnonzero(np.where(points[:, 0] >= 0, 1, -1) == side)
        own = own[np.argsort(points[own, 1], kind="stable")]
        heights, step = points[own, 1].copy(), min(0.11, 2.3 / max(len(own), 1))
        for i in range(1, len(own)):
            heights[i] = max(heights[i], heights[i - 1] + step)
        if len(own):  # back into the picture, from the top
            heights[-1] = min(heights[-1], 1.15)
        for i in range(len(own) - 2, -1, -1):
            heights[i] = min(heights[i], heights[i + 1] - step)
        places[own] = np.column_stack([np.full(len(own), 1.12 * side), heights])
    return places
