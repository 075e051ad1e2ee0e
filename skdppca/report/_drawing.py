"""Pictures with settings of our own: the user's matplotlib settings cannot break a report."""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from ..plotting._style import figure
from ._png import repacked

# matplotlib reads these when it is imported; a nonsense value ends the import.
VARIABLES = {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}

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

IMAGE = re.compile(r'(href="data:image/png;base64,)([^"]*)')
REFERENCE = re.compile(r'(href="|url\()#([^")]*)')


@contextmanager
def settings() -> Iterator[None]:
    """Draw with matplotlib's own defaults, whatever the user's files and environment say.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    before = {name: os.environ.get(name) for name in VARIABLES}
    logger = logging.getLogger("matplotlib")
    level = logger.level
    os.environ.update(VARIABLES)
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
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def drawn_by() -> dict[str, str]:
    """Versions of what places every line and letter of a picture.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    import matplotlib
    from matplotlib import ft2font

    return {"matplotlib": matplotlib.__version__, "freetype": ft2font.__freetype_version__}


def svg(drawn: Any, alt: str) -> str:
    """Return a figure as an `svg` element, the same whenever it is drawn.

    Parameters
    ----------
    drawn : matplotlib.figure.Figure
    alt : str
        The finding, in a sentence.
    """
    import matplotlib

    with matplotlib.rc_context(AS_TEXT):
        drawn.savefig(buffer := io.StringIO(), format="svg", metadata=NOTHING)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(IMAGE, lambda image: image[1] + repacked(image[2]), _numbered(text))
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1)


def _numbered(text: str) -> str:
    """With numbers in the place of ids: a hash has room for what nobody can compute again."""
    numbers: dict[str, int] = {}

    def refer(to: re.Match[str]) -> str:
        return f"{to[1]}#i{numbers.setdefault(to[2], len(numbers))}"

    def name(tag: re.Match[str]) -> str:
        return f'{tag[1]} id="i{numbers[tag[2]]}"' if tag[2] in numbers else tag[1]

    text = re.sub(r"<\w[^<>]*>", lambda tag: re.sub(REFERENCE, refer, tag[0]), text)
    return re.sub(r'(<\w[^<>]*) id="([^"]*)"', name, text)
