"""Instances of every statistic, view and measure, and the records that they are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from skdppca.linalg import symmetric_from_upper
from skdppca.noise import NoiseSource
from skdppca.records import Records
from skdppca.statistics import (
    KINDS,
    AdjacentDifferences,
    BoundedTotal,
    CapturedTotal,
    ClippedGram,
    ClippedSum,
    ColumnCells,
    Count,
    CountBeyond,
    CrossNorms,
    CrossSum,
    Distances,
    Explicit,
    GramNorms,
    Histogram,
    Interactions,
    KendallMatrix,
    LargestEntries,
    MeanRows,
    MeanSquares,
    Measure,
    MeasureHistogram,
    NormProduct,
    ProductSum,
    ResidualNorms,
    ResidualSum,
    RowCounts,
    Scaled,
    ScoreGram,
    Scores,
    Shifted,
    Spreads,
    Squares,
    Statistic,
    View,
)
from skdppca.statistics.base import Kind

D = 4
RNG = np.random.default_rng(7)
ZERO = np.zeros(D)
CENTRE = np.array([0.5, -1.0, 0.0, 2.0])
FAR = np.full(D, 100.0)
SCALE = np.array([0.5, 1.0, 3.0, 20.0])
BASIS = np.linalg.qr(RNG.normal(size=(D, D)))[0]
EVERY_ONE, SOME = np.arange(D), np.array([3, 1])
ONE, TWO, ALL = BASIS[:1], BASIS[:2], BASIS
AXES = np.eye(D)[:2]


@dataclass(frozen=True)
class Form:
    """In which shape the records come."""

    is_sparse: bool = False
    grouped: bool = False
    may_miss: bool = False


FORMS = {
    "dense": Form(),
    "dense, missing": Form(may_miss=True),
    "csr": Form(is_sparse=True),
    "csr, missing": Form(is_sparse=True, may_miss=True),
    "groups": Form(grouped=True),
    "groups, missing": Form(grouped=True, may_miss=True),
    "csr groups": Form(is_sparse=True, grouped=True),
}
ROWS = tuple(name for name, form in FORMS.items() if not form.grouped)
SPARSE = tuple(name for name in ROWS if FORMS[name].is_sparse)
DENSE = tuple(name for name, form in FORMS.items() if not form.is_sparse or form.grouped)
GROUPS = tuple(name for name, form in FORMS.items() if form.grouped)
EVERY = tuple(FORMS)


class Words(NoiseSource):
    """Records that neighbours have in common draw the same words, the last one its own."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._words = super().words(1000)

    def words(self, n: int) -> np.ndarray:
        return self._words[:n]


def records_of(records: list[np.ndarray], form: Form, n_jobs: int | None = None) -> Records:
    """Records of these rows: a record is a group if the form is grouped."""
    X = np.vstack(records)
    sizes = [len(record) for record in records]
    groups = np.repeat(np.arange(len(records)), sizes) if form.grouped else None
    if form.is_sparse:
        X = sparse.csr_array(X)
    return Records.of(X, groups, n_jobs=n_jobs, may_miss=form.may_miss)


def seen_by(*views: View) -> Callable[[Records, int], Records]:
    """Records through these views, one after the other."""

    def prepare(records: Records, seed: int) -> Records:
        for view in views:
            records = view.of(records)
        return records

    return prepare


def paired(*views: View) -> Callable[[Records, int], Records]:
    """Single rows through these views, in a random cyclic order."""
    return lambda records, seed: seen_by(*views)(records, seed).shuffled(Words(seed))


AS_THEY_ARE = seen_by()


@dataclass(frozen=True)
class Case:
    """A statistic, and what it may be asked of.

    Parameters
    ----------
    statistic : Statistic
    forms : tuple of str
        Of `FORMS`.
    prepare : callable
        What a method does to the records before it asks, and a seed of what it draws for them.
    adds_up : bool
        The totals of disjoint parts add up.
    seeds : tuple of int
        Of what is drawn for the records.
    unattained : dict
        By adjacency, why no neighbours move it by more than 1 / sqrt2 of the sensitivity.
    near : callable or None
        Whether neighbours may have the one record for the other; None for any, and for none.
    known : tuple of ndarray
        Records that the search tries besides.
    """

    statistic: Statistic
    forms: tuple[str, ...] = EVERY
    prepare: Callable[[Records, int], Records] = AS_THEY_ARE
    adds_up: bool = True
    seeds: tuple[int, ...] = (0,)
    unattained: Mapping[str, str] = field(default_factory=dict)
    near: Callable[[np.ndarray, np.ndarray], bool] | None = None
    known: tuple[np.ndarray, ...] = ()

    def total(self, records: list[np.ndarray], form: Form, seed: int = 0) -> np.ndarray:
        """The exact total."""
        return self.total_of(self.prepare(records_of(records, form), seed))

    def total_of(self, records: Records) -> np.ndarray:
        """The exact total of records that were prepared."""
        if isinstance(self.statistic, Histogram) and self.statistic.grouped:
            sizes = records.private_sizes
            return self.statistic.total(records, np.repeat(np.arange(len(sizes)), sizes))
        total = self.statistic.total(records)
        if self.statistic.symmetric:  # the lower triangle is not read
            size = len(total)
            return symmetric_from_upper(total[np.triu_indices(size)], size)
        return total


def residual(
    directions: np.ndarray,
    prediction: np.ndarray | None = None,
    centre: np.ndarray = ZERO,
    removed: np.ndarray | None = None,
    core: np.ndarray | None = None,
) -> ResidualNorms:
    prediction = np.zeros_like(directions) if prediction is None else prediction
    if core is not None:
        prediction = core[:, None] * directions
    return ResidualNorms(centre, removed, directions, prediction, core)


def one_interaction(record: np.ndarray, other: np.ndarray) -> bool:
    return bool(((record != 0) != (other != 0)).sum() == 1)


EQUAL = np.full((1, D), 0.5)
PREDICTED = RNG.normal(size=(2, D))
CORE = np.array([3.0, 1.0])

# Why no neighbours come within sqrt2 of a sensitivity.
PUBLIC_N = {"replace-one": "the number of records is public, and the same for neighbours"}
WHOLE = {
    "replace-one": "products of a semi-definite matrix with a whole basis are no further apart "
    "than such matrices are, by sqrt2 R: terms are opposite only where a prediction is subtracted, "
    "or where W leaves directions out"
}
FEW_ENTRIES = {
    "replace-one": "both rows have long scores, and rows with few entries that do are not opposite"
}
ONE_COLUMN = dict.fromkeys(
    ("add-remove", "replace-one"),
    "all rows of Q are taken to be as long as the longest, and to point wherever they are worst",
)
LOOSE = {(1, 1), (1, 3)}
LINE = np.array([-np.inf, 1e300])

# A row per statistic. Whoever adds a statistic adds a row.
CASES: dict[str, list[Case]] = {
    "Count": [Case(Count(), unattained=PUBLIC_N)],
    "CountBeyond": [
        Case(CountBeyond(Distances(ZERO), 2.0)),
        Case(CountBeyond(Distances(CENTRE), 2.0)),
        Case(CountBeyond(Spreads(CENTRE), 1e-3)),
        Case(CountBeyond(GramNorms(CENTRE, 0.25), 2.0), GROUPS),
        Case(CountBeyond(RowCounts(), 3.0), GROUPS),
        Case(CountBeyond(residual(TWO, PREDICTED, CENTRE), 4.0)),
        *(
            Case(
                CountBeyond(AdjacentDifferences(direction), 1.0),
                prepare=paired(MeanRows(CENTRE)),
                adds_up=False,
                seeds=(0, 1, 2),
            )
            for direction in (None, ONE[0])
        ),
    ],
    "MeasureHistogram": [
        Case(MeasureHistogram(Distances(CENTRE), np.array([0.5, 1.0, 8.0]))),
        Case(MeasureHistogram(Distances(FAR), 2.0 ** np.arange(-40.5, 41.0, 0.5))),
        Case(MeasureHistogram(Spreads(ZERO), np.array([1e-3, 1.0, 2.0]))),
        Case(MeasureHistogram(GramNorms(CENTRE, 0.25), np.array([1.0, 2.0, 4.0])), GROUPS),
        Case(MeasureHistogram(RowCounts(), np.array([0.5, 1.0, 2.0, 4.0])), GROUPS),
        Case(MeasureHistogram(residual(TWO, PREDICTED, CENTRE), np.array([1.0, 4.0, 64.0]))),
    ],
    "BoundedTotal": [
        Case(BoundedTotal(RowCounts(), 20), GROUPS),
        Case(BoundedTotal(RowCounts(), 1), ROWS, unattained=PUBLIC_N),
        Case(BoundedTotal(Spreads(ZERO), 2.0, power=2)),
        Case(BoundedTotal(Spreads(CENTRE), 0.1, power=2)),
        Case(BoundedTotal(Spreads(FAR), 5.0, power=2)),
    ],
    "ClippedSum": [
        Case(ClippedSum(ZERO, 2.0)),
        Case(ClippedSum(CENTRE, 2.0)),
        Case(ClippedSum(FAR, 1e-3)),
        Case(ClippedSum(CENTRE, 2.0), prepare=seen_by(Scaled(SCALE))),
        Case(ClippedSum(CENTRE, 2.0), SPARSE, seen_by(LargestEntries(2))),
        Case(ClippedSum(CENTRE, 2.0), SPARSE, seen_by(LargestEntries(2), Scaled(SCALE))),
        Case(ClippedSum(CENTRE, 2.0), SPARSE, seen_by(Explicit())),
        Case(ClippedSum(ZERO, 2.0), DENSE, seen_by(Scaled(SCALE), Shifted(CENTRE))),
    ],
    "ClippedGram": [
        Case(ClippedGram(ZERO, 2.0), ROWS),
        Case(ClippedGram(CENTRE, 2.0, 0.25), ROWS),
        Case(ClippedGram(FAR, 0.1, 0.0125), ROWS),
        Case(ClippedGram(CENTRE, 2.0, 0.25), ROWS, seen_by(Scaled(SCALE))),
        Case(ClippedGram(ZERO, 1.0, 0.125, spherical=True), ROWS),
        Case(ClippedGram(CENTRE, 1.0, 0.125, spherical=True), ROWS),
        Case(ClippedGram(CENTRE, 2.0, 0.25, grouped=True), GROUPS),
        Case(ClippedGram(ZERO, 2.0, 0.25, grouped=True), GROUPS, seen_by(Shifted(CENTRE))),
        Case(ClippedGram(ZERO, 2.0, grouped=True), GROUPS),
    ],
    "ResidualSum": [
        Case(ResidualSum(residual(TWO), 4.0)),
        Case(ResidualSum(residual(ALL, centre=CENTRE), 4.0), unattained=WHOLE),
        Case(ResidualSum(residual(TWO, PREDICTED, CENTRE), 1.0)),
        Case(ResidualSum(residual(TWO, core=CORE), 2.0)),
        Case(ResidualSum(residual(ONE, 1e3 * ONE, FAR), 2.0)),
        Case(ResidualSum(residual(TWO, PREDICTED), 1.0), DENSE, seen_by(Shifted(CENTRE))),
        Case(
            ResidualSum(residual(TWO, centre=CENTRE, removed=BASIS[2:3]), 4.0),
            prepare=seen_by(Explicit()),
        ),
        Case(
            ResidualSum(residual(ONE, BASIS[1:2], CENTRE, BASIS[2:]), 0.5),
            ("dense", "dense, missing", *GROUPS),
        ),
        Case(
            ResidualSum(ResidualNorms(np.zeros(2), None, np.eye(2), np.eye(2), np.ones(2)), 3.0),
            prepare=seen_by(Scores(TWO, CENTRE)),
        ),
    ],
    "CrossSum": [
        Case(CrossSum(CrossNorms(ZERO, TWO), 4.0)),
        Case(CrossSum(CrossNorms(CENTRE, ONE), 1.0)),
        Case(CrossSum(CrossNorms(FAR, TWO), 0.01)),
        Case(CrossSum(CrossNorms(CENTRE, TWO, spherical=True), 0.25), ROWS),
        Case(CrossSum(CrossNorms(CENTRE, TWO), 1.0), prepare=seen_by(Scaled(SCALE))),
        Case(CrossSum(CrossNorms(ZERO, TWO), 1.0), DENSE, seen_by(Shifted(CENTRE))),
    ],
    "ProductSum": [
        Case(ProductSum(residual(TWO), 4.0)),
        Case(ProductSum(residual(ONE, centre=CENTRE), 0.5)),
        Case(ProductSum(residual(TWO, centre=FAR), 4.0)),
        Case(ProductSum(residual(TWO, centre=CENTRE), 4.0), SPARSE, seen_by(LargestEntries(2))),
    ],
    "NormProduct": [
        Case(NormProduct(ZERO, TWO, 2.0), ROWS),
        Case(NormProduct(CENTRE, ALL, 2.0), ROWS),
        Case(NormProduct(FAR, TWO, 0.5), ROWS),
        Case(NormProduct(ZERO, TWO, 1.0, spherical=True), ROWS),
        Case(NormProduct(CENTRE, TWO, 1.0, spherical=True), ROWS),
        Case(NormProduct(CENTRE, TWO, 2.0, grouped=True), GROUPS),
        *(
            Case(
                NormProduct(centre, directions, 2.0, spherical, most=most),
                SPARSE,
                seen_by(LargestEntries(most), *scaled),
                unattained={} if directions is TWO else FEW_ENTRIES,
            )
            for most, centre, directions, spherical, scaled in (
                (1, ZERO, ONE, False, ()),
                (2, ZERO, EQUAL, False, ()),
                (2, ZERO, EQUAL, True, ()),
                (2, ZERO, TWO, False, (Scaled(SCALE),)),
                (1, CENTRE / 10, EQUAL, False, ()),
                (1, CENTRE / 10, EQUAL, True, ()),
            )
        ),
        *(
            Case(
                NormProduct(ZERO, directions, 1.0, floor=floor),
                ("dense", "csr"),
                seen_by(Interactions(floor)),
                near=one_interaction,
                known=tuple(np.indices((2,) * D).reshape(D, -1).T[:, None] + 0.0),
                unattained=ONE_COLUMN if (len(directions), floor) in LOOSE else {},
            )
            for directions in (ONE, TWO, ALL)
            for floor in ((1, 2, 3, 9) if directions is ALL else (1, 2, 3))
        ),
    ],
    "ScoreGram": [
        Case(ScoreGram(ZERO, 2.0, TWO)),
        Case(ScoreGram(CENTRE, 0.5, ONE)),
        Case(ScoreGram(FAR, 3.0, ALL)),
    ],
    "CapturedTotal": [
        Case(CapturedTotal(ZERO, 2.0, TWO)),
        Case(CapturedTotal(CENTRE, 0.5, ONE)),
        Case(CapturedTotal(FAR, 3.0, ALL)),
        Case(CapturedTotal(CENTRE, 2.0, TWO), prepare=seen_by(Scaled(SCALE))),
    ],
    "KendallMatrix": [
        Case(
            KendallMatrix(D, radius, offsets),
            prepare=paired(MeanRows(CENTRE)),
            adds_up=False,
            seeds=(0, 1) if offsets else (0,),
        )
        for radius in (None, 2.0)
        for offsets in (None, 1, 2)
    ],
    "ColumnCells": [
        *(
            Case(ColumnCells(which, CENTRE[which], SCALE[which], edges, grouped), forms)
            for grouped, forms in ((False, ROWS), (True, GROUPS))
            for which, edges in (
                (EVERY_ONE, np.array([-4.0, -0.5, 0.5, 4.0])),
                (SOME, np.linspace(0, 1, 4)),
            )
        ),
        Case(ColumnCells(SOME, ZERO[SOME], SCALE[SOME], LINE), ROWS),
        Case(ColumnCells(EVERY_ONE, ZERO, SCALE, LINE, True), GROUPS),
    ],
    "MeanSquares": [
        Case(MeanSquares(ZERO, np.ones(D), 3.0)),
        Case(MeanSquares(CENTRE, SCALE, 5.0)),
        Case(MeanSquares(FAR, SCALE, 6.0), prepare=seen_by(Scaled(SCALE))),
    ],
    "Histogram": [
        *(
            Case(Histogram(AXES, centre, edges, edges[:3]), ROWS)
            for centre in (ZERO, CENTRE)
            for edges in (np.linspace(-2, 2, 5),)
        ),
        Case(Histogram(TWO, CENTRE, np.linspace(-2, 2, 5), np.r_[0.0, 1.0], 1, True), GROUPS),
    ],
}

# A row per measure and view, of which one instance is enough: and what it may be asked of.
MEASURES: dict[str, list[tuple[Measure, tuple[str, ...]]]] = {
    "Distances": [(Distances(ZERO), EVERY), (Distances(FAR), EVERY)],
    "Spreads": [(Spreads(ZERO), EVERY), (Spreads(CENTRE), EVERY)],
    "GramNorms": [(GramNorms(ZERO), EVERY), (GramNorms(CENTRE, 0.25), EVERY)],
    "RowCounts": [(RowCounts(), EVERY)],
    "Squares": [(Squares(CENTRE, None), ROWS)],
    "ResidualNorms": [
        (residual(TWO, PREDICTED, CENTRE), EVERY),
        (residual(TWO, core=CORE), EVERY),
        (residual(ONE, centre=CENTRE, removed=BASIS[2:]), ("dense", "dense, missing", *GROUPS)),
    ],
    "CrossNorms": [
        (CrossNorms(CENTRE, TWO), EVERY),
        (CrossNorms(ZERO, ONE, spherical=True), ROWS),
    ],
    "AdjacentDifferences": [(AdjacentDifferences(), ()), (AdjacentDifferences(ONE[0]), ())],
}
VIEWS: dict[str, list[tuple[View, tuple[str, ...]]]] = {
    "Explicit": [(Explicit(), EVERY)],
    "Interactions": [(Interactions(2), ("dense", "csr"))],
    "LargestEntries": [(LargestEntries(2), SPARSE)],
    "MeanRows": [(MeanRows(CENTRE), EVERY)],
    "Scaled": [(Scaled(SCALE), EVERY)],
    "Scores": [(Scores(TWO, CENTRE), EVERY)],
    "Shifted": [(Shifted(CENTRE), DENSE)],
}


def kinds_of(base: type) -> set[str]:
    """The names of all kinds of one base: statistics, measures or views."""
    return {name for name, kind in KINDS.items() if issubclass(kind, base)}


def within(kind: Kind) -> Iterator[Kind]:
    """The kind, and all that it is made of."""
    yield kind
    for one in fields(kind):
        if isinstance(getattr(kind, one.name), Kind):
            yield from within(getattr(kind, one.name))


def every_form(cases: Mapping[str, list[Case]]) -> list[Any]:
    """Parameters of a test: every case in all its forms, all but one of which are slow."""
    return [
        pytest.param(
            case,
            FORMS[form],
            id=f"{name}-{i}-{form}",
            marks=() if j == i % len(case.forms) else pytest.mark.slow,
        )
        for name, rows in cases.items()
        for i, case in enumerate(rows)
        for j, form in enumerate(case.forms)
    ]


def some_records(form: Form, n: int = 40, seed: int = 3) -> list[np.ndarray]:
    """Ordinary records, and some that are far away, zero, alike, empty, or of many rows."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=n) if form.grouped else np.ones(n, int)
    if form.grouped:
        sizes[7] = 50
    records = [rng.normal(size=(m, D)) * 10 ** rng.uniform(-1, 2) + 1 for m in sizes]
    for i, row in enumerate((ZERO, CENTRE, np.full(D, 1e170), np.full(D, 1e-170), FAR, FAR)):
        records[5 * i][:] = row
    if form.is_sparse:
        records = [np.where(rng.random(record.shape) < 0.5, 0.0, record) for record in records]
    if form.may_miss:
        records = [np.where(rng.random(record.shape) < 0.2, np.nan, record) for record in records]
        records[9][:] = np.nan
    return records
