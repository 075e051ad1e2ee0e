"""A statistic refuses records that its sensitivity is not proven for, before anything is paid."""

import io
from dataclasses import dataclass, replace

import joblib
import numpy as np
import pytest
from scipy import sparse

from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import KeepLargest, OnesByDegree, Records
from skdppca.statistics import (
    BoundedTotal,
    ClippedGram,
    ColumnCells,
    Distances,
    MeanRows,
    NormProduct,
    Statistic,
)

D = 3
ZERO = np.zeros(D)
AXIS = np.eye(D)[:1]
CELLS = ColumnCells(np.arange(D), ZERO, np.ones(D), np.arange(3.0))
ROWS = np.arange(12.0).reshape(4, D)
SINGLE, GROUPED = Records.of(ROWS), Records.of(ROWS, np.array([0, 0, 1, 1]))
SPARSE = Records.of(sparse.csr_array(ROWS))

REFUSED = {
    "a matrix of rows, of groups": (ClippedGram(ZERO, 1.0), GROUPED),
    "a matrix of groups, of rows": (ClippedGram(ZERO, 1.0, grouped=True), SINGLE),
    "a matrix of groups, of their means": (
        ClippedGram(ZERO, 1.0, grouped=True),
        MeanRows(ZERO).of(GROUPED),
    ),
    "cells of rows, of groups": (CELLS, GROUPED),
    "cells of groups, of rows": (replace(CELLS, grouped=True), SINGLE),
    "products of rows, of groups": (NormProduct(ZERO, AXIS, 1.0), GROUPED),
    "few entries that nobody enforces": (NormProduct(ZERO, AXIS, 1.0, most=2), SPARSE),
    "fewer entries than are enforced": (
        NormProduct(ZERO, AXIS, 1.0, most=1),
        SPARSE.changed(KeepLargest(2)),
    ),
    "interactions of rows as they are": (NormProduct(ZERO, AXIS, 1.0, floor=1), SINGLE),
    "rows of interactions as they are": (
        NormProduct(ZERO, AXIS, 1.0),
        SINGLE.changed(OnesByDegree(2)),
    ),
}


def private(records):
    public = Public(D, "add-remove", "person" if records is GROUPED else "row")
    return PrivateData(records, public, PrivacyFilter(1.0), NoiseSource(0), ZERO, n=4.0)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proven_is_refused_and_costs_nothing(case):
    statistic, records = REFUSED[case]
    data = private(records)
    for ask in (data.ask, records.total):
        with pytest.raises(TypeError):
            ask(statistic)
    assert data.remaining == 1.0
    assert data.budget.queries == []


@pytest.mark.parametrize(
    ("statistic", "records"),
    [
        (ClippedGram(ZERO, 1.0), SINGLE),
        (ClippedGram(ZERO, 1.0, grouped=True), GROUPED),
        (NormProduct(ZERO, AXIS, 1.0, most=2), SPARSE.changed(KeepLargest(2))),
        (NormProduct(ZERO, AXIS, 1.0, floor=2), SINGLE.changed(OnesByDegree(2))),
        (NormProduct(ZERO, AXIS, 1.0, floor=2), SINGLE.changed(OnesByDegree(2)).shifted(ZERO)),
    ],
)
def test_what_is_proven_is_answered(statistic, records):
    assert private(records).ask(statistic).value.shape == statistic.shape


def test_a_total_of_other_powers_has_no_bound():
    with pytest.raises(ValueError, match="power"):
        BoundedTotal(Distances(ZERO), 1.0, power=-1)


def test_a_total_of_distances_is_no_whole_number():
    assert BoundedTotal(Distances(ZERO), 0.01).rounding(SINGLE.layout).total > 0


def test_a_name_of_the_closed_set_is_not_taken_twice():
    with pytest.raises(TypeError, match="another name"):

        @dataclass(frozen=True, eq=False)
        class Count(Statistic):
            shape = ()


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS)], ids=["dense", "csr"])
def test_rows_stay_changed_through_joblib(rows):
    # It loads arrays anew, so that no two attributes are one array any more.
    records, file = Records.of(rows).changed(OnesByDegree(1)), io.BytesIO()
    joblib.dump(records, file)
    file.seek(0)
    product = NormProduct(ZERO, AXIS, 1.0, floor=1)
    assert np.array_equal(joblib.load(file).total(product), records.total(product))
