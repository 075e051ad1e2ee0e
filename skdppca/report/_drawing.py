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

from ..plotting._common import figure

__all__ = ["METADATA", "settings", "svg"]

# matplotlib reads these when it is imported; a nonsense value ends the import.
VARIABLES = {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}

# Left out of the files: matplotlib's version, and the time.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}
NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))

# Text stays text, so that it can be read aloud and searched for.
AS_TEXT: Any = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.0}


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


def svg(drawn: Any, name: str, alt: str) -> str:
    """Return a figure as an `svg` element, the same whenever it is drawn.

    Several of them may stand on one page: their ids begin with `name`.

    Parameters
    ----------
    drawn : matplotlib.figure.Figure
    name : str
    alt : str
        The finding, in a sentence.
    """
    import matplotlib

    with matplotlib.rc_context({**AS_TEXT, "svg.hashsalt": name}):
        drawn.savefig(buffer := io.StringIO(), format="svg", metadata=NOTHING)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', text))
    text = re.sub(
        r' id="([^"]*)"', lambda id: f' id="{name}-{id[1]}"' if id[1] in used else "", text
    )
    text = re.sub(r'(href="|url\()#', rf"\1#{name}-", text)
    # Its size is that of the place where it stands; the ratio is in the viewBox.
    text = re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1)
