"""Text that is safe to print on a terminal, whatever wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from html import escape
from typing import Any

# Names of columns that identify rows or people: id, patient_id, patientID; those of genome banks
# (IID, FID, EID), clinical trials (SUBJID, USUBJID, PATNO) and hospitals (MRN). And those of row
# numbers and of an index, as pandas and R write them.
LABEL = re.compile(
    r"(^|[\W_])id$|^([ief]|u?subj|user|case|person|patient|pat|p|row|uu|gu)id$|^(mrn|patno)$"
    r"|^unnamed: ?\d+$|^row[\W_]?(names?|no|nr|number)$|^(level_|__index_level_)\d+(__)?$|^index$",
    re.IGNORECASE,
)
CAPITAL_LABEL = re.compile(r"[a-z]I[dD]$")

# Names that number rows, and do not say whose they are.
NUMBERS_ROWS = re.compile(r"unnamed|row|index|level_|__index", re.IGNORECASE)

# Letters by their category, and yet nothing is seen of them: fillers, and marks that choose between
# forms of a letter. That of emoji (U+FE0F) is left, and its opposite.
UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0"
    "\U000e0100-\U000e01ef]"
)

# Most names that a message lists.
MAX_LISTED = 8


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format the rows of a table as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def comes_back(text: str) -> bool:
    r"""Return whether files give back a text unchanged: no lone surrogate, and no NUL.

    JSON joins two halves, and UTF-8 has none; an array of text drops a NUL at the end.

    Examples
    --------
    >>> [comes_back(text) for text in ("a\u202eb", "\ud83d\ude00", "a\0")]
    [True, False, False]
    """
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def listed(names: Iterable[object]) -> str:
    """Quoted names with commas between them, the first few of many.

    Examples
    --------
    >>> print(listed(["age", "height"]))
    'age', 'height'
    """
    quoted = [repr(str(name)) for name in names]
    more = f" and {len(quoted) - MAX_LISTED} more" if len(quoted) > MAX_LISTED else ""
    return ", ".join(quoted[:MAX_LISTED]) + more


def meant(words: Iterable[str], known: Iterable[str], quoted: Callable[[str], str] = repr) -> str:
    """The end of an error: which known words are like the ones that are not known.

    Examples
    --------
    >>> meant(["gaus"], ["gauss", "power"])
    "; did you mean 'gauss'?"
    >>> meant(["pca"], ["gauss", "power"])
    ''
    """
    choices = list(known)
    near = [quoted(one) for word in words for one in get_close_matches(word, choices, 1)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def names_a_label(name: str) -> bool:
    """Return whether a column is by its name a label of rows or people, and no feature.

    Examples
    --------
    >>> [names_a_label(name) for name in ("patient_id", "patientID", "#IID", "humid")]
    [True, True, True, False]
    """
    name = name.strip("# \t\ufeff")
    return bool(LABEL.search(name) or CAPITAL_LABEL.search(name))


def may_name_people(name: str) -> bool:
    """Return whether a column may say by its name to whom each row belongs.

    Examples
    --------
    >>> [may_name_people(name) for name in ("patient_id", "Unnamed: 0", "humid")]
    [True, False, False]
    """
    return names_a_label(name) and not NUMBERS_ROWS.match(name)


def printable(text: str) -> str:
    r"""Return the text with backslash escapes for what a terminal would obey or cannot show.

    Parameters
    ----------
    text : str
        One line. A line break is escaped, too, because it could begin a line of its own.

    Returns
    -------
    str
        Control characters, marks that change the direction of writing, letters of which nothing is
        seen, and bytes that are no UTF-8, as escapes; everything else as it is.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if _is_seen(text):
        return text
    return "".join(
        letter if _is_seen(letter) else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def _is_seen(text: str) -> bool:
    return text.isprintable() and UNSEEN.search(text) is None


def shown(value: Any) -> Any:
    r"""Return JSON-able values with every text in them as `printable` has it.

    Examples
    --------
    >>> shown({"title": "a\u202eb", "rows": [1, None]})
    {'title': 'a\\u202eb', 'rows': [1, None]}
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(name): shown(one) for name, one in value.items()}
    return list(map(shown, value)) if isinstance(value, list) else value


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
    """Return whether a unit is one row or one entry, and no group of rows."""
    return unit in (ROW, INTERACTION)


def protected_together(unit: str) -> str:
    """Return the unit that is in the data or not, as a whole."""
    if unit == INTERACTION:
        return "one interaction (one user with one item)"
    return "one row" if unit == ROW else f"all rows of one {unit}"


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML: every cell escaped, and as `printable` has it.

    Examples
    --------
    >>> html_table([], [["<1"]])
    '<table><thead><tr></tr></thead><tbody><tr><td>&lt;1</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(printable(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
