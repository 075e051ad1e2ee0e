"""The pictures of a report, each with its finding in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import plotting
from .._text import printable
from ..plotting._style import UNSTATED, figure
from ._drawing import address, settings
from ._subject import Subject

# On the page; the rest is in the table of components.
MOST_COMPONENTS = 8
MOST_FEATURES = 20
MOST_IMAGES = 10


@dataclass(frozen=True)
class Picture:
    """A picture by its place on the page, what it says, and its address."""

    name: str
    alt: str
    address: str


def draw(
    subjects: Sequence[Subject],
    image_shape: Sequence[int] | None = None,
    as_stated: bool = True,
) -> list[Picture]:
    """Draw what was released, and what that protects.

    Parameters
    ----------
    subjects : sequence of Subject
        As their files have them, so that who has the files can draw the same.
    image_shape : sequence of int, optional
        Of a row, if a row is an image.
    as_stated : bool, default=True
        Whether the guarantee holds as the releases state it; if not, every title says so.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    with settings():
        return list(_drawn(subjects, image_shape, as_stated))


def _drawn(
    subjects: Sequence[Subject], image_shape: Sequence[int] | None, as_stated: bool
) -> Iterator[Picture]:
    title = "guarantee" if as_stated else UNSTATED
    if all(subject.report.private for subject in subjects):
        canvas = figure(5.2, 4.0)
        curve = plotting.PrivacyCurveDisplay.from_report(
            [subject.report for subject in subjects],
            ax=canvas.subplots(),
            name="this release",
            title=title,
        )
        yield _picture("privacy", canvas, curve)
    for number, subject in enumerate(subjects, start=1):
        suffix = str(number) if number > 1 else ""
        if "explained_variance" in subject.arrays:
            yield _scree(subject, f"scree{suffix}", title)
        if "components" in subject.arrays and image_shape is None:
            yield _loadings(subject, f"loadings{suffix}", title)
        elif "components" in subject.arrays:
            yield _images(subject, f"components{suffix}", title, tuple(image_shape or ()))


def _scree(subject: Subject, name: str, title: str) -> Picture:
    canvas = figure(6.4, 3.6)
    ax = canvas.subplots()
    return _picture(
        name, canvas, plotting.ScreeDisplay.from_estimator(subject.fitted, ax=ax, title=title)
    )


def _loadings(subject: Subject, name: str, title: str) -> Picture:
    count = min(len(subject.fitted.components_), MOST_COMPONENTS)
    rows = min(len(subject.names), MOST_FEATURES)
    canvas = figure(max(4.6, 2.9 + 0.62 * count), max(2.4, 1.5 + 0.27 * rows))
    loadings = plotting.LoadingsDisplay.from_estimator(
        subject.fitted,
        components=count,
        max_features=MOST_FEATURES,
        feature_names=subject.names,
        ax=canvas.subplots(),
        title=title,
    )
    return _picture(name, canvas, loadings)


def _images(subject: Subject, name: str, title: str, image_shape: tuple[int, ...]) -> Picture:
    canvas = figure(6.4, 3.2)
    images = plotting.ComponentsImageDisplay.from_estimator(
        subject.fitted,
        image_shape,
        max_components=MOST_IMAGES,
        ax=canvas.subplots(),
        title=title,
    )
    return _picture(name, canvas, images)


def _picture(name: str, canvas: Any, display: Any) -> Picture:
    return Picture(name, printable(display.alt_text_), address(canvas))
