"""Questions to a site: a closed set of kinds, whose fields' types name the allowed values.

A question is a list of steps (views, and choices of random parts) and a statistic, as everywhere.
Here it travels as JSON with the arrays beside it. A site takes no other kind, and no value that the
type of its field does not allow (`statistics.fields`): whatever is read here was built of validated
numbers, and its proof holds for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from scipy import sparse

from ..decomposition import METHODS
from ..out_of_core.pieces import Question
from ..records import Layout, Records, precision_of
from ..statistics import (
    KINDS,
    GramNorms,
    Measure,
    NormProduct,
    ResidualNorms,
    Scores,
    Statistic,
    View,
)
from ..statistics.fields import MAX_ENTRIES, need, read, types_of
from .study import Study

# The closed set: what sites answer, and what it is made of.
QUESTIONS = frozenset[str]().union(*(method.kinds for method in METHODS.values()))

# Views of a question.
MAX_STEPS = 20

# Largest distance of a prediction from that which its core makes.
SAME = 1e-9


class Form(Struct, frozen=True, forbid_unknown_fields=True):
    """A view, a statistic, or a measure in one, by its name and its fields.

    Parameters
    ----------
    kind : str
    fields : dict
        A text is the name of an array that goes beside the question.
    """

    kind: str
    fields: dict[str, bool | int | float | str | Form | None]


class WrittenQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """A question as it travels.

    Parameters
    ----------
    steps : tuple of Form
        Views.
    statistic : Form
    """

    steps: Annotated[tuple[Form, ...], Meta(max_length=MAX_STEPS)]
    statistic: Form

    def kinds(self) -> set[str]:
        """The names of all views, statistics and measures in it."""
        forms = [*self.steps, self.statistic]
        values = [value for form in forms for value in form.fields.values()]
        return {form.kind for form in [*forms, *values] if isinstance(form, Form)}


def held(question: Question) -> int:
    """Count the numbers that a site may hold of every row for this, besides its table."""
    numbers = sum(len(step.directions) for step in question.views if isinstance(step, Scores))
    measure = getattr(question.statistic, "measure", None)
    return numbers + (1 + len(measure.directions) if isinstance(measure, ResidualNorms) else 0)


def standin(study: Study) -> Records:
    """Make one record of zeros in the place of a site's: for what follows from public facts."""
    zeros = np.zeros((1, study.n_features))
    labels = None if study.unit == "row" else np.zeros(1, dtype=np.intp)
    rows = sparse.csr_array(zeros) if study.sparse else zeros
    return Records.of(rows, labels, may_miss=study.missing == "mean")


def terms(statistic: Statistic, layout: Layout) -> dict[str, Any]:
    """List the fields of a `SharedQuery` that follow from a statistic and its records' layout."""
    return {"sensitivity": statistic.sensitivity("add-remove"), **precision_of(statistic, layout)}


def written_question(
    steps: Iterable[Any], statistic: Statistic
) -> tuple[WrittenQuestion, dict[str, np.ndarray]]:
    """A question as it travels, and the arrays beside it.

    Raises
    ------
    ValueError
        If it is of a kind that sites are not asked.
    """
    arrays: dict[str, np.ndarray] = {}

    def write(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            name = f"a{len(arrays)}"
            arrays[name] = np.ascontiguousarray(value, dtype=np.float64)
            return name
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value).__name__
        if kind in KINDS:
            if kind not in QUESTIONS:
                raise ValueError(f"{kind} is not asked of sites")
            return Form(kind, {one.name: write(getattr(value, one.name)) for one in fields(value)})
        if type(value) is float and not math.isfinite(value):
            raise ValueError(f"{value} is not sent to sites")
        if value is not None and type(value) not in (bool, int, float):
            raise ValueError(f"a {kind} is not sent to sites")
        return value

    written = tuple(map(write, steps))
    return WrittenQuestion(written, write(statistic)), arrays


def read_question(
    question: WrittenQuestion, arrays: Mapping[str, np.ndarray], base: Records
) -> tuple[Question, Layout]:
    """Read what `written_question` wrote, and refuse everything else.

    Parameters
    ----------
    question : WrittenQuestion
    arrays : mapping of str to ndarray
    base : Records
        A stand-in for the site's: what a question cannot be asked of, it fails on here.

    Returns
    -------
    question : Question
    layout : Layout
        Layout of the records through its steps.

    Raises
    ------
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError
        If it cannot be asked.
    """
    arrays = dict(arrays)
    records, steps = base, []
    for form in question.steps:
        d = records.layout.n_features
        step = _built(form, arrays, d, View)
        records = step.of(records)
        steps.append(step)
    layout = records.layout
    built = _built(question.statistic, arrays, layout.n_features, Statistic)
    statistic = _consistent(built, layout)
    need(not arrays)  # all of them were used, once
    need(statistic.additive and statistic.norm == 2)
    shape = statistic.shape
    need(math.prod(shape) <= MAX_ENTRIES)
    statistic.check(layout)
    with np.errstate(all="ignore"):
        need(np.shape(statistic.total(records)) == shape)
    return Question(tuple(steps), statistic), layout


def _built(form: Form, arrays: dict[str, np.ndarray], d: int, base: type) -> Any:
    """Return the object that a form stands for, each of its fields as its type allows."""
    need(form.kind in QUESTIONS and issubclass(KINDS[form.kind], base))
    types, lengths = types_of(form.kind), {"d": d}
    need(set(form.fields) == set(types))

    def value(content: Any) -> Any:
        if isinstance(content, Form):
            return _built(content, arrays, d, Measure)
        return arrays.pop(content) if isinstance(content, str) else content

    return KINDS[form.kind](
        **{name: read(types[name], value(form.fields[name]), lengths) for name in types}
    )


def _consistent(statistic: Any, layout: Layout) -> Any:
    """Return the statistic if its fields together meet its proof's needs; refuse it otherwise."""
    found = getattr(statistic, "measure", None)
    if isinstance(found, ResidualNorms):
        if found.core is None:
            return statistic
        # norms by products take the prediction's part in the directions from its core
        within = found.core[:, None] * found.directions
        lengths = (float(np.linalg.norm(rows)) for rows in (within, found.prediction))
        need(np.linalg.norm(within - found.prediction) <= SAME * max(lengths))
        return replace(statistic, measure=replace(found, prediction=within))
    if layout.is_grouped:
        need(not getattr(statistic, "spherical", False) and not getattr(found, "spherical", False))
        if isinstance(found, GramNorms) or isinstance(statistic, NormProduct):
            # a long group's norm is one of a whole matrix: whether it fits must not tell of it
            need((layout.n_features + 1) ** 2 <= MAX_ENTRIES)
    return statistic
