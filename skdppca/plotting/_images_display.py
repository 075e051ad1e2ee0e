"""Components of image data, as images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._text.digits import whole_percent
from ._display import DIVERGING, NOISE, UNSTATED, WARNING, FitDisplay, fitted
from ._noise_of_fits import alignments

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentsImageDisplay(FitDisplay):
    """Components of image data as images, on one colour scale that is symmetric about 0.

    Use `from_estimator`. It reads released numbers only, so the picture is as private as the fit.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        What is drawn.
    image_shape : (int, int) or (int, int, int)
        Height and width of an image, and the number of its colours if it has three or four.
    explained_variance_ratio : ndarray of shape (n_components,), optional
    lost : ndarray of bool of shape (n_components,), optional
        Which components the noise drowns.
    reports : sequence of PrivacyReport, default=()
        Report of the fit that the numbers came from.
    learned_before : sequence of str, default=()
        Steps of a Pipeline that learned from the records before, so that the guarantee does not
        hold as stated. The title says so, and is red if it is your own.

    Attributes
    ----------
    axes_ : ndarray of Axes
        None where no image is.
    bounding_ax_ : matplotlib.axes.Axes or None
        The axes that they lie in; None if you gave one for each image.
    figure_ : matplotlib.figure.Figure
    images_ : list of matplotlib.image.AxesImage

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.plotting import ComponentsImageDisplay
    >>> pca = DPGauss(n_components=4).fit(load_digits().data)
    >>> ax = Figure(layout="constrained").subplots()
    >>> display = ComponentsImageDisplay.from_estimator(pca, (8, 8), ax=ax)
    >>> len(display.images_)
    4
    """

    components: np.ndarray
    image_shape: tuple[int, ...]
    explained_variance_ratio: np.ndarray | None = None
    lost: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        image_shape: tuple[int, ...],
        *,
        max_components: int = 25,
        ax: Axes | Sequence[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Plot the first components of a fitted private PCA.

        Parameters
        ----------
        estimator : fitted private PCA or Pipeline
            If it is a pipeline, its last private PCA is drawn.
        image_shape : (int, int) or (int, int, int)
            Height and width of an image, and its number of colours (3 or 4) if it has any. Their
            product is the number of features.
        max_components : int, default=25
            The most components to show.
        ax, options
            See `plot`.

        Returns
        -------
        ComponentsImageDisplay
        """
        pca = fitted(estimator)
        shape = tuple(image_shape)
        if not (len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4))):
            raise ValueError(
                f"image_shape={image_shape!r} is no shape of an image; give (height, width), or "
                "(height, width, 3) for colours"
            )
        if math.prod(shape) != pca.n_features_in_:
            raise ValueError(
                f"image_shape={image_shape!r} has {math.prod(shape)} pixels, but there are "
                f"{pca.n_features_in_} features; give the height and width of the images"
            )
        if max_components < 1:
            raise ValueError(
                f"max_components={max_components!r} shows nothing; give a number of at least 1"
            )
        ratio = getattr(pca, "explained_variance_ratio_", None)
        display = cls._of_fit(
            estimator,
            pca,
            components=np.asarray(pca.components_[:max_components]),
            image_shape=shape,
            explained_variance_ratio=None if ratio is None else np.asarray(ratio[:max_components]),
            lost=(alignments(pca) <= 0)[:max_components],
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        titles: bool = True,
        title: str | None = "guarantee",
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the components.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of them, optional
            Axes to be divided, or one for each component. By default a new figure of pyplot.
        titles : bool, default=True
            Whether each image has its number and its share of the variance above it; in grey if
            the component is lost in the noise.
        title : str or None, default="guarantee"
            By default the guarantee of the fit; None for none.
        im_kw : dict, optional
            Passed to matplotlib for the images. In images with colours, grey is 0.

        Returns
        -------
        ComponentsImageDisplay
            This one.
        """
        components = np.asarray(self.components, dtype=float)
        panels = self._take_panels(ax, len(components), 1.5, 1.75, of="components")
        self.images_: list[AxesImage] = []
        largest = max(float(np.abs(components).max()), 1e-300)
        style: dict[str, Any] = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest}
        style |= {"interpolation": "nearest", **(im_kw or {})}
        for i, panel in enumerate(panels):
            image = components[i].reshape(self.image_shape)
            if image.ndim == 3:
                image = (1 + image / largest) / 2
            self.images_.append(panel.imshow(image, **style))
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set_visible(False)
            if titles:
                panel.set_title(self._name(i), fontsize=9, color=self._colour(i))
        if self.bounding_ax_ is not None:
            self._write_guarantee(title)
        elif title is not None and (self.learned_before or not self._private):
            warning = UNSTATED if self._private else "NOT PRIVATE"
            warning = f"{self._name(0)} {warning}" if titles else warning
            panels[0].set_title(warning, fontsize=9, color=WARNING)
        return self

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        k = len(self.components)
        text = "1 component as an image" if k == 1 else f"{k} components as images"
        if self.explained_variance_ratio is not None:
            text += f", with {whole_percent(np.sum(self.explained_variance_ratio))} of the variance"
        return f"{text}; {self._noise_in_words(self.lost, k)}"

    def _name(self, i: int) -> str:
        if self.explained_variance_ratio is None:
            return f"{i + 1}"
        return f"{i + 1}: {whole_percent(self.explained_variance_ratio[i])}"

    def _colour(self, i: int) -> str:
        return NOISE if self.lost is not None and self.lost[i] else "black"
