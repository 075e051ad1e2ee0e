"""Totals are sums over records: of parts, in any order, in any shape, on any number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skdppca.noise import NoiseSource
from skdppca.records import MAX_ROWS, Records, _records
from skdppca.statistics import MeanSquares, Shifted

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
