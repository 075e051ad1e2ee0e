"""The parameter `scale`, feature by feature: declared numbers, and scales that a fit finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skdppca.privacy.declared import DeclaredScales, finds_scales, public_part

NAMES = ("age", "bmi", "woman")
MIXED = [
    {"age": "private", "bmi": 2.5},
    ["private", 2.5, 1],
    ("private", np.float32(2.5), Fraction(1)),
    np.array(["private", 2.5, 1], dtype=object),
    pd.Series(["private", 2.5, 1], dtype=object),
]


@pytest.mark.parametrize("scale", MIXED, ids=lambda scale: type(scale).__name__)
def test_numbers_are_public_and_words_are_private(scale):
    declared = DeclaredScales.of(scale, 3, NAMES)
    assert declared.public.tolist() == [1.0, 2.5, 1.0]
    assert declared.private.tolist() == [True, False, False]
    assert declared.entries == ["private", 2.5, 1.0] and finds_scales(scale)


@pytest.mark.parametrize(
    ("scale", "public", "private"),
    [
        (None, None, False),
        ({}, None, False),
        ("private", None, True),
        (["private"] * 3, None, True),
        (dict.fromkeys(NAMES, "private"), None, True),
        (np.array(["private"] * 3), None, True),
        ([2.0, 3.0, 4.0], [2.0, 3.0, 4.0], False),
        ({"woman": 4, "age": 2.0, "bmi": 3.0}, [2.0, 3.0, 4.0], False),
    ],
    ids=str,
)
def test_scales_of_one_kind(scale, public, private):
    declared = DeclaredScales.of(scale, 3, NAMES)
    assert (None if declared.public is None else declared.public.tolist()) == public
    assert declared.private.tolist() == [private] * 3
    assert finds_scales(scale) == private


def test_a_dict_that_names_nothing_needs_no_names():
    assert DeclaredScales.of({}, 3).whole(None).tolist() == [1.0, 1.0, 1.0]


def test_what_features_are_divided_by_in_all_has_the_public_numbers_to_the_bit():
    declared = DeclaredScales.of([0.1, "private", 1 / 3], 3)
    assert declared.whole(np.array([1.0, 7.7, 1.0])).tolist() == [0.1, 7.7, 1 / 3]
    assert DeclaredScales.of("private", 3).whole(None).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("scale", "names", "says"),
    [
        ({"agee": "private"}, NAMES, r"names 'agee', but .* 'age', 'bmi'.*did you mean 'age'\?"),
        ({3: "private"}, NAMES, "names '3', but the columns"),
        ({"age": "private"}, None, "X has no column names; give X as a table"),
        ({"age": "private"}, ("age", "age", "b"), "several columns of that name; rename them"),
        ({"age": "privat"}, NAMES, r"a str for column 'age'.*did you mean 'private'\?"),
        ({"age": 0}, NAMES, "0 for column 'age'; give a positive finite number"),
        ({"age": True}, NAMES, "True for column 'age'"),
        ({"age": None}, NAMES, "None for column 'age'"),
        ({"age": "private", "bmi": np.nan}, NAMES, "nan for column 'bmi'"),
        (["private", 1, np.inf], NAMES, "inf for column 3"),
        (["private", -1.0, 1], NAMES, "-1.0 for column 2"),
        (["private", 10**400, 1], NAMES, "for column 2"),
        (["private", "2.5", 1], NAMES, "a str for column 2"),
        (["privat", 2.5, 1], NAMES, r"column 1.*did you mean 'private'\?"),
        (["private", 1], NAMES, "2 entries, but X has 3 features"),
        ([["private", 1, 1]], NAMES, "scale"),
        ([1.0, 2.0], NAMES, "scale must hold 3 finite numbers"),
    ],
    ids=str,
)
def test_other_scales_are_a_clear_error(scale, names, says):
    with pytest.raises(ValueError, match=says):
        DeclaredScales.of(scale, 3, names)


@pytest.mark.parametrize(
    ("scale", "public"),
    [
        (None, None),
        ("private", None),
        ([1.0, 2.0], [1.0, 2.0]),
        ({"age": "private", "bmi": 2.5}, {"bmi": 2.5}),
        ({"age": "private"}, None),
        (["private", 2.5, 1.0], {"column 2": 2.5}),
        ({"age": "private", "woman": 1}, None),
        (["private"], None),
    ],
    ids=str,
)
def test_only_numbers_are_declared_public(scale, public):
    assert public_part(scale) == public
