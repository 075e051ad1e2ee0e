"""Columns by their names: which are features, and which names no release may carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from .._text import listed, may_name_people, meant, names_a_label
from ._terminal import Unusable


@dataclass(frozen=True)
class Wanted:
    """The columns that a command asks for, and how to read them.

    Parameters
    ----------
    groups : str or None
        The column that says to whom each row belongs; it is no feature.
    columns : sequence of str or None
        The features, in this order; by default all columns but `drop`.
    drop : sequence of str
    alone : bool
        The user said that every row is a record of its own.
    may_miss : bool
        Features may have empty cells, which are NaN then.
    may_be_empty : bool
        Accept no rows, as those of a cohort that nobody came to.
    details : bool
        Name every column of a fault, however many they are.
    scaled : sequence of str
        Features whose scales are found, by their names.
    """

    groups: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    alone: bool = False
    may_miss: bool = False
    may_be_empty: bool = False
    details: bool = False
    scaled: Sequence[str] = ()

    def as_feature(self, name: str) -> bool:
        """Return whether a column is a feature."""
        return name != self.groups and (
            name in self.columns if self.columns else name not in self.drop
        )


def features_of(
    path: Path, names: list[str], want: Wanted, labels: Sequence[str] = ()
) -> list[str]:
    """Return the names of the features, in their order; `labels` may only be groups or dropped."""
    given = {"--groups": [] if want.groups is None else [want.groups]}
    for option, asked in (given | {"--columns": want.columns or [], "--drop": want.drop}).items():
        for name in asked:
            if name not in names and (option == "--columns" or name not in labels):
                raise Unusable(
                    f"{option} {quote(name)}: {path.name} has no such column; it has "
                    f"{listed([*names, *labels])}{meant([name], [*names, *labels], quote)}"
                )
    features = [name for name in want.columns or names if want.as_feature(name)]
    if len({*features}) < len(features):
        raise Unusable("--columns has a name twice; give each once")
    if not features:
        raise Unusable(f"{path.name}: no column is left as a feature; give at least one")
    for name in want.scaled:
        if name not in features:
            raise Unusable(
                f"--scale private:{quote(name)}: {path.name} has no such feature; it has "
                f"{listed(features)}{meant([name], features, quote)}"
            )
    return features


def columns_to_look_at(names: Sequence[str], want: Wanted, labels: Sequence[str] = ()) -> list[str]:
    """The features, or all columns if an option names none: an error would quote their names."""
    if {*want.drop, *(want.columns or ()), want.groups} <= {*names, *labels, None}:
        return list(filter(want.as_feature, names))
    return [name for name in names if name != want.groups]


def check_same(first: Path, file: Path, names: Sequence[str], others: Sequence[str]) -> None:
    """Refuse files of several tables. No name is quoted: a first line may be a record."""
    if list(names) != list(others):
        raise Unusable(
            f"{file.name} has other columns than {first.name}, or has them in another order; give "
            "files of one table, with the same columns in the same order"
        )


def check_names(path: Path, names: list[str]) -> None:
    """Refuse names that are there twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Unusable(f"{path.name} has two columns {twice[0]!r}; give every one its own name")


def label_faults(names: list[str]) -> list[str]:
    """Refuse features that are identifiers by their names: one may be the column for `--groups`.

    Without groups, every row of a person would be protected alone.
    """
    return [
        f"by its name {name!r} is a label and no feature; if it says to whom each row belongs, "
        f"pass --groups {quote(name)}; if not, give it another name, or pass --drop {quote(name)}"
        + " --unit row, which protects every row alone"
        * may_name_people(name)
        for name in names
        if names_a_label(name)
    ]


def check_alone(path: Path, names: list[str], features: list[str]) -> None:
    """Refuse rows that are protected one by one, if a column may say to whom they belong."""
    labels = [name for name in names if name not in features and may_name_people(name)]
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
    """Return whether the text begins with a letter and is neither a number nor a boolean.

    A record of dates, booleans or placeholders must not pass as names, which are published.
    """
    text = text.strip()
    try:
        float(text)
    except ValueError:
        named = text[:1].isalpha() or text[:1] == "_"
        return named and text.lower() not in ("true", "false")
    return False
