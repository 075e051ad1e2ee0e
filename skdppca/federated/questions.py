"""What a site may be asked: a table of the kinds of questions, and of what each of them may hold.

A question is a list of steps (views, and choices of random parts) and a statistic, as everywhere.
Here it travels as JSON with the arrays beside it. A site takes nothing that the table does not
allow: whatever is read here was built of validated numbers, and its proof holds for all of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..noise import SharedQuery
from ..records import Layout, Records, precision_of
from ..statistics import (
    KINDS,
    CapturedTotal,
    GramNorms,
    MeanRows,
    Measure,
    NormProduct,
    ResidualNorms,
    Scores,
    Statistic,
)

__all__ = [
    "LARGEST",
    "QUESTIONS",
    "STATISTICS",
    "Asked",
    "Drawn",
    "QuestionError",
    "declared_shapes",
    "priced",
    "read_question",
    "standin",
    "written_question",
]

# No number is larger, and no scale or radius is smaller than its inverse. Norms are looked for up
# to 2^40.5, so norms of products lie far within; and fourth powers of all far within float64.
LARGEST = 2.0**100

# Entries of one answer, and of one array beside a question.
MAX_ENTRIES = 2**26

# Cells of a histogram; parts of the records, and faces of the die that they are drawn with.
MAX_EDGES, MAX_PARTS, MAX_FACES = 10_000, 1000, 10_000

MAX_STEPS = 20

# How far rows may be from orthonormal, and a prediction from what its core makes it.
ORTHONORMAL, SAME = 1e-9, 1e-9


class QuestionError(ValueError):
    """A question that the table does not allow."""


@dataclass(frozen=True)
class Drawn:
    """One of several disjoint random parts, as it is spoken of: the key stays at each site.

    Parameters
    ----------
    draw : int
        The number of the draw within a run; another number is another, independent draw.
    shares : tuple of int
    index : int
    """

    draw: int
    shares: tuple[int, ...]
    index: int

    def of(self, records: Records) -> Records:
        """What stands in for the records of a part: who is in it, only a site's key can tell."""
        return records


@dataclass(frozen=True)
class Asked:
    """A question, as it was validated.

    Parameters
    ----------
    steps : tuple of View or Drawn
    statistic : Statistic
    """

    steps: tuple[Any, ...]
    statistic: Statistic

    def kinds(self) -> set[str]:
        """The names of all kinds in it."""
        found: set[str] = set()

        def look(value: Any) -> None:
            if isinstance(value, Drawn):
                found.add("Part")
            elif type(value).__name__ in KINDS:
                found.add(type(value).__name__)
                for field in fields(value):
                    look(getattr(value, field.name))

        for part in (*self.steps, self.statistic):
            look(part)
        return found

    def drawn(self) -> tuple[Drawn, ...]:
        """The parts that are asked, the outermost first."""
        return tuple(step for step in self.steps if isinstance(step, Drawn))

    def held(self, n_features: int) -> int:
        """Numbers that a site may hold of every row for this, besides its table."""
        numbers = 0
        for step in self.steps:
            if isinstance(step, Scores):
                n_features = len(step.directions)
            if isinstance(step, Scores | MeanRows):
                numbers += n_features
        measure = getattr(self.statistic, "measure", None)
        if isinstance(measure, ResidualNorms):
            numbers += 1 + len(measure.directions)
        if isinstance(self.statistic, CapturedTotal):
            numbers += len(self.statistic.directions)
        return numbers


class Context(NamedTuple):
    """What a field must fit to."""

    d: int
    layout: Layout


# Takes a value as it was built from JSON (arrays are arrays), and returns what the kind is given.
Field = Callable[[Any, Context], Any]


def _need(valid: Any) -> None:
    if not bool(valid):
        raise QuestionError("a number of the question is not valid")


def _array(value: Any, *shape: int | None) -> np.ndarray:
    _need(isinstance(value, np.ndarray) and value.dtype == np.float64)
    _need(value.ndim == len(shape) and value.size <= MAX_ENTRIES)
    _need(all(n is None or n == m for n, m in zip(shape, value.shape, strict=True)))
    return value


def _finite(value: np.ndarray) -> np.ndarray:
    _need((np.abs(value) <= LARGEST).all())  # False for NaN
    return value


def vector(value: Any, at: Context) -> np.ndarray:
    """One finite number a feature."""
    return _finite(_array(value, at.d))


def positive_vector(value: Any, at: Context) -> np.ndarray:
    """One positive number a feature."""
    found = vector(value, at)
    _need((found >= 1 / LARGEST).all())
    return found


def rows(value: Any, at: Context) -> np.ndarray:
    """Finite rows, from one to as many as there are features."""
    found = _finite(_array(value, None, at.d))
    _need(1 <= len(found) <= at.d)
    return found


def orthonormal(value: Any, at: Context) -> np.ndarray:
    """Orthonormal rows."""
    found = rows(value, at)
    _need(np.abs(found @ found.T - np.eye(len(found))).max() <= ORTHONORMAL)
    return found


def square(value: Any, at: Context) -> np.ndarray:
    """A square matrix."""
    found = _finite(_array(value, None, None))
    _need(found.shape[0] == found.shape[1] <= at.d)
    return found


def increasing(value: Any, at: Context) -> np.ndarray:
    """Edges of cells."""
    found = _finite(_array(value, None))
    _need(2 <= len(found) <= MAX_EDGES and (np.diff(found) > 0).all())
    return found


def open_increasing(value: Any, at: Context) -> np.ndarray:
    """Edges of cells, of which the outer ones may be infinite."""
    found = _array(value, None)
    _need(2 <= len(found) <= MAX_EDGES and (found[1:] > found[:-1]).all())
    _finite(found[1:-1])
    _need((np.isinf(found) | (np.abs(found) <= LARGEST)).all())
    return found


def features(value: Any, at: Context) -> np.ndarray:
    """Numbers of features, increasing."""
    found = _array(value, None)
    _need(1 <= len(found) and (found == np.floor(found)).all())
    _need(found[0] >= 0 and found[-1] < at.d and (np.diff(found) > 0).all())
    return found.astype(np.intp)


def radius(value: Any, at: Context) -> float:
    """Positive and finite: nobody is asked not to clip."""
    _need(type(value) is float and 1 / LARGEST <= value <= LARGEST)
    return float(value)


def bound(value: Any, at: Context) -> float | int:
    """A radius, or a whole number."""
    if type(value) is int:
        _need(1 <= value <= LARGEST)
        return int(value)
    return radius(value, at)


def constant(value: Any, at: Context) -> float:
    """From 0 on."""
    _need(type(value) in (int, float) and 0 <= value <= LARGEST)
    return float(value)


def flag(value: Any, at: Context) -> bool:
    """True or false."""
    _need(type(value) is bool)
    return bool(value)


def power(value: Any, at: Context) -> int:
    """1 or 2."""
    _need(type(value) is int and value in (1, 2))
    return int(value)


def most(value: Any, at: Context) -> int:
    """A number of entries of a row."""
    _need(type(value) is int and 1 <= value <= at.d)
    return int(value)


def nothing(value: Any, at: Context) -> None:
    """What sites do not offer: a guarantee for less than a record."""
    _need(value is None)


def measure(value: Any, at: Context) -> Measure:
    """A number of every record that only its own record changes."""
    _need(isinstance(value, Measure) and value.moved == 1)
    return value


def residual(value: Any, at: Context) -> ResidualNorms:
    """The norms of residuals, by which they are clipped."""
    _need(isinstance(value, ResidualNorms))
    return value


def optional(check: Field) -> Field:
    """The same, or nothing."""
    return lambda value, at: None if value is None else check(value, at)


# For every kind the fields that it has, and what each may be. What depends on several fields is
# checked by the kinds themselves, by `Statistic.check`, and by `_consistent`.
MEASURES: dict[str, dict[str, Field]] = {
    "Distances": {"centre": vector},
    "GramNorms": {"centre": vector, "constant": constant},
    "ResidualNorms": {
        "centre": vector,
        "removed": optional(orthonormal),
        "directions": orthonormal,
        "prediction": rows,
        "core": optional(square),
    },
    "RowCounts": {},
    "Spreads": {"centre": vector},
}
STATISTICS: dict[str, dict[str, Field]] = {
    "BoundedTotal": {"measure": measure, "bound": bound, "power": power},
    "CapturedTotal": {"centre": vector, "radius": radius, "directions": orthonormal},
    "ClippedGram": {
        "centre": vector,
        "radius": radius,
        "constant": constant,
        "grouped": flag,
        "spherical": flag,
    },
    "ClippedSum": {"centre": vector, "radius": radius},
    "ColumnCells": {
        "which": features,
        "centre": lambda value, at: _finite(_array(value, None)),
        "unit": lambda value, at: _finite(_array(value, None)),
        "edges": open_increasing,
        "grouped": flag,
    },
    "Count": {},
    "MeanSquares": {"centre": vector, "unit": positive_vector, "bound": radius},
    "MeasureHistogram": {"measure": measure, "edges": increasing},
    "NormProduct": {
        "centre": vector,
        "directions": orthonormal,
        "radius": radius,
        "spherical": flag,
        "grouped": flag,
        "most": optional(most),
        "floor": nothing,
    },
    "ProductSum": {"measure": residual, "radius": radius},
    "ResidualSum": {"measure": residual, "radius": radius},
}
VIEWS: dict[str, dict[str, Field]] = {
    "Explicit": {},
    "LargestEntries": {"most": most},
    "MeanRows": {"fill": vector},
    "Scaled": {"scale": positive_vector},
    "Scores": {"directions": rows, "centre": vector},
    "Shifted": {"centre": vector},
}
QUESTIONS = {**STATISTICS, **VIEWS, **MEASURES, "Part": {}}


def standin(
    n_features: int, *, grouped: bool = False, is_sparse: bool = False, may_miss: bool = False
) -> Records:
    """One record of zeros in the place of a site's: for what follows from public facts alone."""
    zeros = np.zeros((1, n_features))
    labels = np.zeros(1, dtype=np.intp) if grouped else None
    return Records.of(sparse.csr_array(zeros) if is_sparse else zeros, labels, may_miss=may_miss)


def priced(
    asked: Asked, layout: Layout, build: Callable[..., SharedQuery], **more: Any
) -> SharedQuery:
    """The query that a question is, for the price of it or by the price of it.

    Parameters
    ----------
    asked : Asked
    layout : Layout
        Of the records, through the question's steps.
    build : callable
        Takes what follows from the question.
    """
    statistic = asked.statistic
    precision = precision_of(statistic, layout)
    return build(sensitivity=statistic.sensitivity("add-remove"), **precision, **more)


def written_question(
    steps: Iterable[Any], statistic: Statistic
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A question as JSON-able values, and the arrays beside it.

    Raises
    ------
    QuestionError
        If it is of a kind that sites are not asked.
    """
    arrays: dict[str, np.ndarray] = {}

    def write(value: Any) -> Any:
        if isinstance(value, Drawn):
            return {
                "kind": "Part",
                "draw": value.draw,
                "shares": list(value.shares),
                "index": value.index,
            }
        if isinstance(value, np.ndarray):
            name = f"a{len(arrays)}"
            arrays[name] = np.ascontiguousarray(value, dtype=np.float64)
            return {"array": name, "shape": list(value.shape)}
        if isinstance(value, np.generic):
            return value.item()
        kind = type(value).__name__
        if kind in KINDS:
            if kind not in QUESTIONS:
                raise QuestionError(f"{kind} is not asked of sites")
            content = {field.name: write(getattr(value, field.name)) for field in fields(value)}
            return {"kind": kind} | content
        if value is not None and type(value) not in (bool, int, float):
            raise QuestionError(f"a {kind} is not sent to sites")
        return value

    return {
        "steps": [write(step) for step in steps],
        "statistic": write(statistic),
    }, arrays


def declared_shapes(body: bytes) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that go beside a message, by name; none if it declares none.

    Parameters
    ----------
    body : bytes
        Of a message whose signature was checked.
    """
    found: dict[str, tuple[int, ...]] = {}

    def look(value: Any) -> None:
        if isinstance(value, list):
            for one in value:
                look(one)
        elif isinstance(value, dict) and set(value) == {"array", "shape"}:
            shape = value["shape"]
            _need(isinstance(value["array"], str) and isinstance(shape, list))
            _need(all(type(n) is int and n >= 0 for n in shape))
            _need(math.prod(shape) <= MAX_ENTRIES)
            found[value["array"]] = tuple(shape)
        elif isinstance(value, dict):
            look(list(value.values()))

    try:
        look(json.loads(body)["question"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return found


def read_question(
    content: Any, arrays: Mapping[str, np.ndarray], base: Records
) -> tuple[Asked, Layout]:
    """Read what `written_question` wrote, and refuse everything else.

    Parameters
    ----------
    content : object
        Parsed JSON.
    arrays : mapping of str to ndarray
    base : Records
        A stand-in for the site's: what a question cannot be asked of, it fails on here.

    Returns
    -------
    asked : Asked
    layout : Layout
        Of the records through its steps.

    Raises
    ------
    QuestionError
    """
    try:
        return _read(content, dict(arrays), base)
    except QuestionError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
        raise QuestionError(f"it cannot be asked: {error}") from None


def _read(content: Any, arrays: dict[str, np.ndarray], base: Records) -> tuple[Asked, Layout]:
    _need(isinstance(content, dict) and set(content) == {"steps", "statistic"})
    _need(isinstance(content["steps"], list) and len(content["steps"]) <= MAX_STEPS)
    records, steps = base, []
    for entry in content["steps"]:
        at = Context(records.layout.n_features, records.layout)
        step = _part(entry) if _kind(entry) == "Part" else _build(entry, arrays, at, VIEWS)
        records = step.of(records)
        steps.append(step)
    at = Context(records.layout.n_features, records.layout)
    statistic = _consistent(_build(content["statistic"], arrays, at, STATISTICS), at)
    _need(not arrays)  # all of them were used, once
    _need(isinstance(statistic, Statistic) and statistic.additive and statistic.norm == 2)
    shape = statistic.shape
    _need(math.prod(shape) <= MAX_ENTRIES)
    statistic.check(records.layout)
    with np.errstate(all="ignore"):
        _need(np.shape(statistic.total(records)) == shape)
    return Asked(tuple(steps), statistic), records.layout


def _kind(entry: Any) -> Any:
    _need(isinstance(entry, dict))
    return entry.get("kind")


def _part(entry: dict[str, Any]) -> Drawn:
    _need(set(entry) == {"kind", "draw", "shares", "index"})
    draw, shares, index = entry["draw"], entry["shares"], entry["index"]
    _need(type(draw) is int and 0 <= draw < 2**31)
    _need(isinstance(shares, list) and 1 <= len(shares) <= MAX_PARTS)
    _need(all(type(share) is int and 1 <= share <= MAX_FACES for share in shares))
    _need(sum(shares) <= MAX_FACES and type(index) is int and 0 <= index < len(shares))
    return Drawn(draw, tuple(shares), index)


def _build(
    entry: Any,
    arrays: dict[str, np.ndarray],
    at: Context,
    table: Mapping[str, Mapping[str, Field]],
) -> Any:
    """What a dict with a "kind" stands for, of the kinds of a table."""
    kind = _kind(entry)
    _need(isinstance(kind, str) and kind in table)
    checks = table[kind]
    _need(set(entry) == {"kind", *checks})

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "kind" in value:
            return _build(value, arrays, at, MEASURES)
        _need(set(value) == {"array", "shape"} and isinstance(value["array"], str))
        found = arrays.pop(value["array"])
        _need(list(found.shape) == value["shape"])
        return found

    return KINDS[kind](**{name: check(read(entry[name]), at) for name, check in checks.items()})


def _consistent(statistic: Any, at: Context) -> Any:
    """The same, where what its fields say together is what its proof needs."""
    found = getattr(statistic, "measure", None)
    if isinstance(found, ResidualNorms):
        found = _consistent_residual(found)
        return replace(statistic, measure=found)
    kind = type(statistic).__name__
    if kind == "ColumnCells":
        size = statistic.which.shape
        _need(statistic.centre.shape == statistic.unit.shape == size)
        _need((statistic.unit >= 1 / LARGEST).all())
    if getattr(statistic, "spherical", False):
        _need(not at.layout.is_grouped)
    if at.layout.is_grouped and (isinstance(found, GramNorms) or kind == NormProduct.__name__):
        # a long group's norm is one of a whole matrix: whether it fits must not tell of the group
        _need((at.d + 1) ** 2 <= MAX_ENTRIES)
    return statistic


def _consistent_residual(found: ResidualNorms) -> ResidualNorms:
    """Norms by products take the prediction's part in the directions from its core."""
    directions, prediction, core = found.directions, found.prediction, found.core
    _need(prediction.shape == directions.shape)
    if core is not None:
        _need(core.shape == (len(directions),) * 2)
        within = np.ascontiguousarray(core @ directions)
        most = SAME * max(float(np.linalg.norm(within)), float(np.linalg.norm(prediction)))
        _need(np.linalg.norm(within - prediction) <= most)
        found = replace(found, prediction=within)
    return found
