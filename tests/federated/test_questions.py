"""A site takes the questions of the table, and nothing that the table does not allow."""

import msgspec
import numpy as np
import pytest

pytest.importorskip("cryptography")

from skdppca import statistics as st
from skdppca.federated import Study
from skdppca.federated.questions import QUESTIONS, WrittenQuestion, read_question, written_question
from skdppca.federated.questions import standin as standin_of
from skdppca.statistics.fields import read, types_of

from ..statistics.cases import CASES, FORMS, MEASURES, VIEWS, D

ZERO, ONE = np.zeros(D), np.ones(D)
Q = np.linalg.qr(np.random.default_rng(0).normal(size=(D, 3)))[0].T.copy()
W, REMOVED = Q[:2], Q[2:]
CORE = np.array([2.0, 1.0])
EDGES = np.array([0.5, 1.0, 2.0])
PREDICTED = st.ResidualNorms(ZERO, REMOVED, W, CORE[:, None] * W, CORE)

# One of each kind, on which wrong values are tried.
STATISTIC = {name: CASES[name][0].statistic for name in CASES if name in QUESTIONS}
OF_SITES = {name: rows for name, rows in (MEASURES | VIEWS).items() if name in QUESTIONS}

REFUSED = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


def standin(d, grouped=False, is_sparse=False):
    """Stand in for the records of a site of a study of d columns."""
    keys = {"east": "ab" * 32, "north": "cd" * 32}
    unit = "patient" if grouped else "row"
    return standin_of(Study("study", keys, columns=d, unit=unit, sparse=is_sparse))


def arrived(content, arrays, base):
    """What a site makes of a question that comes as JSON, or why it makes nothing of it."""
    question = msgspec.json.decode(msgspec.json.encode(content), type=WrittenQuestion)
    return read_question(question, arrays, base)


def ask(statistic, *steps, **like):
    return arrived(*written_question(steps, statistic), standin(D, **like))


def test_the_tables_have_every_kind():
    assert {*STATISTIC, *OF_SITES} == QUESTIONS


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_no_field_of_a_kind_takes_whatever_is_sent(name):
    for declared in types_of(name).values():
        for value in (object(), [0.0] * D, "1", 10**400, np.full((D, D, D), 1.0)):
            with pytest.raises(ValueError, match="not valid"):
                read(declared, value, {"d": D})


@pytest.mark.parametrize("name", STATISTIC)
def test_a_statistic_comes_through_to_the_bit(name):
    asked, layout = ask(STATISTIC[name])
    assert asked.statistic.key == STATISTIC[name].key
    assert layout == standin(D).layout


@pytest.mark.parametrize("name", OF_SITES)
def test_a_view_and_a_measure_come_through_to_the_bit(name):
    for kind, forms in OF_SITES[name]:
        like = {"is_sparse": all(FORMS[form].is_sparse for form in forms)}
        if isinstance(kind, st.Measure):
            asked, _ = ask(st.MeasureHistogram(kind, EDGES), **like)
            assert asked.statistic.measure.key == kind.key
        else:
            asked, layout = ask(st.Count(), kind, **like)
            assert asked.views[0].key == kind.key
            assert layout == kind.of(standin(D, **like)).layout


def test_steps_follow_each_other():
    steps = (st.Scaled(2 * ONE), st.Scores(W, ONE))
    asked, layout = ask(st.ClippedSum(np.zeros(2), 1.0), *steps)
    assert layout.n_features == 2 and asked.views[1].key == steps[1].key
    question, _ = written_question(steps, st.CrossSum(st.CrossNorms(ONE, W), 2.0))
    assert question.kinds() == {"Scaled", "Scores", "CrossSum", "CrossNorms"}


def test_sparse_rows_are_cut_to_their_largest_entries():
    product = st.NormProduct(ZERO, W, 2.0, most=2)
    asked, layout = ask(product, st.LargestEntries(2), is_sparse=True)
    assert layout.most == 2 and asked.statistic.most == 2


NOT_ASKED = [
    st.KendallMatrix(D),
    st.CountBeyond(st.Distances(ZERO), 1.0),
    st.MeasureHistogram(st.AdjacentDifferences(), EDGES),
    st.ScoreGram(ZERO, 1.0, W),
    st.CapturedTotal(ZERO, 2.0, W),
    st.Interactions(2),  # a guarantee for less than a record
]


@pytest.mark.parametrize("statistic", NOT_ASKED, ids=lambda s: type(s).__name__)
def test_what_is_no_sum_or_not_needed_is_not_asked(statistic):
    with pytest.raises(ValueError, match="not asked of sites"):
        written_question([], statistic)
    with pytest.raises(ValueError, match="a function is not sent"):
        written_question([], st.ClippedSum(lambda: 0, 1.0))


# --- numbers that are not valid, by the kind of field

BAD_VECTORS = {
    "a row each": np.zeros((7, D)),  # answered only if there were 7 rows
    "too long": np.zeros(D + 1),
    "too short": np.zeros(1),
    "a number": np.float64(0.0),
    "not a number": np.array([0, np.nan, 0, 0]),
    "infinite": np.array([0, np.inf, 0, 0]),
    "huge": np.array([0, 2.0**241, 0, 0]),
}
BAD_RADII = [0.0, -1.0, np.inf, np.nan, 1e73, True, "1", None, 2]
NOT_POSITIVE = BAD_VECTORS | {"zero": ZERO, "negative": -ONE}
BAD_BASES = {
    "not orthonormal": W * 1.001,
    "zero": 0 * W,
    "too many": np.vstack([np.eye(D), np.eye(D)[:1]]),
    "none": W[:0],
    "wide": np.eye(D + 1)[:2],
    "flat": W.ravel(),
    "not a number": W * np.nan,
}
BAD_EDGES = {
    "one": EDGES[:1],
    "falling": EDGES[::-1],
    "equal": np.ones(3),
    "not a number": np.array([0.0, np.nan, 1.0]),
    "many": np.arange(10_001.0),
    "a table": EDGES[None, :],
}
BAD_COLUMNS = {
    "twice": np.array([0, 1, 1, 2]),
    "beyond": np.array([0, 1, 2, D]),
    "negative": np.array([-1, 0, 1, 2]),
    "halves": np.array([0.5, 1.0, 2.0, 3.0]),
    "falling": np.array([0, 1, 3, 2]),
    "longer": np.arange(D + 1),
    "none": np.array([]),
}
BAD_FLAGS = [0, 1, None, "true"]


# Fields of statistics, by what they may not hold.
FIELDS = [
    ("ClippedSum.centre ClippedGram.centre MeanSquares.centre ColumnCells.centre", BAD_VECTORS),
    ("ClippedSum.radius ClippedGram.radius NormProduct.radius MeanSquares.bound", BAD_RADII),
    ("ProductSum.radius ResidualSum.radius", BAD_RADII),
    ("ClippedGram.constant", [-1.0, np.inf, np.nan, True, None, 1e73]),
    ("ClippedGram.spherical", BAD_FLAGS),
    ("ClippedGram.grouped ColumnCells.grouped", [*BAD_FLAGS, True]),
    ("MeanSquares.unit ColumnCells.unit", NOT_POSITIVE),
    ("NormProduct.directions", BAD_BASES),
    ("NormProduct.most", [0, D + 1, True, 1.5, -1]),
    ("NormProduct.floor", [0, 1, 5]),
    ("ProductSum.measure", [None, 1.0, st.Distances(ZERO), PREDICTED]),
    ("ResidualSum.measure", [None, st.RowCounts()]),
    ("BoundedTotal.measure MeasureHistogram.measure", [None, 1.0]),
    ("BoundedTotal.bound", [0, 0.0, -1, np.inf, np.nan, True, None]),
    ("BoundedTotal.power", [0, 3, 1.0, True, None]),
    ("MeasureHistogram.edges ColumnCells.edges", BAD_EDGES),
    ("ColumnCells.which", BAD_COLUMNS),
]


def cases():
    for names, values in FIELDS:
        items = values if isinstance(values, dict) else {repr(value): value for value in values}
        for name in names.split():
            for what, value in items.items():
                yield pytest.param(*name.split("."), value, id=f"{name}: {what}")


def names_of(value):
    """The names of the arrays in a field."""
    if isinstance(value, dict):
        return [name for one in value["fields"].values() for name in names_of(one)]
    return [value] if isinstance(value, str) else []


def changed(question, arrays, field, value):
    """The question with another value of a field of its statistic."""
    content, arrays = msgspec.to_builtins(question), dict(arrays)
    fields = content["statistic"]["fields"]
    if isinstance(value, np.ndarray | np.generic):
        arrays["new"] = np.array(value, dtype=np.float64)
        value = "new"
    elif isinstance(value, st.Measure):
        inner, more = written_question([], st.MeasureHistogram(value, EDGES))
        inner = msgspec.to_builtins(inner)["statistic"]["fields"]
        more.pop(inner["edges"])
        value = inner["measure"]
        for name, entry in value["fields"].items():
            if isinstance(entry, str):
                arrays[f"m{entry}"] = more[entry]
                value["fields"][name] = f"m{entry}"
    for name in names_of(fields[field]):  # the arrays of what is replaced go with it
        arrays.pop(name)
    fields[field] = value
    return content, arrays


@pytest.mark.parametrize("kind, field, value", cases())
def test_a_number_that_is_not_valid_is_refused(kind, field, value):
    content, arrays = written_question([], STATISTIC[kind])
    read_question(content, arrays, standin(D))  # as it is, it is valid
    with pytest.raises(REFUSED):
        arrived(*changed(content, arrays, field, value), standin(D))


FEW_ENTRIES = st.NormProduct(ZERO, W, 2.0, most=2)
NOT_VALID = [
    st.Scaled(0 * ONE),
    st.Scaled(-ONE),
    st.Scaled(np.ones(D - 1)),
    st.Scaled(np.ones((3, D))),
    st.Scores(np.ones((D + 1, D)), ZERO),
    st.Scores(W, np.zeros(2)),
    st.Scores(W * np.inf, ZERO),
    st.Shifted(np.ones((5, D))),
    st.Shifted(np.full(D, np.nan)),
    st.LargestEntries(0),
    st.LargestEntries(D + 1),
]
NOT_TOGETHER = [
    (st.Shifted(ONE), st.Scaled(ONE)),
    (st.Scores(W, ONE), st.Scaled(ONE)),
    (st.Explicit(),) * 21,
]
OFF = st.ResidualNorms(ZERO, None, W, CORE[:, None] * W * 1.001, CORE)
FLAT = st.ResidualNorms(ZERO, None, W, np.zeros((1, D)))


@pytest.mark.parametrize(
    ("statistic", "steps", "like"),
    [
        *((st.Count(), (view,), {}) for view in NOT_VALID),
        *((st.Count(), steps, {}) for steps in NOT_TOGETHER),
        (st.Count(), (st.Shifted(ONE),), {"is_sparse": True}),
        (FEW_ENTRIES, (st.LargestEntries(2),), {}),
        (FEW_ENTRIES, (), {"is_sparse": True}),
        (st.NormProduct(ZERO, W, 1.0, floor=2), (), {}),  # for less than a record
        (st.ResidualSum(OFF, 2.0), (), {}),
        (st.ResidualSum(FLAT, 2.0), (), {}),
        (st.ClippedGram(ZERO, 1.0), (), {"grouped": True}),
        (st.ClippedGram(ZERO, 1.0, grouped=True, spherical=True), (), {"grouped": True}),
    ],
)
def test_what_no_proof_covers_is_refused_before_it_is_asked(statistic, steps, like):
    with pytest.raises(REFUSED):
        ask(statistic, *steps, **like)


def test_a_prediction_is_computed_anew_from_its_core():
    last = st.ResidualNorms(ZERO, None, W, np.nextafter(CORE[:, None] * W, 9.0), CORE)
    asked, _ = ask(st.ResidualSum(last, 2.0))  # another BLAS
    np.testing.assert_array_equal(asked.statistic.measure.prediction, CORE[:, None] * W)


def test_groups_are_asked_as_groups():
    ask(st.ClippedGram(ZERO, 1.0, grouped=True), grouped=True)


@pytest.mark.parametrize(
    "statistic",
    [
        lambda d: st.BoundedTotal(st.GramNorms(np.zeros(d)), 1.0),
        lambda d: st.MeasureHistogram(st.GramNorms(np.zeros(d)), np.array([0.0, 1.0])),
        lambda d: st.NormProduct(np.zeros(d), np.eye(1, d), 1.0, grouped=True),
    ],
)
def test_groups_norms_are_asked_where_a_whole_matrix_would_fit(statistic):
    # how long a group is decides whether its matrix is formed
    read_question(*written_question((), statistic(2**13 - 1)), standin(2**13 - 1, grouped=True))
    with pytest.raises(REFUSED):
        read_question(*written_question((), statistic(2**13)), standin(2**13, grouped=True))


# --- what is no question

GOOD = written_question([st.Scaled(2 * ONE)], st.ClippedSum(ONE, 2.0))


def kind(name, **fields):
    return {"kind": name, "fields": fields}


@pytest.mark.parametrize(
    "change",
    [
        lambda c: [],
        lambda c: None,
        lambda c: c | {"more": 1},
        lambda c: {"statistic": c["statistic"]},
        lambda c: c | {"steps": {}},
        lambda c: c | {"steps": [None]},
        lambda c: c | {"steps": [kind("ClippedSum")]},
        lambda c: c | {"steps": [*c["steps"], *c["steps"]]},
        lambda c: c | {"statistic": kind("Scaled")},
        lambda c: c | {"statistic": kind("Distances")},
        lambda c: c | {"statistic": kind(["Count"])},
        lambda c: c | {"statistic": kind("Count", more=1)},
        lambda c: c | {"statistic": kind("__class__")},
        lambda c: c | {"statistic": c["statistic"] | {"more": 1}},
        lambda c: c | {"statistic": kind("ClippedSum", centre="a1")},
        lambda c: c | {"statistic": kind("ClippedSum", radius=2.0, centre=[1, 1, 1, 1])},
        lambda c: c | {"statistic": kind("ClippedSum", radius=2.0, centre="none")},
        lambda c: c | {"statistic": kind("ClippedSum", radius="a1", centre="a1")},
        lambda c: c | {"statistic": kind("ClippedSum", radius=2.0, centre=kind("Distances"))},
    ],
)
def test_what_is_no_question_is_refused(change):
    question, arrays = GOOD
    read_question(question, arrays, standin(D))
    with pytest.raises(REFUSED):
        arrived(change(msgspec.to_builtins(question)), arrays, standin(D))


def test_arrays_are_float64_and_used_once_each():
    content, arrays = GOOD
    for changed in (
        {},
        arrays | {"a2": ONE},
        arrays | {"a1": ONE.astype(np.float32)},
        arrays | {"a1": ONE.astype(">f8")},
        arrays | {"a1": ONE.astype(int)},
        arrays | {"a1": ONE.astype(object)},
        arrays | {"a1": ONE.tolist()},
        arrays | {"a1": ONE.astype(complex)},
    ):
        with pytest.raises(REFUSED):
            read_question(content, changed, standin(D))
