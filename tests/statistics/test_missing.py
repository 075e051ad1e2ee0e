"""A record with absent entries is the filled record: every one is read as the centre's.

`test_columns` tells what they are where each feature is looked at by itself, and `test_pairs` where
records are looked at in pairs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.noise import NoiseSource
from skdppca.records import Records
from skdppca.statistics import (
    ClippedGram,
    ClippedSum,
    Distances,
    Explicit,
    LargestEntries,
    MeanRows,
    Measure,
    NormProduct,
    ProductSum,
    ResidualNorms,
    ResidualSum,
    Scaled,
    Scores,
    Spreads,
    Statistic,
    View,
)
from skdppca.statistics.base import Kind

from ..private_data_of import filled
from .cases import (
    AS_THEY_ARE,
    CASES,
    FORMS,
    MEASURES,
    Case,
    D,
    Form,
    kinds_of,
    records_of,
    some_records,
    within,
)

MISSING = [name for name, form in FORMS.items() if form.may_miss]
BY_COLUMN, BY_PAIR = {"ColumnCells"}, {"KendallMatrix", "AdjacentDifferences"}
CENTRE = np.array([0.5, -1.0, 0.0, 2.0])
W = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0][:2]

TOTALS = [
    pytest.param(case, FORMS[name], id=f"{kind}-{i}-{name}")
    for kind, rows in CASES.items()
    for i, case in enumerate(rows)
    for name in case.forms
    if name in MISSING and case.prepare is AS_THEY_ARE and kind not in BY_COLUMN
]
NUMBERS = [
    pytest.param(measure, FORMS[name], id=f"{kind}-{i}-{name}")
    for kind, rows in MEASURES.items()
    for i, (measure, forms) in enumerate(rows)
    for name in forms
    if name in MISSING
]
on_all_forms = pytest.mark.parametrize("form", [FORMS[name] for name in MISSING], ids=MISSING)


def centre_of(kind: Kind) -> np.ndarray:
    """What its records are looked at from; for those that look at no entry, anything."""
    found = [part.centre for part in within(kind) if hasattr(part, "centre")]
    return found[0] if found else np.full(D, 7.0)


def full(records: list[np.ndarray], values: np.ndarray) -> list[np.ndarray]:
    return [filled(record, values) for record in records]


def without_holes(form: Form) -> Form:
    return Form(form.is_sparse, form.grouped)


def test_no_statistic_and_no_measure_is_left_out():
    asked = [param.values[0].statistic for param in TOTALS] + [param.values[0] for param in NUMBERS]
    tested = {type(kind).__name__ for kind in asked}
    assert tested | BY_COLUMN | BY_PAIR == kinds_of(Statistic) | kinds_of(Measure)


@pytest.mark.parametrize(("measure", "form"), NUMBERS)
def test_a_records_numbers_are_those_of_the_filled_record(measure, form):
    records = some_records(form)
    found = records_of(records, form).measured(measure)
    expected = records_of(full(records, centre_of(measure)), without_holes(form)).measured(measure)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("case", "form"), TOTALS)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_totals_are_those_of_filled_records(case: Case, form: Form, n_jobs: int | None):
    records = some_records(form)
    found = case.total_of(records_of(records, form, n_jobs))
    centre = centre_of(case.statistic)
    expected = case.total(full(records, centre), without_holes(form))
    moved = np.linalg.norm(np.ravel(found - expected))
    assert moved <= 1e-9 * case.statistic.sensitivity("add-remove")


def infinite(centre: np.ndarray, grouped: bool) -> list:
    nothing = np.zeros_like(W)
    products = ResidualNorms(centre, None, W, nothing)
    predicted = ResidualNorms(centre, None, W, W + 1)
    return [
        ClippedSum(centre, math.inf),
        ClippedGram(centre, math.inf, 0.5, grouped),
        ResidualSum(predicted, math.inf),
        ProductSum(products, math.inf),
        NormProduct(centre, W, math.inf, grouped=grouped),
    ]


@on_all_forms
@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("centre", [np.zeros(D), CENTRE], ids=["origin", "centre"])
def test_totals_of_records_that_are_not_clipped_are_those_of_filled_ones(form, index, centre):
    records = [record for record in some_records(form) if not np.any(np.abs(record) > 1e100)]
    asked = infinite(centre, form.grouped)[index]
    found, expected = (
        asked.total(records_of(rows, shape))
        for rows, shape in ((records, form), (full(records, centre), without_holes(form)))
    )
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# A view, and what an absent entry is then read as, in the records' own units.
SCALE = np.array([0.5, 1.0, 3.0, 20.0])
SEEN: dict[str, tuple[list[View], np.ndarray]] = {
    "scaled": ([Scaled(SCALE)], CENTRE * SCALE),
    "scaled twice": ([Scaled(SCALE), Scaled(SCALE)], CENTRE * SCALE**2),
    "explicit": ([Explicit()], CENTRE),
    "scaled and explicit": ([Scaled(SCALE), Explicit()], CENTRE * SCALE),
    "largest": ([LargestEntries(2)], CENTRE),
    "largest and scaled": ([LargestEntries(2), Scaled(SCALE)], CENTRE * SCALE),
    "mean rows": ([MeanRows(CENTRE / 3)], CENTRE / 3),
}


@pytest.mark.parametrize(
    ("views", "form"),
    [
        pytest.param(views, FORMS[name], id=f"{views}-{name}")
        for views in SEEN
        for name in MISSING
        if "largest" not in views or name == "csr, missing"  # drops entries of sparse rows alone
    ],
)
def test_through_a_view_they_are_filled_as_well(views, form):
    records, (through, values) = some_records(form), SEEN[views]
    seen = records_of(records, form)
    fully = records_of(full(records, values), without_holes(form))
    for view in through:
        seen, fully = view.of(seen), view.of(fully)
    grouped = form.grouped and views != "mean rows"
    for asked in (ClippedSum(CENTRE, 2.0), ClippedGram(CENTRE, 2.0, 0.25, grouped)):
        found, expected = (np.triu(np.atleast_2d(asked.total(r))) for r in (seen, fully))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@on_all_forms
def test_absent_entries_add_nothing_to_a_score(form):
    records = some_records(form)
    view = Scores(W, CENTRE)
    seen = view.of(records_of(records, form))
    fully = view.of(records_of(full(records, CENTRE), without_holes(form)))
    for measure in (Distances(np.zeros(2)), Spreads(np.ones(2))):
        np.testing.assert_array_equal(seen.measured(measure), fully.measured(measure))
    # scores are all there
    assert not seen.layout.may_miss


@on_all_forms
def test_what_comes_of_records_still_reads_absent_entries(form):
    records, measure = some_records(form), Spreads(CENTRE)
    missing = records_of(records, form)
    filled_ones = records_of(full(records, CENTRE), without_holes(form))
    for derive in (
        lambda r: r.parts((1, 1), NoiseSource(0))[0],
        lambda r: r.parts((1, 2), NoiseSource(0))[1].parts((1, 1), NoiseSource(1))[0],
        lambda r: r.explicit(),
        lambda r: r.ungrouped(),
        lambda r: r.shuffled(NoiseSource(0)),
    ):
        mine, theirs = derive(missing), derive(filled_ones)
        assert mine.layout.may_miss
        np.testing.assert_array_equal(mine.measured(measure), theirs.measured(measure))


@on_all_forms
@pytest.mark.parametrize("nothing", [True, False])
def test_sums_stay_finite(form, nothing):
    """Where all is absent, and where rows overflow besides."""
    records = [np.full_like(record, np.nan) for record in some_records(form)]
    if not nothing:
        for i in range(0, len(records), 3):
            records[i][:, i % D] = 1.7e308
    for rows in CASES.values():
        for case in rows:
            if any(FORMS[name] == form for name in case.forms):
                assert np.isfinite(case.total(records, form)).all()


@on_all_forms
def test_a_blank_row_is_the_centre_whatever_the_scale(form):
    """Not off by roundings: scaled to norm 1, they would be a direction like any other."""
    rng = np.random.default_rng(0)
    centres, scales = rng.normal(size=(60, D)), rng.lognormal(size=(60, D))
    blank = [np.full((1, D), np.nan)] * 4
    for centre, scale in zip(centres, scales, strict=True):
        records = records_of(blank, form).scaled(scale)
        assert not records.measured(Distances(centre)).any()


def test_without_the_declaration_nothing_is_read_as_absent():
    rows = np.array([[1.0, np.nan], [0.0, 1.0]])
    distances = Records.of(rows).measured(Distances(np.zeros(2)))
    np.testing.assert_array_equal(distances, [np.inf, 1.0])
