"""Text for people: safe on a terminal, and numbers rounded to the careful side."""

from .shown import MAX_LISTED, aligned, comes_back, listed, meant, names_a_label, printable, shown

__all__ = [
    "MAX_LISTED",
    "aligned",
    "comes_back",
    "listed",
    "meant",
    "names_a_label",
    "printable",
    "shown",
]
