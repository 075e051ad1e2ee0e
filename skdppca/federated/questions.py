"""What a site may be asked: a closed set of kinds, whose fields say what each of them may hold.

A question is a list of steps (views, and choices of random parts) and a statistic, as everywhere.
Here it travels as JSON with the arrays beside it. A site takes no other kind, and no value that the
type of its field does not allow (`statistics.fields`): whatever is read here was built of validated
numbers, and its proof holds for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
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


class Array(Struct, frozen=True, forbid_unknown_fields=True, tag_field="is", tag="array"):
    """An array that goes beside a question.

    Parameters
    ----------
    name : str
    shape : tuple of int
    """

    name: str
    shape: tuple[Annotated[int, Meta(ge=0)], ...]

    def __post_init__(self) -> None:
        need(math.prod(self.shape) <= MAX_ENTRIES)


class MeasureForm(Struct, frozen=True, forbid_unknown_fields=True, tag_field="is", tag="measure"):
    """A measure, by its name and its fields.

    Parameters
    ----------
    kind : str
    fields : dict
    """

    kind: str
    fields: dict[str, bool | int | float | Array | None]


class Form(Struct, frozen=True, forbid_unknown_fields=True, tag_field="is", tag="kind"):
    """A view or a statistic, by its name and its fields.

    Parameters
    ----------
    kind : str
    fields : dict
    """

    kind: str
    fields: dict[str, bool | int | float | Array | MeasureForm | None]


class Drawn(Struct, frozen=True, forbid_unknown_fields=True, tag_field="is", tag="part"):
    """One of several disjoint random parts, as it is spoken of: the key stays at each site.

    Parameters
    ----------
    draw : int
        The number of the draw within a run; another number is another, independent draw.
    shares : tuple of int
    index : int
    """

    draw: Annotated[int, Meta(ge=0, lt=2**31)]
    shares: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MAX_FACES)], ...],
        Meta(min_length=1, max_length=MAX_PARTS),
    ]
    index: Annotated[int, Meta(ge=0)]

    def __post_init__(self) -> None:
        need(sum(self.shares) <= MAX_FACES and self.index < len(self.shares))

    def of(self, records: Records) -> Records:
        """What stands in for the records of a part: who is in it, only a site's key can tell."""
        return records


class WrittenQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """A question as it travels.

    Parameters
    ----------
    steps : tuple of Form or Drawn
        Views, and choices of random parts.
    statistic : Form
    """

    steps: Annotated[tuple[Form | Drawn, ...], Meta(max_length=MAX_STEPS)]
    statistic: Form

    def forms(self) -> list[Form | MeasureForm]:
        """All views, statistics and measures in it."""
        forms = [step for step in (*self.steps, self.statistic) if isinstance(step, Form)]
        values = [value for form in forms for value in form.fields.values()]
        return [*forms, *(value for value in values if isinstance(value, MeasureForm))]

    def kinds(self) -> set[str]:
        """The names of all kinds in it."""
        parts = {"Part" for step in self.steps if isinstance(step, Drawn)}
        return {form.kind for form in self.forms()} | parts

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays beside it, by name."""
        values = [value for form in self.forms() for value in form.fields.values()]
        return {value.name: value.shape for value in values if isinstance(value, Array)}


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
) -> tuple[WrittenQuestion, dict[str, np.ndarray]]:
    """A question as it travels, and the arrays beside it.

    Raises
    ------
    QuestionError
        If it is of a kind that sites are not asked.
    """
    arrays: dict[str, np.ndarray] = {}

    def write(value: Any, form: type[Form | MeasureForm] = MeasureForm) -> Any:
        if isinstance(value, Drawn):
            return value
        if isinstance(value, np.ndarray):
            name = f"a{len(arrays)}"
            arrays[name] = np.ascontiguousarray(value, dtype=np.float64)
            return Array(name, value.shape)
        if isinstance(value, np.generic):
            return value.item()
        kind = type(value).__name__
        if kind in KINDS:
            if kind not in QUESTIONS:
                raise QuestionError(f"{kind} is not asked of sites")
            return form(kind, {one.name: write(getattr(value, one.name)) for one in fields(value)})
        if value is not None and type(value) not in (bool, int, float):
            raise QuestionError(f"a {kind} is not sent to sites")
        return value

    written = tuple(write(step, Form) for step in steps)
    return WrittenQuestion(written, write(statistic, Form)), arrays


def read_question(
    question: WrittenQuestion, arrays: Mapping[str, np.ndarray], base: Records
) -> tuple[Asked, Layout]:
    """Read what `written_question` wrote, and refuse everything else.

    Parameters
    ----------
    question : WrittenQuestion
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
        return _read(question, dict(arrays), base)
    except QuestionError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
        raise QuestionError(f"it cannot be asked: {error}") from None


def _read(
    question: WrittenQuestion, arrays: dict[str, np.ndarray], base: Records
) -> tuple[Asked, Layout]:
    records, steps = base, []
    for form in question.steps:
        d = records.layout.n_features
        step = form if isinstance(form, Drawn) else _built(form, arrays, d, VIEWS)
        records = step.of(records)
        steps.append(step)
    layout = records.layout
    built = _built(question.statistic, arrays, layout.n_features, STATISTICS)
    statistic = _consistent(built, layout)
    need(not arrays)  # all of them were used, once
    need(isinstance(statistic, Statistic) and statistic.additive and statistic.norm == 2)
    shape = statistic.shape
    need(math.prod(shape) <= MAX_ENTRIES)
    statistic.check(layout)
    with np.errstate(all="ignore"):
        need(np.shape(statistic.total(records)) == shape)
    return Asked(tuple(steps), statistic), layout


def _built(
    form: Form | MeasureForm, arrays: dict[str, np.ndarray], d: int, among: Collection[str]
) -> Any:
    """Return the object that a form stands for, each of its fields as its type allows."""
    need(form.kind in among)
    types, lengths = types_of(form.kind), {"d": d}
    need(set(form.fields) == set(types))

    def value(content: Any) -> Any:
        if isinstance(content, MeasureForm):
            return _built(content, arrays, d, MEASURES)
        if not isinstance(content, Array):
            return content
        found = arrays.pop(content.name)
        need(found.shape == content.shape)
        return found

    return KINDS[form.kind](
        **{name: read(types[name], value(form.fields[name]), lengths) for name in types}
    )


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
