"""The keys of kinds tell all of them apart."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from skdppca.statistics import (
    KINDS,
    Measure,
    Statistic,
    View,
)
from skdppca.statistics.base import Kind

from .cases import CASES, MEASURES, VIEWS, kinds_of, within

ALL = [
    *(kind for cases in CASES.values() for case in cases for kind in within(case.statistic)),
    *(kind for table in (MEASURES, VIEWS) for rows in table.values() for kind, _ in rows),
]
NUMBERED = [pytest.param(kind, id=f"{type(kind).__name__}-{i}") for i, kind in enumerate(ALL)]


def test_the_tables_cover_every_kind():
    tried = {type(kind).__name__ for kind in ALL}
    assert tried == set(KINDS), "give what is lacking a case in tests/statistics/cases.py"
    assert set(CASES) == kinds_of(Statistic)
    assert set(MEASURES) == kinds_of(Measure)
    assert set(VIEWS) == kinds_of(View)


@pytest.mark.parametrize("kind", NUMBERED)
def test_a_key_tells_the_last_bit_of_every_number(kind):
    for field in fields(kind):
        for other in _nearly(getattr(kind, field.name)):
            assert replace_unchecked(kind, field.name, other).key != kind.key


def test_different_kinds_have_different_keys():
    assert len({kind.key for kind in ALL}) == len({repr(kind) for kind in ALL})


def replace_unchecked(kind: Kind, name: str, value: object) -> Kind:
    """The same with one field changed, whether or not the kind would take it."""
    other = object.__new__(type(kind))
    vars(other).update({field.name: getattr(kind, field.name) for field in fields(kind)})
    vars(other)[name] = value
    return other


def _nearly(value: object) -> list[object]:
    """Values next to this one."""
    if isinstance(value, Kind):
        names = [field.name for field in fields(value)]
        return [
            replace_unchecked(value, name, x)
            for name in names
            for x in _nearly(getattr(value, name))
        ]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
    if value is None:
        return [np.zeros(1), 1]
    if value.dtype.kind == "f" and value.size:
        others = [value.copy() for _ in range(2)]
        others[0].flat[0] = np.nextafter(value.flat[0], math.inf)
        others[1].flat[-1] = np.nextafter(value.flat[-1], math.inf)
        return [*others, value.ravel()] if value.ndim > 1 else others
    return [value + 1]
