"""Totals are sums over records: of parts, in any order, in any shape, on any number of threads."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skdppca.noise import NoiseSource
from skdppca.records import MAX_ROWS, Records, _records
from skdppca.statistics import (
    ClippedGram,
    ClippedSum,
    MeanSquares,
    NormProduct,
    ProductSum,
    ResidualNorms,
    Shifted,
)
from skdppca.statistics.sums import sparse_terms

from ..private_data_of import private_data
from .cases import AS_THEY_ARE, CASES, FORMS, Case, D, Form, every_form, records_of, some_records

# All forms of every case; of each, one in the quick tests.
ALL = every_form(CASES)


def allowed(case: Case, form: Form, n: int) -> float:
    """How far two totals of the same n records may lie apart: what is claimed, for n of them."""
    layout = case.prepare(records_of(some_records(form), form), 0).layout
    rounding = case.statistic.rounding(layout).total
    return 2 * rounding * (n / MAX_ROWS if case.adds_up else 1.0)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(np.ravel(one - other)))


@pytest.mark.parametrize(("case", "form"), ALL)
def test_totals_are_those_of_parts_and_follow_no_threads_and_no_order(case: Case, form: Form):
    records = some_records(form)
    whole = case.prepare(records_of(records, form), 0)
    total, most = case.total_of(whole), allowed(case, form, len(records))
    in_threads = case.total_of(case.prepare(records_of(records, form, 2), 0))
    assert distance(in_threads, total) <= most
    if not case.adds_up:
        return
    order = np.random.default_rng(2).permutation(len(records))
    assert distance(case.total([records[i] for i in order], form), total) <= most
    parts = whole.parts((1, 2, 1), NoiseSource(5))
    assert all(part.private_n for part in parts)
    assert distance(sum(case.total_of(part) for part in parts), total) <= most


def total_by_blocks(case: Case, records: Records, monkeypatch, at_once: int) -> bytes:
    monkeypatch.setattr(_records, "BLOCKS_AT_ONCE", at_once)
    return case.total_of(case.prepare(records, 0)).tobytes()


@pytest.mark.parametrize(("case", "form"), [p for p in ALL if not p.values[1].is_sparse])
def test_totals_keep_their_bits_however_many_blocks_are_read_at_once(monkeypatch, case, form):
    one, *others = (
        total_by_blocks(case, records_of(some_records(form), form, 2), monkeypatch, at_once)
        for at_once in (1, 2, 3)
    )
    assert others == [one] * 2


def as_dense(form: Form) -> Form:
    return replace(form, is_sparse=False)


def is_asked_of_both(case: Case, form: Form) -> bool:
    return form.is_sparse and any(FORMS[name] == as_dense(form) for name in case.forms)


@pytest.mark.parametrize(("case", "form"), [p for p in ALL if is_asked_of_both(*p.values)])
def test_totals_of_sparse_records_are_those_of_dense_ones(case: Case, form: Form):
    dense = as_dense(form)
    records = some_records(form)
    n = len(records)
    moved = distance(case.total(records, form), case.total(records, dense))
    weights = 0.0
    for one in (form, dense):
        layout = case.prepare(records_of(records, one), 0).layout
        weights += case.statistic.rounding(layout).norms * case.statistic.sensitivity("add-remove")
    assert moved <= n * weights + allowed(case, form, n) + allowed(case, dense, n)


@pytest.mark.parametrize(
    ("case", "form"),
    [p for p in ALL if p.values[0].prepare is AS_THEY_ARE and not p.values[1].is_sparse],
)
def test_shifted_rows_are_the_same_whether_or_not_they_are_held(case, form, monkeypatch):
    # Which of the two follows from the exact number of rows, so nothing else may follow from it.
    rows = some_records(form)
    held = Shifted(np.full(D, 100.0)).of(records_of(rows, form))
    monkeypatch.setattr(_records, "KEPT_ENTRIES", 0)
    read_again = Shifted(np.full(D, 100.0)).of(records_of(rows, form))
    assert held.layout == read_again.layout
    if isinstance(case.statistic, MeanSquares):  # it changes rows as they are given
        for records in (held, read_again):
            with pytest.raises(TypeError, match="before they are shifted"):
                case.total_of(records)
        return
    assert np.array_equal(case.total_of(held), case.total_of(read_again))


@pytest.mark.parametrize(("distance", "stays_sparse"), [(0.0, True), (1.0, True), (1e9, False)])
def test_sparse_rows_are_made_dense_only_where_a_centre_costs_digits(distance, stays_sparse):
    records = Records.of(sparse.csr_array(np.eye(4, 30_000 if distance == 0 else 50)))
    centre = np.full(records.n_features, distance / math.sqrt(records.n_features))
    explicit, terms = sparse_terms(records.layout, centre, 1.0)
    assert explicit != stays_sparse
    if stays_sparse and distance:
        assert terms == 1.0 + 2 * np.linalg.norm(centre)
    else:
        assert terms == 1.0


@pytest.mark.parametrize("radius", [0.5, 4.0])
def test_rounding_grows_with_the_terms_that_the_centre_brings(radius):
    """A sparse row adds products of itself and of the centre, each longer than what is left."""
    centre, W = np.full(5, 0.1), np.eye(2, 5)
    sparse_rows, dense = (
        Records.of(kind(np.eye(5))).layout for kind in (sparse.csr_array, np.array)
    )
    length = np.linalg.norm(centre)
    products = ProductSum(ResidualNorms(centre, None, W, np.zeros_like(W)), radius)
    for asked, terms in (
        (ClippedSum(centre, radius), (radius + 2 * length) / radius),
        (ClippedGram(centre, radius), ((radius + 2 * length) / radius) ** 2),
        (NormProduct(centre, W, radius), ((radius + 2 * length) / radius) ** 2),
        (products, (radius + 2 * length * math.sqrt(radius)) / radius),
    ):
        ratio = asked.rounding(sparse_rows).total / asked.rounding(dense).total
        assert ratio == pytest.approx(terms)


# At this distance a sum by products would lose every digit that the noise leaves.
FAR = 1e9


def sums_of(centre):
    W = np.eye(2, len(centre))
    return [
        ClippedSum(centre, 1.0),
        ClippedGram(centre, 1.0, 0.125),
        ClippedGram(centre, 1.0, spherical=True),
        NormProduct(centre, W, 1.0),
        ProductSum(ResidualNorms(centre, None, W, np.zeros_like(W)), 1.0),
    ]


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("distance", [0.0, 1.0, FAR])
def test_the_widening_stays_small_and_the_digits_are_those_of_dense_rows(index, distance):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 5)) / 3 + distance
    asked = sums_of(np.full(5, distance))[index]
    data = private_data(sparse.csr_array(rows))
    data.ask(asked)
    (query,) = data.budget.queries
    assert query.widened_sensitivity <= 1.05 * query.sensitivity
    dense, csr = asked.total(Records.of(rows)), asked.total(Records.of(sparse.csr_array(rows)))
    if asked.symmetric:
        dense, csr = np.triu(dense), np.triu(csr)
    np.testing.assert_allclose(csr, dense, atol=1e-5)
