"""Columns by their names: which are features, and which names no release may carry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from .._text import listed, meant, names_a_label
from ._terminal import has_controls
from ._unusable import Unusable

# Labels that number the rows, and do not say whose they are.
NUMBERS_ROWS = re.compile(r"unnamed|row", re.IGNORECASE)


def features_of(
    path: Path,
    names: list[str],
    groups: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> list[str]:
    """The names of the features, in their order."""
    given = {"--groups": [groups] if groups is not None else []}
    for option, asked in (given | {"--columns": columns or [], "--drop": drop}).items():
        for name in asked:
            if name not in names:
                raise Unusable(
                    f"{option} {quote(name)}: {path.name} has no such column; it has "
                    f"{listed(names)}{meant([name], names, quote)}"
                )
    features = [
        name for name in (columns or names) if name != groups and (columns or name not in drop)
    ]
    if len({*features}) < len(features):
        raise Unusable("--columns has a name twice; give each once")
    if not features:
        raise Unusable(f"{path.name}: no column is left as a feature; give at least one")
    return features


def columns_to_look_at(
    names: Sequence[str], groups: str | None, columns: Sequence[str] | None, drop: Sequence[str]
) -> list[str]:
    """The features, or all columns if an option names none: an error would quote their names."""
    cells = [name for name in names if name != groups]
    if not {*drop, *(columns or ()), groups} <= {*names, None}:
        return cells
    return [name for name in cells if name in (columns or cells) and name not in drop]


def check_same(first: Path, file: Path, names: Sequence[str], others: Sequence[str]) -> None:
    """Refuse files of several tables. No name is quoted: a first line may be a record."""
    if list(names) != list(others):
        raise Unusable(
            f"{file.name} has other columns than {first.name}, or has them in another order; give "
            "files of one table, with the same columns in the same order"
        )


def check_names(path: Path, names: list[str]) -> None:
    """Refuse names that cannot be printed, or that are there twice."""
    unprintable = [i for i, name in enumerate(names) if has_controls(name)]
    if unprintable:
        raise Unusable(
            f"{path.name} has a line break or another control character in the name of column "
            f"{unprintable[0] + 1}; rename it"
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Unusable(f"{path.name} has two columns {twice[0]!r}; give every one its own name")


def check_labels(path: Path, names: list[str]) -> None:
    """Refuse an identifier among the features: it may be the column for `--groups`.

    Without groups, every row of a person would be protected alone.
    """
    for fault in label_faults(names):
        raise Unusable(f"{path.name}: {fault}")


def label_faults(names: list[str]) -> list[str]:
    """What is wrong with each feature that is an identifier by its name."""
    return [
        f"by its name {name!r} is a label and no feature; if it says to whom each row belongs, "
        f"pass --groups {quote(name)}; else pass --drop {quote(name)}, or give it another name"
        for name in names
        if names_a_label(name)
    ]


def check_alone(path: Path, names: list[str], features: list[str]) -> None:
    """Refuse rows that are protected one by one, if a column may say to whom they belong."""
    labels = [
        name
        for name in names
        if name not in features and names_a_label(name) and not NUMBERS_ROWS.match(name)
    ]
    if labels:
        name = labels[0]
        raise Unusable(
            f"{path.name}: without --groups every row is protected alone, and by its name {name!r} "
            f"may say to whom each row belongs; pass --groups {quote(name)}, or --unit row if "
            "every record has one row only"
        )


def numbered(count: int) -> list[str]:
    """Names for columns that have none: x0, x1, ..."""
    return [f"x{i}" for i in range(count)]


def is_name(text: str) -> bool:
    """Whether the text begins with a letter and is neither a number nor a boolean.

    A record of dates, booleans or placeholders must not pass as names, which are published.
    """
    text = text.strip()
    try:
        float(text)
    except ValueError:
        named = text[:1].isalpha() or text[:1] == "_"
        return named and text.lower() not in ("true", "false")
    return False
