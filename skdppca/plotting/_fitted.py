"""Pictures of what a fit released, drawn from its released attributes only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._common import WARNING, dress_title, figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.figure import Figure

__all__ = ["components_image", "scree"]

# Length of an error bar in standard deviations: 95 % of a normal distribution.
BAR_SDS = 1.96

# Most components shown that the fit did not keep.
MAX_LEFT_OUT = 12

# Most images in a row, and in a figure.
IMAGES_A_ROW = 5
MAX_IMAGES = 25

SIGNAL, NOISE, LEFT_OUT = "#1f5fa8", "#7a7a7a", "#a8a8a8"


def scree(pca: Any, ax: Axes | None = None) -> Axes:
    r"""Plot the variance of every component, its privacy error bar, and the noise floor.

    Parameters
    ----------
    pca : fitted private PCA
        Only its released attributes are read, so the picture is as private as they are.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default in a new figure outside of pyplot: ``ax.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotReleasedError
        If the fit released no variances.

    Notes
    -----
    **Error bars** (1.96 standard deviations) show the noise that was added for privacy. They leave
    out the sampling of the rows and the bias of clipping. That bias depends on the clipping norm
    that the fit found, and often differs between fits by more than the bars.

    A component of variance `v` far above the noise appears at
    :math:`l = \theta + \tau^2 d / \theta`, where :math:`\theta = (n - 1) v`. The noise has standard
    deviation `s` on the diagonal and :math:`\tau = s / \sqrt 2` off it. The standard deviation of
    `l` is :math:`s \sqrt a`, where :math:`a = 1 - \tau^2 d / \theta^2` is the component's alignment
    [1]_. Undoing the shift divides by :math:`dl / d\theta = a`, and the noisy count scales all
    variances alike, so the variance has the standard deviation

    .. math:: \sqrt{\frac{s^2}{(n - 1)^2 a} + \left(v \, \mathrm{sd}(n) / n\right)^2}.

    With ``missing="mean"``, the second term also holds twice the relative error of the mean share
    of present entries, because products of two features are divided by its square.

    Well above the noise floor, the first term is about the standard deviation of the noise over n.
    Towards the floor it grows without bound. This is an approximation for many features and well
    separated variances.

    For a method that releases variances of the components alone, the bars are the noise of those
    (``privacy_.details["variance_errors"]``), and the floor is where its last noisy product shows
    no direction (``privacy_.details["noise_floor"]``), if that is known. Clipping pulls such
    variances down, by more than their noise where records are few; no bar shows that.

    **The noise floor** is the smallest variance at which a component still has a direction of its
    own, and not that of the noise: :math:`\theta = \tau \sqrt d` from the spectrum's centre, where
    `a` is 0. It is drawn in the units of the debiased variances. The noise in the spectrum before
    debiasing ends at ``privacy_.details["noise_edge"]``.

    If rows were scaled to norm 1 (``privacy_.details["clip"]`` is "spherical" or, in subspaces,
    "nested"), the same holds for shares `p` of the total variance. The sign covariance of the rows
    has the eigenvalues :math:`p - 2 p^2 + 2 p \sum_j p_j^2` to second order, and floor and bars are
    divided by the slope of that. The total variance is known only up to a factor of about
    :math:`\sqrt 2`, common to all components, which the bars leave out. In nested subspaces, d and
    the shares are those of the last one. A component that a subspace before it has kept only in
    part has a longer bar.

    References
    ----------
    .. [1] M. Capitaine, C. Donati-Martin, D. Féral. The largest eigenvalues of finite rank
       deformation of large Wigner matrices: convergence and nonuniversality of the fluctuations.
       Annals of Probability 37(1), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.plotting import scree
    >>> ax = scree(DPGauss(n_components="auto").fit(load_digits().data))
    >>> ax.get_xlabel()
    'Component'
    """
    check_is_fitted(pca)
    if ax is None:
        ax = figure(6.4, 4.0).subplots()
    variances = np.asarray(pca.explained_variance_, dtype=float)
    number = np.arange(1, len(variances) + 1)
    above = _alignments(pca) > 0
    crowded = len(variances) > 25
    style: dict[str, Any] = {
        "linestyle": "none",
        "marker": "o",
        "markersize": 4 if crowded else 6.5,
        "zorder": 3,
    }

    handles: list[Artist | Container] = []
    if above.any():
        bars = BAR_SDS * _standard_errors(pca)[above]
        heights: dict[str, Any] = (
            {"yerr": [np.minimum(bars, variances[above]), bars]} if bars.any() else {}
        )
        handles += [
            ax.errorbar(
                number[above],
                variances[above],
                color=SIGNAL,
                elinewidth=1.2,
                capsize=0 if crowded else 3,
                label="component; bar: 95 % of the privacy noise alone" if heights else "component",
                **heights,
                **style,
            )
        ]
    if not above.all():
        handles += ax.plot(
            number[~above],
            variances[~above],
            color=NOISE,
            markerfacecolor="white",
            label="kept, but lost in the noise",
            **style,
        )
    left_out = _left_out(pca)
    positions = number[-1] + 1 + np.arange(len(left_out))
    if len(left_out):
        handles += ax.plot(positions, left_out, ".", color=LEFT_OUT, markersize=5, label="left out")
    floor = _noise_floor(pca)
    if floor > 0:
        dashes: dict[str, Any] = {"color": WARNING, "linewidth": 1.1, "linestyle": (0, (5, 3))}
        handles.append(ax.axhline(floor, label="noise floor", **dashes))
    ax.legend(handles=handles, frameon=False)
    _dress(ax, pca, number[-1] + len(left_out))
    return ax


def components_image(
    pca: Any, shape: tuple[int, int], axes: np.ndarray | list[Axes] | None = None
) -> Figure:
    """Show components of image data as images, on one colour scale that is symmetric about 0.

    If the release is not private, a title says so.

    Parameters
    ----------
    pca : fitted private PCA
    shape : (int, int)
        Height and width of an image; their product is the number of features.
    axes : array of matplotlib.axes.Axes, optional
        Where to draw, one image in each. By default a new figure with at most 25.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.plotting import components_image
    >>> pca = DPGauss(n_components=4).fit(load_digits().data)
    >>> len(components_image(pca, (8, 8)).axes)
    4
    """
    check_is_fitted(pca)
    if math.prod(shape) != pca.n_features_in_:
        raise ValueError(
            f"shape={shape!r} has {math.prod(shape)} pixels, but there are "
            f"{pca.n_features_in_} features; give the height and width of the images"
        )
    count = min(len(pca.components_), MAX_IMAGES)
    if axes is None:
        columns = min(count, IMAGES_A_ROW)
        rows = math.ceil(count / columns)
        sheet = figure(1.5 * columns, 1.8 * rows)
        axes = sheet.subplots(rows, columns, squeeze=False)
        if not pca.privacy_.private:
            sheet.suptitle("NOT PRIVATE", fontsize="medium", color=WARNING)
    axes = np.asarray(axes, dtype=object).ravel()
    alignments = _alignments(pca)
    largest = np.abs(pca.components_[:count]).max()
    for i, ax in enumerate(axes):
        if i >= count:
            ax.remove()
            continue
        image = pca.components_[i].reshape(shape)
        ax.imshow(image, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
        share = getattr(pca, "explained_variance_ratio_", None)
        ax.set_title(
            f"{i + 1}" if share is None else f"{i + 1}: {share[i]:.0%}",
            fontsize=9,
            color="black" if alignments[i] > 0 else NOISE,
        )
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_visible(False)
    return axes[0].figure


def _alignments(pca: Any) -> np.ndarray:
    """Return the components' alignments, or ones if the method does not release them."""
    alignments = pca.privacy_.details.get("alignments")
    if alignments is None:
        return np.ones(len(pca.components_))
    return np.asarray(alignments, dtype=float)


def _left_out(pca: Any) -> np.ndarray:
    """Return the variances of the first components that the fit did not keep."""
    kept = len(pca.explained_variance_)
    spectrum = np.asarray(pca.privacy_.details.get("spectrum", ()), dtype=float)
    return spectrum[kept : kept + min(kept + 4, MAX_LEFT_OUT)]


def _dimensions(pca: Any) -> int:
    """Return the dimensions of the (last sub)space that the noisy matrix is of."""
    return int(pca.privacy_.details.get("subspaces", [pca.n_features_in_])[-1])


def _seen(pca: Any) -> np.ndarray:
    """Return the variances along all of these dimensions."""
    return np.asarray(pca.privacy_.details["spectrum"], dtype=float)[: _dimensions(pca)]


def _shares(pca: Any) -> np.ndarray | None:
    """Return their shares of what they add up to if rows were scaled to norm 1, else None."""
    clip = pca.privacy_.details.get("clip")
    if clip == "spherical" or (clip == "nested" and pca.privacy_.unit == "row"):
        return _seen(pca) / _seen(pca).sum()
    return None


def _noise_sd(pca: Any) -> float:
    """Return the noise sd of a variance: that of the Gram matrix, divided as the variances are."""
    divisor = pca.singular_values_[0] ** 2 / pca.explained_variance_[0]
    return float(pca.privacy_.details["noise_sd"] / divisor)


def _standard_errors(pca: Any) -> np.ndarray:
    """Return the sd of every variance, as derived in the notes of `scree`; 0 without signal."""
    alignments, shares, details = _alignments(pca), _shares(pca), pca.privacy_.details
    if "variance_errors" in details:
        return np.asarray(details["variance_errors"], dtype=float)
    if not details.get("noise_sd"):
        return np.zeros_like(alignments)
    errors = _noise_sd(pca) / np.sqrt(np.where(alignments > 0, alignments, np.inf))
    if shares is not None:
        slope = (1 - 2 * shares[: len(errors)]) ** 2 + 2 * (shares @ shares)
        return _seen(pca).sum() * errors / slope
    asked = {query.name: query.noise_sd for query in reversed(pca.privacy_.spendings)}
    relative = asked.get("number of records", 0.0) / pca.n_samples_
    present = pca.privacy_.details.get("present")
    if present is not None:  # products of two features are divided by the square of their share
        shares_sd = asked["present values"] / (np.sqrt(len(present)) * pca.n_samples_)
        relative = np.hypot(relative, 2 * shares_sd / np.mean(present))
    relative = np.where(alignments > 0, relative, 0.0)
    return np.hypot(errors, relative * pca.explained_variance_)


def _noise_floor(pca: Any) -> float:
    """Return the noise floor of `scree`'s notes; half the noise's half-width from its centre."""
    details, shares = pca.privacy_.details, _shares(pca)
    if not details.get("noise_sd"):
        return float(details.get("noise_floor", 0.0))
    half_width = math.sqrt(2 * _dimensions(pca)) * _noise_sd(pca)
    floor = float(details["noise_edge"]) - half_width / 2
    if shares is None:
        return floor
    return float(_seen(pca).sum()) * floor / (1 + 2 * float(shares @ shares))


def _dress(ax: Axes, pca: Any, last: int) -> None:
    """Set the labels, the limits and the title."""
    from matplotlib.ticker import MaxNLocator

    report = pca.privacy_
    scaled = "scaled " if getattr(pca, "scale", None) is not None else ""
    model = "" if _shares(pca) is None else " under an elliptical model\n"
    ax.set_xlabel("Component")
    ax.set_ylabel(f"Variance{model or ' '}(squared units of the {scaled}features)")
    dress_title(ax, report.method, report)
    ax.set_xlim(0.4, last + 0.6)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    ax.spines[["top", "right"]].set_visible(False)
