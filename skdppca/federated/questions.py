"""What a site may be asked: a closed set of kinds, whose fields say what each of them may hold.

A question is a list of steps (views, and choices of random parts) and a statistic, as everywhere.
Here it travels as JSON with the arrays beside it. A site takes no other kind, and no value that the
type of its field does not allow (`statistics.fields`): whatever is read here was built of validated
numbers, and its proof holds for all of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..noise import SharedQuery
from ..records import Layout, Records, precision_of
from ..statistics import (
    KINDS,
    CapturedTotal,
    GramNorms,
    MeanRows,
    NormProduct,
    ResidualNorms,
    Scores,
    Statistic,
)
from ..statistics.fields import MAX_ENTRIES, need, read, types_of

# The closed set: what sites answer, and what it is made of.
MEASURES = ("CrossNorms", "Distances", "GramNorms", "ResidualNorms", "RowCounts", "Spreads")
STATISTICS = (
    "BoundedTotal",
    "CapturedTotal",
    "ClippedGram",
    "ClippedSum",
    "ColumnCells",
    "Count",
    "CrossSum",
    "MeanSquares",
    "MeasureHistogram",
    "NormProduct",
    "ProductSum",
    "ResidualSum",
)
VIEWS = ("Explicit", "LargestEntries", "MeanRows", "Scaled", "Scores", "Shifted")
QUESTIONS = frozenset((*STATISTICS, *VIEWS, *MEASURES, "Part"))

# Steps of a question; parts of the records, and faces of the die that they are drawn with.
MAX_STEPS = 20
MAX_PARTS = 1000
MAX_FACES = 10_000

# How far a prediction may be from what its core makes it.
SAME = 1e-9


class QuestionError(ValueError):
    """A question that sites do not answer."""


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
            need(isinstance(value["array"], str) and isinstance(shape, list))
            need(all(type(n) is int and n >= 0 for n in shape))
            need(math.prod(shape) <= MAX_ENTRIES)
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
    need(isinstance(content, dict) and set(content) == {"steps", "statistic"})
    need(isinstance(content["steps"], list) and len(content["steps"]) <= MAX_STEPS)
    records, steps = base, []
    for entry in content["steps"]:
        d = records.layout.n_features
        step = _part(entry) if _kind(entry) == "Part" else _built(entry, arrays, d, VIEWS)
        records = step.of(records)
        steps.append(step)
    layout = records.layout
    built = _built(content["statistic"], arrays, layout.n_features, STATISTICS)
    statistic = _consistent(built, layout)
    need(not arrays)  # all of them were used, once
    need(isinstance(statistic, Statistic) and statistic.additive and statistic.norm == 2)
    shape = statistic.shape
    need(math.prod(shape) <= MAX_ENTRIES)
    statistic.check(layout)
    with np.errstate(all="ignore"):
        need(np.shape(statistic.total(records)) == shape)
    return Asked(tuple(steps), statistic), layout


def _kind(entry: Any) -> Any:
    need(isinstance(entry, dict))
    return entry.get("kind")


def _part(entry: dict[str, Any]) -> Drawn:
    need(set(entry) == {"kind", "draw", "shares", "index"})
    draw, shares, index = entry["draw"], entry["shares"], entry["index"]
    need(type(draw) is int and 0 <= draw < 2**31)
    need(isinstance(shares, list) and 1 <= len(shares) <= MAX_PARTS)
    need(all(type(share) is int and 1 <= share <= MAX_FACES for share in shares))
    need(sum(shares) <= MAX_FACES and type(index) is int and 0 <= index < len(shares))
    return Drawn(draw, tuple(shares), index)


def _built(entry: Any, arrays: dict[str, np.ndarray], d: int, among: Collection[str]) -> Any:
    """What a dict with a "kind" stands for, each of its fields as its type allows."""
    kind = _kind(entry)
    need(isinstance(kind, str) and kind in among)
    types, lengths = types_of(kind), {"d": d}
    need(set(entry) == {"kind", *types})

    def value(content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        if "kind" in content:
            return _built(content, arrays, d, MEASURES)
        need(set(content) == {"array", "shape"} and isinstance(content["array"], str))
        found = arrays.pop(content["array"])
        need(list(found.shape) == content["shape"])
        return found

    return KINDS[kind](**{name: read(types[name], value(entry[name]), lengths) for name in types})


def _consistent(statistic: Any, layout: Layout) -> Any:
    """The same, where what its fields say together is what its proof needs."""
    found = getattr(statistic, "measure", None)
    if isinstance(found, ResidualNorms):
        return replace(statistic, measure=_consistent_residual(found))
    if layout.is_grouped:
        need(not getattr(statistic, "spherical", False) and not getattr(found, "spherical", False))
        if isinstance(found, GramNorms) or isinstance(statistic, NormProduct):
            # a long group's norm is one of a whole matrix: whether it fits must not tell of it
            need((layout.n_features + 1) ** 2 <= MAX_ENTRIES)
    return statistic


def _consistent_residual(found: ResidualNorms) -> ResidualNorms:
    """Norms by products take the prediction's part in the directions from its core."""
    if found.core is None:
        return found
    within = found.core[:, None] * found.directions
    lengths = (float(np.linalg.norm(rows)) for rows in (within, found.prediction))
    need(np.linalg.norm(within - found.prediction) <= SAME * max(lengths))
    return replace(found, prediction=within)
