"""Text for people: safe on a terminal, and numbers rounded to the careful side."""

from .shown import (
    INTERACTION,
    MAX_LISTED,
    ROW,
    aligned,
    check_unit,
    comes_back,
    html_table,
    is_one,
    listed,
    may_name_people,
    meant,
    names_a_label,
    printable,
    protected_together,
    shown,
)

__all__ = [
    "INTERACTION",
    "MAX_LISTED",
    "ROW",
    "aligned",
    "check_unit",
    "comes_back",
    "html_table",
    "is_one",
    "listed",
    "may_name_people",
    "meant",
    "names_a_label",
    "printable",
    "protected_together",
    "shown",
]
