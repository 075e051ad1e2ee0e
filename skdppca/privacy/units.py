"""What a guarantee protects together, in words."""

from __future__ import annotations

from .._text import printable

# A row, and one non-zero entry of a table of users and items; every other name is one of groups.
ROW, INTERACTION = "row", "interaction"


def check_unit(unit: str) -> None:
    """Refuse a name that cannot be printed: it stands in every sentence of a guarantee.

    Raises
    ------
    ValueError
    """
    if isinstance(unit, str) and unit != printable(unit):
        raise ValueError(
            f"unit='{printable(unit)}' has a line break, a mark that turns the direction of "
            "writing, or another character that cannot be printed; choose a plain name"
        )


def is_one(unit: str) -> bool:
    """Whether a unit is one row or one entry, and no group of rows."""
    return unit in (ROW, INTERACTION)


def protected_together(unit: str) -> str:
    """What is in the data or not, as a whole."""
    if unit == INTERACTION:
        return "one interaction (one user with one item)"
    return "one row" if unit == ROW else f"all rows of one {unit}"
