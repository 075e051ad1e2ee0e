"""A figure of its own, and the colours that all pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NOISE", "SIGNAL", "WARNING", "new_figure"]

SIGNAL, NOISE, WARNING = "#1f5fa8", "#7a7a7a", "#b3261e"


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own: no window, no pyplot state, any backend."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; pip install 'skdppca[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")
