"""The variance of every component, its noise, and what the noise drowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from .._text.digits import whole_percent
from ._display import (
    BLUE,
    DASHES,
    LEGEND,
    NOISE,
    VERMILION,
    FitDisplay,
    check_choice,
    fitted,
    percent_axis,
)
from ._noise_of_fits import (
    LEVEL,
    is_elliptical,
    left_out,
    lost_in_noise,
    noise_floor_of,
    variance_intervals,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.lines import Line2D

# Most components shown that the fit did not keep.
MAX_LEFT_OUT = 12

# With more components than this, points are small and bars have no caps.
CROWDED = 25

Kind = Literal["variance", "ratio"]


@dataclass(kw_only=True, eq=False, repr=False)
class ScreeDisplay(FitDisplay):
    r"""Variance of every component, with the noise that was added for privacy.

    Use `from_estimator`. It reads released numbers only, so the picture is as private as the fit.

    Parameters
    ----------
    variances : ndarray of shape (n_components,)
        Variances along the components.
    interval : ndarray of shape (n_components, 2)
        Lower and upper ends of the error bars; NaN for no bar.
    lost : ndarray of bool of shape (n_components,)
        Which components the noise drowns.
    left_out : ndarray
        Variances of the next components, which the fit did not keep.
    n_rest : int
        How many other directions there are, where `left_out` is not known.
    rest : float, optional
        Mean variance of these.
    noise_floor : float, optional
        The smallest variance that the noise does not drown; 0 without noise, None if unknown.
    total : float, optional
        Variance along all directions, which ratios are of.
    units : str, default="squared units of the features"
        Units of the variances.
    reports : sequence of PrivacyReport, default=()
        Report of the fit that the numbers came from.
    learned_before : sequence of str, default=()
        Steps of a Pipeline that learned from the records before, so that the guarantee does not
        hold as stated. The title says so, and is red if it is your own.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    errorbar_ : matplotlib.container.ErrorbarContainer or None
        The components that stand above the noise.
    lost_, left_out_, floor_, rest_ : matplotlib.lines.Line2D or None
        Components lost in the noise; those left out; the noise floor; the mean of the rest.

    Notes
    -----
    **Error bars** show what the noise that was added for privacy and the clipping of the records
    leave open. They leave out the sampling of the rows. Without noise they would reach from the
    variance of the clipped rows to

    .. math:: \min_{i \le j} \left(v_i + \frac{(F - 1) \, T}{j - i + 1}\right)

    for the j-th component, where :math:`v_i` are the variances of the clipped rows, T is their sum
    and F is the clipping factor (``privacy_.details["clipping_factor"]``): clipping took
    :math:`(F - 1) T` of all variances. The exact variance lies between these ends, whatever the law
    of the rows (Weyl's inequality: clipping takes a positive semi-definite matrix of that trace).
    Where variances are those along the components alone, T is the sum of these, and records were
    clipped about a prediction. A share q of it (``privacy_.details["clipping_kept"]``) stayed in
    place of clipped records, so ``(1 - q) v`` takes the place of v, and q T more may be missing.
    The bar adds the noise of :math:`v_i` to both ends, and that of F to the upper one. Where a
    released direction has only a share of its variance, the upper end divides by its alignment.

    The variance itself lies inside the bar, where the rows of a normal law would put it
    (:doc:`/theory/clipping`). Records that are too few to stand out of the noise of the histogram
    are in no bar.

    There is no bar for a component that is lost in the noise, nor

    - where variances rest on a model: ``privacy_.details["clip"]`` is not "norm";
    - where the histogram of norms is too noisy to show the tail of the norms, or none was asked:
      ``privacy_.details["clipping_sees_tail"]`` is False, or not there beside
      ``"clipped_variances"``;
    - for methods that release no alignments.

    With a public `norm_bound` nothing says what it took. A bar then holds the noise alone, about
    the variance of rows that are clipped to your bound.

    **The noise.** A component of variance `v` far above the noise appears at
    :math:`l = \theta + \tau^2 d / \theta`, where :math:`\theta = (n - 1) v`. The noise has standard
    deviation `s` on the diagonal and :math:`\tau = s / \sqrt 2` off it. The standard deviation of
    `l` is :math:`s \sqrt a`, where :math:`a = 1 - \tau^2 d / \theta^2` is the component's alignment
    [1]_. Undoing the shift divides by :math:`dl / d\theta = a`, and the noisy count scales all
    variances alike, so the variance of clipped rows has the standard deviation

    .. math:: \sqrt{\frac{s^2}{(n - 1)^2 a} + \left(v \, \mathrm{sd}(n) / n\right)^2}.

    With ``missing="mean"``, the second term also holds twice the relative error of the mean share
    of present entries, because products of two features are divided by its square.

    Well above the noise floor, the first term is about the standard deviation of the noise over n.
    Towards the floor it grows without bound. This is an approximation for many features and well
    separated variances.

    For a method that releases variances of the components alone, the report has the noise of those
    (``privacy_.details["clipped_errors"]``; ``"variance_errors"`` after correction). The other
    directions appear as their mean, `noise_variance_`.

    **The noise floor** is the smallest variance at which a component still has a direction of its
    own, and not that of the noise: :math:`\theta = \tau \sqrt d` from the spectrum's centre, where
    `a` is 0. It is drawn among the corrected variances, though floor and alignments compare with
    the clipped rows without noise. The noise in the spectrum before
    debiasing ends at ``privacy_.details["noise_edge"]``. A method without a spectrum has its floor
    where no noisy product shows a direction (``privacy_.details["noise_floor"]``). If a method
    releases no such number, no floor is drawn, and the legend says so.

    If rows were scaled to norm 1 (``privacy_.details["clip"]`` is "spherical" or, in subspaces,
    "nested"), the same holds for shares `p` of the total variance. The sign covariance of the rows
    has the eigenvalues :math:`p - 2 p^2 + 2 p \sum_j p_j^2` to second order, and floor and bars are
    divided by the slope of that. The shares rest on a model of the rows: therefore no bar is drawn.
    In nested subspaces, d and the shares are those of the last one.

    References
    ----------
    .. [1] M. Capitaine, C. Donati-Martin, D. Féral. The largest eigenvalues of finite rank
       deformation of large Wigner matrices: convergence and nonuniversality of the fluctuations.
       Annals of Probability 37(1), 2009.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.plotting import ScreeDisplay
    >>> pca = DPGauss(n_components=5, epsilon=3.0).fit(load_digits().data)
    >>> display = ScreeDisplay.from_estimator(pca, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'Component'
    """

    variances: np.ndarray
    interval: np.ndarray
    lost: np.ndarray
    left_out: np.ndarray
    n_rest: int
    rest: float | None = None
    noise_floor: float | None = None
    total: float | None = None
    units: str = "squared units of the features"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **options: Any) -> Self:
        """Plot the variances of a fitted private PCA, with error bars that hold 95 % of all fits.

        If the fit released a spectrum, four more components are shown than it kept, at most 12.

        Parameters
        ----------
        estimator : fitted private PCA or Pipeline
            If it is a pipeline, its last private PCA is drawn.
        ax, options
            See `plot`.

        Returns
        -------
        ScreeDisplay

        Raises
        ------
        NotReleasedError
            If the fit released no variances; the message says why, and how to get them.
        """
        pca = fitted(estimator)
        variances = np.asarray(pca.explained_variance_, dtype=float)
        share = pca.explained_variance_ratio_[0]
        k = len(variances)
        has_spectrum = "spectrum" in pca.privacy_.details
        n_rest = 0 if has_spectrum else pca.n_features_in_ - k
        model = "under an elliptical model, " if is_elliptical(pca) else ""
        scaled = "scaled " if getattr(pca, "scale", None) is not None else ""
        display = cls._of_fit(
            estimator,
            pca,
            variances=variances,
            interval=variance_intervals(pca),
            lost=lost_in_noise(pca),
            left_out=left_out(pca, min(k + 4, MAX_LEFT_OUT)),
            n_rest=n_rest,
            rest=getattr(pca, "noise_variance_", None) if n_rest else None,
            noise_floor=noise_floor_of(pca),
            total=float(variances[0] / share) if share else None,
            units=f"{model}squared units of the {scaled}features",
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "variance",
        title: str | None = "guarantee",
        legend: bool = True,
    ) -> Self:
        """Draw the variances.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default in a new figure of pyplot.
        kind : {"variance", "ratio"}, default="variance"
            The variances themselves, or their shares of the total.
        title : str or None, default="guarantee"
            By default the guarantee of the fit, unless the axes have a title; None for none.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        ScreeDisplay
            This one.
        """
        check_choice("kind", kind, *get_args(Kind))
        if kind != "variance" and self.total is None:
            raise ValueError(f"kind={kind!r} needs a total; give total= to ScreeDisplay")
        self._take_axes(ax, 6.4, 4.0)
        self.errorbar_: ErrorbarContainer | None = None
        self.lost_: Line2D | None = None
        scale = self.total if kind == "ratio" and self.total else 1.0
        self._draw_components(scale)
        self._draw_others(scale)
        self._dress(kind, title, legend)
        return self

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        k = len(self.variances)
        text = f"Variances of {k} component{'' if k == 1 else 's'}"
        if self.total:
            share = whole_percent(self.variances[0] / self.total)
            text += f"; the first holds {share} of the variance"
        if self.noise_floor:
            text += f"; noise floor {self.noise_floor:.3g}"
        return f"{text}; {self._noise_in_words(self.lost, k)}"

    def _draw_components(self, scale: float) -> None:
        heights, lost = self.variances / scale, self.lost
        number = 1 + np.arange(len(heights))
        crowded = len(heights) > CROWDED
        style: dict[str, Any] = {
            "color": BLUE,
            "linestyle": "none",
            "marker": "o",
            "markersize": 4 if crowded else 6.5,
            "zorder": 3,
        }
        above = ~lost
        if above.any():
            lower, upper = self.interval.T / scale
            bars = np.maximum([heights - lower, upper - heights], 0.0)
            known = not np.isnan(bars).all()
            words = f"; bar: {100 * LEVEL:.3g} % range, noise and clipping"
            self.errorbar_ = self.ax_.errorbar(
                number[above],
                heights[above],
                yerr=bars[:, above] if known else None,
                elinewidth=1.2,
                capsize=0 if crowded else 3,
                label="component" + words * known,
                **style,
            )
        if lost.any():
            hollow = {"color": NOISE, "markerfacecolor": "white", "label": "lost in the noise"}
            (self.lost_,) = self.ax_.plot(number[lost], heights[lost], **style | hollow)

    def _draw_others(self, scale: float) -> None:
        self.left_out_: Line2D | None = None
        self.floor_: Line2D | None = None
        self.rest_: Line2D | None = None
        if len(self.left_out):
            number = len(self.variances) + 1 + np.arange(len(self.left_out))
            heights = self.left_out / scale
            dots: dict[str, Any] = {"markersize": 6, "color": "#9a9a9a", "label": "left out"}
            (self.left_out_,) = self.ax_.plot(number, heights, ".", **dots)
        if self.noise_floor:
            style = {"color": VERMILION, "label": "noise floor"} | DASHES
            self.floor_ = self.ax_.axhline(self.noise_floor / scale, **style)
        elif self.noise_floor is None:
            self.ax_.plot([], [], " ", label="noise floor not known")
        if self.rest is not None:
            several = f"mean of the other {self.n_rest} directions"
            label = several if self.n_rest > 1 else "the other direction"
            dotted: dict[str, Any] = {"color": NOISE, "linewidth": 1.1, "linestyle": ":"}
            self.rest_ = self.ax_.axhline(self.rest / scale, label=label, **dotted)

    def _dress(self, kind: Kind, title: str | None, legend: bool) -> None:
        from matplotlib.container import Container
        from matplotlib.ticker import MaxNLocator

        ax = self.ax_
        ax.set_xlabel("Component")
        ax.set_ylabel(f"Variance ({self.units})".replace(", ", ",\n"))
        if kind == "ratio":
            ax.set_ylabel("Share of the variance")
            percent_axis(ax.yaxis)
        last = max(np.max(line.get_xdata(), initial=1.0) for line in ax.lines) + 0.6
        ax.set_xlim(0.4, last)
        ax.set_ylim(bottom=0, auto=True)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
        ax.spines[["top", "right"]].set_visible(False)
        if legend:  # components first: matplotlib lists lines before error bars
            entries = list(zip(*ax.get_legend_handles_labels(), strict=True))
            entries.sort(key=lambda entry: not isinstance(entry[0], Container))
            ax.legend(*zip(*entries, strict=True), loc="best", **LEGEND)
        self._write_guarantee(title)
