"""Measured figures by their keys, as the documentation cites them.

A key is ``TABLE | COLUMN=VALUE; COLUMN=VALUE | COLUMN``: a table of ``benchmarks/results`` or
``doc/experiments``, the conditions that select one of its rows, and the column of the figure::

    methods_accuracy | data=digits; epsilon=1 | DPGauss

- A condition holds if cell and value are the same number or text. Where no cell is the same, its
  text may go on after a comma or a bracket: ``data=digits`` selects "digits, 1797 x 64".
- ``COLUMN #2`` is the second number of a cell such as "0.968 (0.970)".
- ``TABLE | # | FACT #2`` is a number of the lines above the table, such as "# repeats: ...".
- ``least KEY``, ``largest KEY``: of all rows that the conditions select, if these are many.
- ``1 - KEY`` and ``KEY // KEY``: a loss from a share, and a ratio.
- ``KEY -> FORMAT``: printed in that format of Python, such as ``.2f``, ``.1e`` or ``.0%``. Without
  it a figure is printed as its table has it. The zero before a point is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import _common

EXPERIMENTS = Path(__file__).parents[1] / "doc" / "experiments"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
EXTREMES = {"least": min, "largest": max}
COMPLEMENT = re.compile(r"1 - (?=\d)")  # of a cell such as 1 - 8e-04


class MissingFigure(LookupError):
    """A key that finds no figure, or more than one."""


@dataclass(frozen=True)
class Figure:
    """A number, and how its table or its key prints it."""

    value: float
    text: str


def table_path(name: str) -> Path:
    """The file of a table."""
    for folder in (_common.RESULTS, EXPERIMENTS):
        if (folder / f"{name}.csv").exists():
            return folder / f"{name}.csv"
    raise MissingFigure(f"no table {name!r} in benchmarks/results or doc/experiments")


@cache
def _table(path: Path) -> tuple[list[dict[str, str]], dict[str, str]]:
    return _common.read(path)


def tables(expression: str) -> list[str]:
    """The names of the tables that an expression takes its figures from."""
    keys = expression.partition("->")[0].split("//")
    return [
        re.sub(r"^\s*(?:(?:1 -|least|largest)\s)*", "", key).split("|")[0].strip() for key in keys
    ]


def figure(expression: str) -> Figure:
    """What a key, or an expression of keys, stands for."""
    keys, arrow, form = (part.strip() for part in " ".join(expression.split()).partition("->"))
    found = _computed(keys)
    if arrow:
        return Figure(found.value, _printed(found.value, form))
    if not found.text:
        raise MissingFigure(f"{expression!r} is computed: end it with a format, such as -> .2f")
    return found


def value(expression: str) -> float:
    """The same as a number, whatever its format."""
    return _computed(" ".join(expression.split()).partition("->")[0].strip()).value


def half_digit(expression: str) -> float:
    """Half of the last digit that its table prints of a figure, or of the share in ``1 - KEY``."""
    keys = " ".join(expression.split()).partition("->")[0].strip()
    return half_of(NUMBER.findall(_cited(keys.removeprefix("1 - ")).text)[-1])


def half_of(printed: str) -> float:
    """Half of the last digit of a printed number."""
    mantissa, _, exponent = printed.partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def _computed(keys: str) -> Figure:
    if "//" in keys:
        above, below = (_computed(key.strip()) for key in keys.split("//", 1))
        return Figure(above.value / below.value, "")
    if keys.startswith("1 -"):
        return Figure(1 - _computed(keys[3:].strip()).value, "")
    return _cited(keys)


def _printed(value: float, form: str) -> str:
    try:
        text = format(value, form)
    except ValueError:
        raise MissingFigure(f"{form!r} is no format of a number, as .2f is") from None
    return _without_zero(text.replace("%", " %"))


def _without_zero(text: str) -> str:
    return re.sub(r"(?<![\d.])0(?=\.\d)", "", text)


def _cited(key: str) -> Figure:
    parts = [part.strip() for part in key.split("|")]
    if len(parts) != 3:
        raise MissingFigure(f"{key!r} is no key; write TABLE | COLUMN=VALUE; ... | COLUMN")
    name, conditions, column = parts
    extreme = EXTREMES.get(name.partition(" ")[0])
    name = name.partition(" ")[2].strip() if extreme else name
    rows, facts = _table(table_path(name))
    column, _, place = (part.strip() for part in column.partition("#"))
    if conditions == "#":
        rows = [facts]
    else:
        wanted = [_condition(one, [*rows[0]], key) for one in conditions.split(";") if one.strip()]
        exact = [row for row in rows if all(row[name] == text for name, text in wanted)]
        rows = exact or [row for row in rows if all(_holds(row[a], b) for a, b in wanted)]
    if not rows or (len(rows) > 1 and not extreme):
        raise MissingFigure(f"{key!r}: {len(rows)} rows of {name} are selected, not one")
    if column not in rows[0]:
        raise MissingFigure(f"{key!r}: {name} has no column {column!r}; it has {[*rows[0]]}")
    found = [_number(row[column], int(place or 1), key) for row in rows]
    return (extreme or min)(found, key=lambda one: one.value)


def _condition(condition: str, columns: list[str], key: str) -> tuple[str, str]:
    column, _, text = (part.strip() for part in condition.partition("="))
    if column not in columns:
        raise MissingFigure(f"{key!r}: {condition!r} is no condition on the columns {columns}")
    return column, text


def _holds(cell: str, text: str) -> bool:
    if NUMBER.fullmatch(text) and NUMBER.fullmatch(cell):
        return float(cell) == float(text)
    return cell == text or cell.startswith((f"{text},", f"{text} ("))


def _number(cell: str, place: int, key: str) -> Figure:
    """A number of a cell; "1 - 8e-04" is one number."""
    found = []
    for match in re.finditer(f"({COMPLEMENT.pattern})?({NUMBER.pattern})", cell):
        complement, number = match.groups()
        value = 1 - float(number) if complement else float(number)
        found.append(Figure(value, _without_zero(match.group())))
    if len(found) < place:
        raise MissingFigure(f"{key!r}: the cell {cell!r} has {len(found)} numbers")
    return found[place - 1]
