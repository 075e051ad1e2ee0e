"""Figures of matplotlib for a dark page."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from skdppca.plotting._display import contrast

# The ground and the text of the dark theme's pages.
GROUND, INK = "#14181e", "#ced6dd"

LEAST_CONTRAST = 4.5  # of text, WCAG 2.2 (1.4.3)

# A colour whose parts differ by less is a grey.
GREY = 0.08


def dark(colour: Any) -> tuple[float, float, float, float]:
    """Turn greys around, from the ground to the ink; lighten other colours until they are seen."""
    *parts, alpha = to_rgba(colour)
    rgb = np.array(parts)
    if np.ptp(rgb) < GREY:
        rgb = np.array(to_rgb(INK)) + rgb.mean() * np.subtract(to_rgb(GROUND), to_rgb(INK))
    else:
        while contrast(rgb, GROUND) < LEAST_CONTRAST:
            rgb = rgb + 0.05 * (1 - rgb)
    return (*rgb, alpha)


def _recoloured(artist: Artist) -> None:
    if isinstance(artist, Text):
        artist.set_color(dark(artist.get_color()))
    elif isinstance(artist, Line2D):
        face, edge = artist.get_markerfacecolor(), artist.get_markeredgecolor()
        artist.set_color(dark(artist.get_color()))
        if not isinstance(face, str) or face != "none":
            artist.set_markerfacecolor(dark(face))
        artist.set_markeredgecolor(dark(edge))
    elif isinstance(artist, Patch):
        face, edge = artist.get_facecolor(), artist.get_edgecolor()
        artist.set_facecolor(_filled(face))
        artist.set_edgecolor(dark(edge))
    elif isinstance(artist, Collection) and artist.get_array() is None:
        faces, edges = artist.get_facecolor(), artist.get_edgecolor()
        artist.set_facecolor([dark(face) for face in faces])
        artist.set_edgecolor([dark(edge) for edge in edges])


def _filled(colour: Any) -> tuple[float, float, float, float]:
    """Return an area's colour: a tint that is nearly white stays nearly the ground."""
    *parts, alpha = to_rgba(colour)
    if min(parts) > 0.85:
        return (*dark((*[float(np.mean(parts))] * 3,))[:3], alpha)
    return dark(colour)


def darkened(figure: Figure) -> Figure:
    """Recolour a figure for a dark page, and return it.

    Cells of heat maps, and what is written on them, stay as they are: their colours have a meaning.
    """
    kept: set[Artist] = set()
    for axes in figure.axes:
        drawn = [*axes.images, *axes.collections]
        if any(isinstance(one, ScalarMappable) and one.get_array() is not None for one in drawn):
            on_cells = chain(axes.texts, axes.lines, axes.collections, axes.images)
            kept.update(part for one in on_cells for part in one.findobj())
    for artist in figure.findobj(lambda one: one not in kept):
        _recoloured(artist)
    return figure
