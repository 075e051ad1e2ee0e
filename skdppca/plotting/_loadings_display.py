"""Loadings of a table's components, and the entries that privacy noise explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from .._text.digits import whole_percent
from ._display import DIVERGING, FitDisplay, check_choice, fitted, ink_on, short
from ._noise_of_fits import BAR_SDS, entry_errors
from ._pipeline_steps import names_before

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.image import AxesImage

# Components that are drawn unless others are asked for.
MOST_COMPONENTS = 10
# More cells have no room for numbers.
MOST_VALUES = 320

# Names of features are cut to this.
LONGEST = 28

Sort = Literal["largest", "component"]


@dataclass(kw_only=True, eq=False, repr=False)
class LoadingsDisplay(FitDisplay):
    r"""Entries of the components, by feature, with brackets on what noise alone can explain.

    Use `from_estimator`. It reads released numbers only, so the picture is as private as the fit.
    It draws the 20 features with the largest absolute entries, the largest first. Give
    ``max_features=None`` for all features, and ``sort=None`` for the order of the columns.

    Parameters
    ----------
    loadings : ndarray of shape (n_components, n_features)
        What is drawn: the leading components, at the chosen features.
    feature_names : sequence of str
    noise_sd : ndarray of shape (n_components, n_features), optional
        Standard deviation of the privacy noise in every entry; None if unknown.
    explained_variance_ratio : ndarray of shape (n_components,), optional
    n_left_out : int, default=0
        How many features are not drawn.
    reports : sequence of PrivacyReport, default=()
        Report of the fit that the numbers came from.
    learned_before : sequence of str, default=()
        Steps of a Pipeline that learned from the records before, so that the guarantee does not
        hold as stated. The title says so, and is red if it is your own.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    im_ : matplotlib.image.AxesImage
    text_ : ndarray of matplotlib.text.Text
        None where nothing is written.
    colorbar_ : matplotlib.colorbar.Colorbar

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

    For the directions that were left out, `j > k`, only the span is known. Each of them counts with
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
    n_left_out: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        components: int = MOST_COMPONENTS,
        max_features: int | None = 20,
        feature_names: Sequence[str] | None = None,
        sort: Sort | None = "largest",
        ax: Axes | None = None,
        title: str | None = "guarantee",
    ) -> Self:
        """Plot the entries of the components of a fitted private PCA.

        Parameters
        ----------
        estimator : fitted private PCA or Pipeline
            If it is a pipeline, its last private PCA is drawn.
        components : int, default=10
            The most components that are drawn, from the first one on. The largest entry of each is
            drawn as positive.
        max_features : int or None, default=20
            How many features are drawn: those with the largest absolute entries in the drawn
            components. None for all.
        feature_names : sequence of str, optional
            By default the names of the columns that were fitted, or those that the steps of a
            Pipeline give them, if none of these steps learned from the records; else x0, x1 and so
            on.
        sort : {"largest", "component"} or None, default="largest"
            - "largest": by the largest absolute entry in the drawn components, the largest first;
            - "component": by the component that has this entry, then by its size;
            - None: as the columns were fitted.
        ax, title
            See `plot`.

        Returns
        -------
        LoadingsDisplay
        """
        pca = fitted(estimator)
        check_choice("sort", sort, *get_args(Sort), None)
        if components < 1:
            raise ValueError(f"components={components!r} shows nothing; give at least 1")
        given = names_before(estimator, pca) if feature_names is None else feature_names
        names = _names(pca, given)
        loadings = np.asarray(pca.components_, dtype=float)[:components]
        largest = loadings[np.arange(len(loadings)), np.abs(loadings).argmax(axis=1)]
        loadings = np.where(largest < 0, -1.0, 1.0)[:, None] * loadings
        errors = entry_errors(pca)
        shown = _order(loadings, max_features, sort)
        ratio = getattr(pca, "explained_variance_ratio_", None)
        display = cls._of_fit(
            estimator,
            pca,
            loadings=loadings[:, shown],
            feature_names=[names[i] for i in shown],
            noise_sd=None if errors is None else errors[: len(loadings), shown],
            explained_variance_ratio=None if ratio is None else np.asarray(ratio)[:components],
            n_left_out=len(names) - len(shown),
        )
        return display.plot(ax, title=title)

    def plot(self, ax: Axes | None = None, *, title: str | None = "guarantee") -> Self:
        """Draw the entries: features down, components across.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default in a new figure of pyplot.
        title : str or None, default="guarantee"
            By default the guarantee of the fit, unless the axes have a title; None for none.

        Returns
        -------
        LoadingsDisplay
            This one.
        """
        loadings, bracketed = np.asarray(self.loadings), self.bracketed
        k, n = loadings.shape
        ax = self._take_axes(ax, max(4.6, 2.9 + 0.62 * k), max(2.2, 1.5 + 0.27 * n))
        most = max(float(np.abs(loadings).max()), 1e-300)
        style: dict[str, Any] = {"cmap": DIVERGING, "vmin": -most, "vmax": most, "aspect": "auto"}
        self.im_: AxesImage = ax.imshow(loadings.T, **style)
        ax.set_xticks(range(k), self._heads())
        ax.set_yticks(range(n), [short(name, LONGEST) for name in self.feature_names])
        ax.set_xlabel("\n".join(["Component", *self._below()]), fontsize="small")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        self.text_ = np.full((n, k), None, dtype=object)
        with_values = loadings.size <= MOST_VALUES
        for (i, l), value in np.ndenumerate(loadings):  # noqa: E741
            number = f"{value:+.2f}" if with_values else "  "
            if with_values or bracketed[i, l]:
                self.text_[l, i] = ax.text(
                    i,
                    l,
                    f"({number})" if bracketed[i, l] else number,
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=ink_on(self.im_.to_rgba(value)),
                )
        self.colorbar_: Colorbar = self.figure_.colorbar(self.im_, ax=ax, fraction=0.08, aspect=30)
        self.colorbar_.set_label("Entry of the component", fontsize="small")
        self.colorbar_.outline.set_visible(False)
        self._write_guarantee(title)
        return self

    @property
    def bracketed(self) -> np.ndarray:
        """Mask of the entries that privacy noise alone can explain, in the loadings' shape."""
        if self.noise_sd is None:
            return np.zeros(np.shape(self.loadings), dtype=bool)
        return np.abs(self.loadings) < BAR_SDS * np.asarray(self.noise_sd)

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        parts = []
        for index, row in enumerate(np.asarray(self.loadings)):
            largest = np.argsort(-np.abs(row), kind="stable")[:3]
            named = ", ".join(f"{self.feature_names[i]} {row[i]:+.2f}" for i in largest)
            parts.append(f"Component {index + 1}: largest entries {named}.")
        if self.noise_sd is not None and not self._exact:
            count = int(self.bracketed.sum())
            parts.append(
                f"Privacy noise alone can explain {count} of {np.size(self.loadings)} entries."
            )
        return " ".join(parts)

    def _heads(self) -> list[str]:
        """Number and share of every component."""
        heads = [str(index + 1) for index in range(len(self.loadings))]
        if self.explained_variance_ratio is None:
            return heads
        shares = map(whole_percent, self.explained_variance_ratio)
        return [f"{head}\n{share}" for head, share in zip(heads, shares, strict=True)]

    def _below(self) -> list[str]:
        """Name the entries that are not drawn, and explain the brackets."""
        lines = []
        if self.n_left_out:
            features = "feature" + "s" * (self.n_left_out > 1)
            lines.append(f"{self.n_left_out} more {features}, with smaller entries")
        if self.noise_sd is None:
            lines += ["no brackets: this fit does not", "give the noise of single entries"]
        elif self.bracketed.any():
            lines += ["in brackets: privacy noise", "alone can explain the entry"]
        elif np.any(self.noise_sd):
            lines.append("privacy noise explains no entry")
        return lines


def _names(pca: Any, given: Sequence[str] | None) -> list[str]:
    d = pca.n_features_in_
    names = getattr(pca, "feature_names_in_", None) if given is None else given
    names = [f"x{i}" for i in range(d)] if names is None else [str(name) for name in names]
    if len(names) != d:
        raise ValueError(
            f"feature_names has {len(names)} names for {d} features; give one for each"
        )
    return names


def _order(loadings: np.ndarray, most: int | None, sort: Sort | None) -> list[int]:
    """Return the indices of the features to draw, from first to last."""
    sizes = np.abs(loadings).max(axis=0)
    shown = np.argsort(-sizes, kind="stable")[:most]
    if sort is None:
        shown = np.sort(shown)
    elif sort == "component":
        owner = np.abs(loadings).argmax(axis=0)
        shown = shown[np.argsort(owner[shown], kind="stable")]
    return [int(i) for i in shown]
