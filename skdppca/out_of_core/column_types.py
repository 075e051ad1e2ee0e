"""Columns of files: numbers, and labels whose order says whether each group is in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def value_type(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column's values, whether or not they are encoded."""
    kind = schema.field(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


class Labels:
    """Check of the order of labels that come one after the other, in constant memory.

    Parameters
    ----------
    kind : pyarrow.DataType or None
        Integers, or large_string for all text; None if there are no labels.

    Notes
    -----
    Integers increase. Text is in the order of its UTF-8, or shorter text comes first, which is the
    order of integers that are written as text. In any order a group is in one place.
    """

    def __init__(self, kind: pa.DataType | None = None) -> None:
        self.missing = False
        self._kind = kind
        self._last: Any = None
        self._in_order = self._in_short_order = True

    @property
    def unsorted(self) -> bool:
        """True if the labels so far were in no order."""
        return not (self._in_order or self._in_short_order)

    def begin(self, labels: pa.Array) -> np.ndarray:
        """Return whether each of the next labels differs from the label before."""
        if pa.types.is_dictionary(labels.type):
            labels = labels.dictionary_decode()
        labels = labels.cast(self._kind)
        if labels.null_count:
            self.missing = True
            return np.ones(len(labels), bool)
        before = labels.slice(0, len(labels) - 1)
        after = labels.slice(1)
        if self._last is not None:
            before, after = pa.concat_arrays([self._last, before]), labels
        differs = _array(pc.not_equal(before, after))
        rises = ~differs | _array(pc.less(before, after))
        self._in_order &= bool(rises.all())
        if pa.types.is_integer(self._kind):
            self._in_short_order = False
        elif self._in_short_order:
            longer = _array(pc.subtract(pc.binary_length(after), pc.binary_length(before)))
            self._in_short_order = bool(((longer > 0) | (longer == 0) & rises).all())
        first = self._last is None
        self._last = pa.array([labels[-1].as_py()], self._kind)  # a slice would hold them all
        return np.concatenate([[True], differs]) if first else differs


def is_number(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds real numbers."""
    types = pa.types
    return any(
        test(kind)
        for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    )


def is_label(kind: pa.DataType) -> bool:
    """Return whether a column of this type can identify a row's group: whole numbers, or text."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_label(kind.value_type)
    texts = (types.is_integer, types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in texts)


def numbers_of(column: pa.Array) -> np.ndarray:
    """The numbers of a column, NaN where there is none."""
    kind, types = column.type, pa.types
    if types.is_boolean(kind) or types.is_decimal(kind) or types.is_null(kind):
        column = column.cast(pa.float64())
    elif not is_number(kind):  # in one of several files
        raise TypeError("not the type that the dataset states")
    return column.to_numpy(zero_copy_only=False)


def _array(truths: pa.Array) -> np.ndarray:
    return np.asarray(truths.to_numpy(zero_copy_only=False))
