"""A report as text, as JSON, and as the hashes of what it is about."""

import hashlib
import html
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from skdppca.privacy import (
    GaussianEvent,
    PrivacyAccountant,
    PrivacyReport,
    PureEvent,
    Released,
    Spending,
)
from skdppca.privacy.chain import canonical
from skdppca.privacy.fit_report import jsonable

ARRAY = np.arange(6.0).reshape(2, 3)
EVENT = GaussianEvent(0.5)


def charged():
    """A report with everything that a report may have."""
    accountant = PrivacyAccountant(1.0, 1e-2, unit="patient")
    receipt = accountant.charge(EVENT, adjacency="add-remove", unit="patient", label="PCA")
    return PrivacyReport(
        method="PCA",
        epsilon=math.inf,
        delta=1e-6,
        adjacency="add-remove",
        unit="patient",
        event=EVENT,
        not_private=("a reason",),
        spendings=(Spending("Gram", 0.3, 1.0, math.inf), Spending("mean", 0.4, 1.0, 2.5, "1 of 2")),
        receipts=(receipt,),
        details={
            "spectrum": np.array([2.0, np.inf]),
            "method": "PCA",
            "why": "ü\x1b",
            "n": np.int64(3),
        },
        parameters={"mean": [0.1, 1e-300], "unit": "patient"},
        released=(Released.of("components", ARRAY), Released.of("n", 3.0)),
        feature_names=("a", "ü\ud800"),
        software={"skdppca": "1"},
        releases=(accountant.record(receipt, "0" * 64),),
    )


def bare(**more):
    given = {"epsilon": 2.5, "delta": 1e-6, "adjacency": "add-remove", "unit": "row"}
    return PrivacyReport(**{"method": "PCA", "event": EVENT, **given, **more})


on_both = pytest.mark.parametrize("make", [charged, bare])


@on_both
def test_json_brings_back_the_same_core_to_the_letter(make):
    told = make()
    content = json.loads(told.to_json())
    assert canonical(content["core"]) == canonical(told.core())
    read = PrivacyReport.from_json(told.to_json())
    assert canonical(read.to_dict()) == canonical(told.to_dict())
    assert (read.epsilon, read.event, read.spendings) == (told.epsilon, told.event, told.spendings)


@on_both
def test_the_release_id_is_the_hash_of_the_canonical_core(make):
    told = make()
    assert told.release_id == hashlib.sha256(canonical(told.core()).encode()).hexdigest()


def test_infinity_and_nan_are_text():
    told = bare(details={"a": math.inf, "b": -math.inf, "c": np.array([math.nan, 1.0])})
    assert told.core()["details"] == {"a": "inf", "b": "-inf", "c": ["nan", 1.0]}
    json.loads(told.to_json(), parse_constant=pytest.fail)


class Thing:
    pass


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.1), float(np.float32(0.1))),
        (np.bool_(True), True),
        ((1, {2: None}), [1, {"2": None}]),
        (Thing(), "Thing"),
        (Thing, "Thing"),
        (b"bytes", "bytes"),
        (np.array(["a"], dtype=object), ["a"]),
        (range(2), [0, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_value_of_a_report_becomes_json(value, plain):
    assert jsonable(value) == plain
    json.dumps(jsonable(value), allow_nan=False)


def places(content, path=()):
    """Every mapping of a report's dictionary that has a fixed set of keys."""
    if isinstance(content, dict) and path[-1:] not in {
        ("details",),
        ("parameters",),
        ("software",),
    }:
        yield path
        for key, value in content.items():
            yield from places(value, (*path, key))
    elif isinstance(content, list) and content:
        yield from places(content[0], (*path, 0))


def at(content, path):
    for key in path:
        content = content[key]
    return content


UNWRITTEN = r"unknown field `more`|missing required field|lacks its head|is not written as"


@pytest.mark.parametrize("path", list(places(charged().to_dict())), ids=str)
def test_unknown_and_missing_keys_are_refused(path):
    content = charged().to_dict()
    at(content, path)["more"] = 1
    with pytest.raises(ValueError, match=UNWRITTEN):
        PrivacyReport.from_dict(content)
    for key in at(charged().to_dict(), path):
        content = charged().to_dict()
        del at(content, path)[key]
        with pytest.raises(ValueError, match=UNWRITTEN):
            PrivacyReport.from_dict(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "skdppca-report/1"),
        (("release_id",), None),
        (("core",), []),
        (("core", "method"), 3),
        (("core", "guarantee", "epsilon"), 1),
        (("core", "guarantee", "epsilon"), "1"),
        (("core", "guarantee", "epsilon"), -1.0),
        (("core", "guarantee", "delta"), True),
        (("core", "guarantee", "private"), True),
        (("core", "guarantee", "private"), 0),
        (("core", "guarantee", "not_private"), "a reason"),
        (("core", "guarantee", "not_private"), [1]),
        (("core", "details"), None),
        (("core", "software"), []),
        (("core", "spendings"), [1]),
        (("core", "spendings", 0, "mu"), "0.3"),
        (("core", "spendings", 0, "part"), None),
        (("core", "released", 0, "shape"), [2.0, 3]),
        (("core", "released", 0, "sha256"), 1),
        (("core", "feature_names"), "ab"),
        (("core", "event", "mu"), -1.0),
        (("core", "receipts"), {}),
        (("releases",), {}),
    ],
    ids=str,
)
def test_values_that_no_report_has_are_refused(path, value):
    content = charged().to_dict()
    at(content, path[:-1])[path[-1]] = value
    with pytest.raises((ValueError, TypeError)):
        PrivacyReport.from_dict(content)


def nested(depth):
    return json.dumps(charged().to_dict()).replace('"n": 3', '"n": ' + "[" * depth + "]" * depth)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 10**5,
        nested(10**5),
        charged().to_json().replace('"delta"', '"epsilon": 1.0, "delta"', 1),
        charged().to_json().replace('"n": 3', '"n": NaN'),
        charged().to_json().replace('"n": 3', '"n": -Infinity'),
        charged().to_json().replace('"n": 3', '"n": 1e999'),
        charged().to_json().replace('"n": 3', '"n": ' + "9" * 10**4),
    ],
    ids=lambda text: text[:20],
)
def test_texts_that_no_report_has_are_refused_cleanly(text):
    with pytest.raises(ValueError):
        PrivacyReport.from_json(text)


@pytest.mark.parametrize("place", [("core", "details", "n"), ("core", "event"), ("release",)])
def test_a_dictionary_that_is_too_deep_is_refused_cleanly(place):
    content = charged().to_dict()
    deep: dict = {"type": "composed", "events": []}
    for _ in range(10**4):
        deep = {"type": "composed", "events": [deep]}
    at(content, place[:-1])[place[-1]] = deep
    with pytest.raises(ValueError):
        PrivacyReport.from_dict(content)


@pytest.mark.parametrize(
    "same",
    [
        np.asfortranarray(ARRAY),
        ARRAY.astype(">f8"),
        np.repeat(ARRAY, 2, axis=1)[:, ::2],
        ARRAY.tolist(),
    ],
    ids=["Fortran", "big-endian", "strided", "list"],
)
def test_equal_arrays_have_equal_hashes_however_they_are_stored(same):
    assert Released.of("x", same) == Released.of("x", ARRAY)
    assert (
        Released.of("x", ARRAY).sha256 == hashlib.sha256(ARRAY.astype("<f8").tobytes()).hexdigest()
    )


@pytest.mark.parametrize(
    "other",
    [ARRAY.T, ARRAY.ravel(), ARRAY.astype(np.float32), np.nextafter(ARRAY, 9), ARRAY.astype(int)],
    ids=["transposed", "flat", "float32", "last bits", "int"],
)
def test_other_arrays_have_other_records(other):
    assert Released.of("x", other) != Released.of("x", ARRAY)


@pytest.mark.parametrize("number", [3, 3.0, np.float32(3), np.int64(3), np.array(3)], ids=repr)
def test_a_number_counts_as_float64(number):
    assert Released.of("n", number) == Released(
        "n", (), "float64", hashlib.sha256(np.array(3.0, "<f8").tobytes()).hexdigest()
    )


def test_an_empty_array_has_a_hash():
    empty = Released.of("x", np.ones((0, 3)))
    assert (empty.shape, empty.sha256) == ((0, 3), hashlib.sha256(b"").hexdigest())


@pytest.mark.parametrize("text", ["a", np.array(["a"]), np.array([None]), 1j], ids=repr)
def test_what_is_no_number_has_no_hash(text):
    with pytest.raises(TypeError, match="x holds"):
        Released.of("x", text)


def test_without_a_ledger_a_report_says_so():
    for text in (str(bare()), bare()._repr_html_()):
        assert (
            "No ledger was charged: nothing adds this fit up with others of the same data." in text
        )
    for text in (str(charged()), charged()._repr_html_()):
        assert "No ledger" not in text


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"not_private": ("the noise came from a seed",)},
        {"details": {"alignments": [0.9, 0.0]}},
        {"details": {"method": "DPGauss", "why": "it sees", "no_variances": "the noise hides"}},
        {"spendings": (Spending("Gram <matrix>", 0.2, 1.0, 1.0, "1 of 2"),)},
    ],
    ids=["plain", "seeded", "lost", "remarks", "split"],
)
@on_both
def test_a_notebook_is_told_every_line_that_a_terminal_is(make, own):
    report = replace(make(), **own)
    page = report._repr_html_().replace("<strong>", "").replace("</strong>", "")
    text = html.unescape(re.sub("<[^>]*>", " ", page))
    seen = " ".join(text.split()).lower()
    for line in str(report).splitlines():
        cells = re.fullmatch(r"  (.+?) +([\d.]+%) of this fit's budget  \((\d+) .*", line)
        if cells:
            name, share, times = cells.groups()
            assert f"{name} {times} {share}".lower() in seen
        else:
            assert " ".join(line.lower().split()).removesuffix(".") in seen, line


def test_a_terminal_is_told_nothing_by_a_report():
    told = bare(method="P\x1b[2JCA", unit="row\nvalid", not_private=("\u202etext",))
    assert str(told).startswith("P\\x1b[2JCA: NOT PRIVATE: \\u202etext.\n  No ledger")
    assert "\\n" in str(bare(unit="row\nvalid"))


def test_shares_are_those_of_the_part_that_pays_most():
    spendings = [("a", 0.3, ""), ("b", 0.4, "1 of 2"), ("b", 0.2, "2 of 2"), ("c", 0.3, "1 of 2")]
    told = bare(spendings=tuple(Spending(name, mu, 1.0, 1.0, part) for name, mu, part in spendings))
    assert told.costs() == [
        ("a", 1, pytest.approx(0.36)),
        ("b", 2, pytest.approx(0.64)),
        ("c", 1, pytest.approx(0.36)),
    ]
    assert bare(event=PureEvent(1.0), spendings=told.spendings).costs()[0] == ("a", 1, 0.0)
    assert bare(event=GaussianEvent(0.0), spendings=told.spendings).costs()[0] == ("a", 1, 0.0)


def test_a_repr_says_whether_the_release_is_private():
    assert repr(bare()) == (
        "<PrivacyReport of PCA: epsilon=2.5, delta=1e-06, add-remove, unit row, no ledger>"
    )
    assert "PCA: NOT PRIVATE, " in repr(charged()) and "charged as row 1" in repr(charged())


@pytest.mark.parametrize(
    ("adjacency", "unit", "change"),
    [
        ("add-remove", "row", "adding or removing one row changes"),
        ("replace-one", "patient", "exchanging all rows of one patient changes"),
    ],
)
def test_the_guarantee_says_which_change_it_is_about(adjacency, unit, change):
    report = PrivacyReport("DPGauss", 1.0, 1e-6, adjacency, unit, GaussianEvent(0.2))
    assert f"private: {change} the probability of any set of outcomes" in report.guarantee()
