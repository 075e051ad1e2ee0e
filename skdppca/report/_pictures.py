"""The pictures of a report, each with its finding in a sentence."""

from __future__ import annotations

import io
import logging
import re
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import plotting
from .._text import printable
from ..plotting._display import UNSTATED, figure
from ._subject import Subject

# Left out of a picture: what tells of the machine or the time.
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
        The release as its files have it, so that who has the files can draw the same.
    image_shape : sequence of int, optional
        Shape of a row, if a row is an image.
    as_stated : bool, default=True
        Whether the guarantee holds as the release states it; if not, every title says so.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    title = "guarantee" if as_stated else UNSTATED
    report, fitted, arrays = subject.report, subject.fitted, subject.arrays
    wanted: dict[str, tuple[float, float, Callable[..., Any]]] = {}
    if "components" in arrays and image_shape is None:
        count, rows = min(len(fitted.components_), MOST_COMPONENTS), len(subject.names)
        loadings = partial(
            plotting.LoadingsDisplay.from_estimator,
            fitted,
            components=count,
            max_features=MOST_FEATURES,
            feature_names=subject.names,
            title=title,
        )
        height = max(2.4, 1.5 + 0.27 * min(rows, MOST_FEATURES))
        wanted["loadings"] = max(4.6, 2.9 + 0.62 * count), height, loadings
    elif "components" in arrays:
        images, shape = plotting.ComponentsImageDisplay.from_estimator, tuple(image_shape or ())
        drawing = partial(images, fitted, shape, max_components=MOST_IMAGES, title=title)
        wanted["components"] = 6.4, 3.2, drawing
    if "explained_variance" in arrays:
        scree = partial(plotting.ScreeDisplay.from_estimator, fitted, title=title)
        wanted["scree"] = 6.4, 3.6, scree
    if report.private:
        bound = plotting.PrivacyCurveDisplay.from_report
        wanted["privacy"] = 5.2, 4.0, partial(bound, report, name="this release", title=title)
    with settings():
        return [_picture(name, *drawing) for name, drawing in wanted.items()]


def _picture(name: str, width: float, height: float, draw: Callable[..., Any]) -> Picture:
    canvas = figure(width, height)
    drawn = draw(ax=canvas.subplots())
    return Picture(name, printable(drawn.alt_text_), _address(canvas))


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
