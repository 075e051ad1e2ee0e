"""The pictures of a report, each with its finding in a sentence."""

from __future__ import annotations

import io
import logging
import re
import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .. import plotting
from .._text import printable
from ..plotting._display import UNSTATED, figure
from ._subject import Subject

# Left out of the files: matplotlib's version, and the time.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}
NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))

# Text stays text, so that a file is read aloud and searched. The font comes with matplotlib, so
# that letters have the same widths on all machines; and ids are no random numbers.
AS_TEXT: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "skdppca",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
}


@contextmanager
def settings() -> Iterator[None]:
    """Draw with matplotlib's own defaults, whatever the user's settings are.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        figure(1, 1)
        import matplotlib

        with warnings.catch_warnings(), matplotlib.rc_context():
            warnings.simplefilter("ignore")  # of letters that the font lacks
            matplotlib.rcdefaults()
            yield
    finally:
        logger.setLevel(level)


def address(drawn: Any) -> str:
    """Return a figure as an address that a page shows it by, the same whenever it is drawn.

    No markup can come out of it, and a picture that is shown by an address runs and loads nothing.

    Parameters
    ----------
    drawn : matplotlib.figure.Figure
    """
    import matplotlib

    with matplotlib.rc_context(AS_TEXT):
        drawn.savefig(buffer := io.StringIO(), format="svg", metadata=NOTHING)
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    return f"data:image/svg+xml;base64,{b64encode(text.encode()).decode()}"


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
