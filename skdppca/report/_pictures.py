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
    subject: Subject, image_shape: Sequence[int] | None = None, as_stated: bool = True
) -> list[Picture]:
    """Draw what was released, and what that protects.

    Parameters
    ----------
    subject : Subject
        As its files have it, so that who has the files can draw the same.
    image_shape : sequence of int, optional
        Of a row, if a row is an image.
    as_stated : bool, default=True
        Whether the guarantee holds as the release states it; if not, every title says so.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    with settings():
        return list(_drawn(subject, image_shape, "guarantee" if as_stated else UNSTATED))


def _drawn(subject: Subject, image_shape: Sequence[int] | None, title: str) -> Iterator[Picture]:
    fitted = subject.fitted
    if subject.report.private:
        canvas = figure(5.2, 4.0)
        curve = plotting.PrivacyCurveDisplay.from_report(
            subject.report, ax=canvas.subplots(), name="this release", title=title
        )
        yield _picture("privacy", canvas, curve)
    if "explained_variance" in subject.arrays:
        canvas = figure(6.4, 3.6)
        scree = plotting.ScreeDisplay.from_estimator(fitted, ax=canvas.subplots(), title=title)
        yield _picture("scree", canvas, scree)
    if "components" in subject.arrays and image_shape is None:
        count = min(len(fitted.components_), MOST_COMPONENTS)
        rows = min(len(subject.names), MOST_FEATURES)
        canvas = figure(max(4.6, 2.9 + 0.62 * count), max(2.4, 1.5 + 0.27 * rows))
        loadings = plotting.LoadingsDisplay.from_estimator(
            fitted,
            components=count,
            max_features=MOST_FEATURES,
            feature_names=subject.names,
            ax=canvas.subplots(),
            title=title,
        )
        yield _picture("loadings", canvas, loadings)
    elif "components" in subject.arrays:
        canvas = figure(6.4, 3.2)
        images = plotting.ComponentsImageDisplay.from_estimator(
            fitted,
            tuple(image_shape or ()),
            max_components=MOST_IMAGES,
            ax=canvas.subplots(),
            title=title,
        )
        yield _picture("components", canvas, images)


def _picture(name: str, canvas: Any, display: Any) -> Picture:
    return Picture(name, printable(display.alt_text_), _address(canvas))


def _address(drawn: Any) -> str:
    """Return a figure as an address that a page shows it by, the same whenever it is drawn.

    No markup can come out of it, and a picture that is shown by an address runs and loads nothing.
    """
    import matplotlib

    with matplotlib.rc_context(AS_TEXT):
        drawn.savefig(buffer := io.StringIO(), format="svg", metadata=NOTHING)
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    return f"data:image/svg+xml;base64,{b64encode(text.encode()).decode()}"
