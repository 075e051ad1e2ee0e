"""The pictures of a report, each with its finding in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import plotting
from .._text import printable
from ..plotting._style import UNSTATED, as_written, figure
from ..privacy import PrivacyReport, compose
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
    if all(subject.report.private for subject in subjects):
        yield _privacy([subject.report for subject in subjects], as_stated)
    for number, subject in enumerate(subjects, start=1):
        suffix, title = str(number) if number > 1 else "", _title([subject.report], as_stated)
        if "explained_variance" in subject.arrays:
            yield _scree(subject, f"scree{suffix}", title)
        if "components" in subject.arrays and image_shape is None:
            yield _loadings(subject, f"loadings{suffix}", title)
        elif "components" in subject.arrays:
            yield _images(subject, f"components{suffix}", title, tuple(image_shape or ()))


def _privacy(reports: Sequence[PrivacyReport], as_stated: bool) -> Picture:
    """Draw what tests detect at most."""
    canvas = figure(5.2, 4.0)
    ax = canvas.subplots()
    curve, title = plotting.PrivacyCurveDisplay, _title(reports, as_stated)
    if len(reports) == 1:
        drawn = curve.from_report(reports[0], ax=ax, name="this release", title=title)
    else:
        event = compose(one.cost for one in reports)
        drawn = curve.from_event(event, ax=ax, name="this release", title=title)
    return _picture("privacy", canvas, drawn)


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


def _title(reports: Sequence[PrivacyReport], as_stated: bool) -> str:
    """What the pictures are of and what protects it, in plain letters, which are drawn fast."""
    names = ", ".join(report.method for report in reports)
    if not all(report.private for report in reports):
        return as_written(f"{names}: NOT PRIVATE")
    if not as_stated:
        return as_written(f"{names}: {UNSTATED}")
    first = reports[0]
    cost = "" if len(reports) > 1 else f"epsilon {first.epsilon:g}, delta {first.delta:g} "
    return as_written(f"{names}: {cost}for every {first.unit} ({first.adjacency})")


def _picture(name: str, canvas: Any, display: Any) -> Picture:
    return Picture(name, printable(display.alt_text_), address(canvas))
