"""The types of fields say what a question may hold, and a type that says nothing allows nothing."""

from dataclasses import fields

import numpy as np
import pytest

from skdppca.statistics import KINDS, AdjacentDifferences, Distances, Measure, ResidualNorms
from skdppca.statistics.fields import (
    ColumnVector,
    DirectionVector,
    Edges,
    Rows,
    read,
    types_of,
)

D = 3


@pytest.mark.parametrize("declared", [int, float, str, np.ndarray, object, dict, type(None)])
@pytest.mark.parametrize("value", [0, 1.0, "1", np.zeros(D), {}, None], ids=repr)
def test_a_type_that_says_nothing_allows_nothing(declared, value):
    with pytest.raises(ValueError, match="not valid"):
        read(declared, value, {"d": D})


def test_such_a_field_may_be_none_where_its_type_says_so():
    assert read(int | None, None, {"d": D}) is None
    with pytest.raises(ValueError, match="not valid"):
        read(int | None, 2, {"d": D})


def test_axes_of_one_letter_are_as_long_as_each_other():
    lengths = {"d": D}
    read(Rows, np.zeros((2, D)), lengths)
    assert lengths == {"d": D, "k": 2}
    read(DirectionVector, np.zeros(2), lengths)
    for size in (1, 3):
        with pytest.raises(ValueError, match="not valid"):
            read(DirectionVector, np.zeros(size), lengths)


@pytest.mark.parametrize("declared", [Rows, ColumnVector])
def test_no_axis_is_longer_than_there_are_features(declared):
    shape = (D + 1, D) if declared is Rows else (D + 1,)
    with pytest.raises(ValueError, match="not valid"):
        read(declared, np.zeros(shape), {"d": D})
    read(Edges, np.arange(D + 1.0), {"d": D})


def test_a_measure_is_of_the_declared_kind_and_changes_with_its_own_record_alone():
    distances = Distances(np.zeros(D))
    assert read(Measure, distances, {"d": D}) is distances
    for declared, value in ((ResidualNorms, distances), (Measure, AdjacentDifferences())):
        with pytest.raises(ValueError, match="not valid"):
            read(declared, value, {"d": D})


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_kind_has_a_type(kind):
    assert set(types_of(kind)) == {field.name for field in fields(KINDS[kind])}
