"""Types of the fields of a statistic: each one names the values that its field may hold.

To the code a `Radius` is a float and a `Vector` an array. To whoever answers questions that others
wrote, its type says which ones: `read` takes no value that it does not allow. A type that says
nothing allows nothing, except that a field which may be None may always be None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..records import KINDS, Measure

# No number is larger, and no scale or radius is smaller than its inverse. Norms of products are
# looked for up to 2^238.5, and fourth powers of all, and sums of as many as there may be rows, lie
# within float64.
LARGEST = 2.0**240

# Entries of one answer, and of one array of a question.
MAX_ENTRIES = 2**26
# Cells of a histogram.
MAX_EDGES = 10_000

# Largest distance of rows from orthonormal.
ORTHONORMAL = 1e-9


def need(valid: Any) -> None:
    """Refuse what is not valid.

    Raises
    ------
    ValueError
    """
    if not bool(valid):
        raise ValueError("a number of the question is not valid")


# Takes a value, and the lengths of the axes that are known; returns what the field is given.
Check = Callable[[Any, dict[str, int]], Any]


@dataclass(frozen=True)
class Numbers:
    """An array of float64.

    Parameters
    ----------
    axes : str
        A letter an axis. "d" is as long as there are features, "m" may have any length, and others
        are no longer than d. In all fields of a kind axes of one letter are as long.
    least, most : float
    holds : callable, optional
        What else must hold.
    """

    axes: str
    least: float = -LARGEST
    most: float = LARGEST
    holds: Callable[[np.ndarray], Any] | None = None

    def __call__(self, value: Any, lengths: dict[str, int]) -> np.ndarray:
        """The array, if it is one of these."""
        need(isinstance(value, np.ndarray) and value.dtype == np.float64)
        need(value.ndim == len(self.axes) and 1 <= value.size <= MAX_ENTRIES)
        for axis, length in zip(self.axes, value.shape, strict=True):
            need(lengths.setdefault(axis, length) == length)
            need(axis == "m" or length <= lengths["d"])
        need(((value >= self.least) & (value <= self.most)).all())  # False for NaN
        need(self.holds is None or self.holds(value))
        return value


def _rises(found: np.ndarray) -> Any:
    return 2 <= len(found) <= MAX_EDGES and (found[1:] > found[:-1]).all()


def _rises_openly(found: np.ndarray) -> Any:
    return _rises(found) and (np.isinf(found) | (np.abs(found) <= LARGEST)).all()


def _is_orthonormal(found: np.ndarray) -> Any:
    return np.abs(found @ found.T - np.eye(len(found))).max() <= ORTHONORMAL


def _columns(value: Any, lengths: dict[str, int]) -> np.ndarray:
    found = Numbers("c", least=0.0, most=lengths["d"] - 1)(value, lengths)
    need((found == np.floor(found)).all() and (np.diff(found) > 0).all())
    return found.astype(np.intp)


def _radius(value: Any, lengths: dict[str, int]) -> float:
    need(type(value) is float and 1 / LARGEST <= value <= LARGEST)
    return float(value)


def _bound(value: Any, lengths: dict[str, int]) -> float:
    need(type(value) is not int or 1 <= value <= LARGEST)
    return value if type(value) is int else _radius(value, lengths)


def _constant(value: Any, lengths: dict[str, int]) -> float:
    need(type(value) in (int, float) and 0 <= value <= LARGEST)
    return float(value)


def _power(value: Any, lengths: dict[str, int]) -> int:
    need(type(value) is int and value in (1, 2))
    return int(value)


def _most(value: Any, lengths: dict[str, int]) -> int:
    need(type(value) is int and 1 <= value <= lengths["d"])
    return int(value)


# A number a feature, any or positive; rows, from one to as many as there are features; a square.
Vector = Annotated[np.ndarray, Numbers("d")]
PositiveVector = Annotated[np.ndarray, Numbers("d", least=1 / LARGEST)]
Rows = Annotated[np.ndarray, Numbers("kd")]
OrthonormalRows = Annotated[np.ndarray, Numbers("kd", holds=_is_orthonormal)]
OtherOrthonormalRows = Annotated[np.ndarray, Numbers("qd", holds=_is_orthonormal)]
# A number for each of the directions.
DirectionVector = Annotated[np.ndarray, Numbers("k")]
# Edges of cells; the outer ones of open ones may be infinite.
Edges = Annotated[np.ndarray, Numbers("m", holds=_rises)]
OpenEdges = Annotated[np.ndarray, Numbers("m", -math.inf, math.inf, _rises_openly)]
# Increasing numbers of features, and a number for each of them, any or positive.
Columns = Annotated[np.ndarray, _columns]
ColumnVector = Annotated[np.ndarray, Numbers("c")]
PositiveColumnVector = Annotated[np.ndarray, Numbers("c", least=1 / LARGEST)]
# Positive and finite: nobody is asked not to clip. A bound may be a whole number, too.
Radius = Annotated[float, _radius]
Bound = Annotated[float, _bound]
# From 0 on; 1 or 2; a number of entries of a row.
Constant = Annotated[float, _constant]
Power = Annotated[int, _power]
Most = Annotated[int, _most]


@cache
def types_of(kind: str) -> Mapping[str, Any]:
    """The types of the fields of the kind of that name, by their names."""
    types = get_type_hints(KINDS[kind], include_extras=True)
    return {field.name: types[field.name] for field in fields(KINDS[kind])}


def read(declared: Any, value: Any, lengths: dict[str, int]) -> Any:
    """The value that a field of this type is given.

    Parameters
    ----------
    declared : type
        Type as in `types_of`.
    value : object
    lengths : dict
        Lengths of the axes that were read, "d" among them; others are added.

    Raises
    ------
    ValueError
        The type does not allow it.
    """
    if get_origin(declared) in (Union, UnionType):
        if value is None:
            return None
        (declared,) = (one for one in get_args(declared) if one is not NoneType)
    if get_origin(declared) is Annotated:
        check: Check = declared.__metadata__[0]
        return check(value, lengths)
    if declared is bool:
        need(type(value) is bool)
    else:  # a number that only its own record changes
        need(issubclass(declared, Measure) and isinstance(value, declared) and value.moved == 1)
    return value
