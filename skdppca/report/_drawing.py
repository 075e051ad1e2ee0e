"""Pictures with settings of our own: the user's matplotlib settings cannot break a report."""

from __future__ import annotations

import io
import logging
import re
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..plotting._style import figure

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
