"""Records that are gathered into memory: to the bit, the numbers of those that were left there."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from skdppca.exceptions import TableChangedError
from skdppca.noise import NoiseSource
from skdppca.out_of_core.files import FileRecords, Files
from skdppca.records import Records
from skdppca.statistics import (
    BoundedTotal,
    ClippedGram,
    ClippedSum,
    Count,
    Distances,
    GramNorms,
    MeanRows,
    MeasureHistogram,
    ResidualNorms,
    ResidualSum,
    Scaled,
    Shifted,
    Spreads,
)

from .test_pieces import GROUPS as LABELS
from .test_pieces import SPARSE, D, N, X

pytestmark = pytest.mark.usefixtures("small_pieces")

GROUPS = np.unique(LABELS, return_inverse=True)[1]
CENTRE = np.linspace(4.0, 6.0, D)
FINE = np.sort(np.random.default_rng(0).uniform(0.0, 60.0, 5000))
HOLED = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)

TABLES = {
    "rows": (X, None, False),
    "single precision": (X.astype(np.float32), None, False),
    "groups": (X, GROUPS, False),
    "missing": (HOLED, None, True),
    "sparse": (SPARSE, None, False),
    "sparse groups": (SPARSE, GROUPS, False),
}
SCALE = np.linspace(0.5, 2.0, D)
VIEWS = {
    "as they are": (),
    "scaled": (Scaled(SCALE),),
    "mean rows": (MeanRows(CENTRE), Shifted(CENTRE)),
}


def in_memory(X, groups, may_miss, folder):
    return Records.of(X, groups, may_miss=may_miss)


def in_files(X, groups, may_miss, folder, n_jobs=1):
    X = X.toarray() if sparse.issparse(X) else X
    columns = {f"c{j}": pa.array(X[:, j], from_pandas=True) for j in range(D)}
    more = {} if groups is None else {"who": groups}
    pq.write_table(pa.table(columns | more), folder / "t.parquet", row_group_size=90)
    files = Files(ds.dataset(folder / "t.parquet"), [*columns], *more)
    return FileRecords.of(files, files.check(), None, n_jobs, may_miss)


PLACES = {"memory": in_memory, "files": in_files}


def part_of(source, views=(), before=()):
    """A third of the records; the part is taken between views."""
    for view in before:
        source = source.through(view)
    source = source.parts((1, 2), NoiseSource(0))[0]
    for view in views:
        source = source.through(view)
    return source


def asked(layout, grouped):
    """Sums, and counts that one bit of one number would move."""
    measures = [Distances(CENTRE), Spreads(CENTRE)]
    measures += [GramNorms(CENTRE, 1.0)] if grouped else []
    directions = np.linalg.qr(np.random.default_rng(2).normal(size=(D, 2)))[0].T.copy()
    residual = ResidualNorms(CENTRE, None, directions, np.zeros((2, D)))
    counts = [MeasureHistogram(measure, FINE) for measure in [*measures, residual]]
    sums = [
        BoundedTotal(Spreads(CENTRE), 9.0, 2),
        ClippedSum(CENTRE, 3.0),
        ResidualSum(residual, 4.0),
        ClippedGram(CENTRE, 3.0, 1.0, grouped),
    ]
    return [Count(), *counts], sums


@pytest.mark.slow
@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("place", PLACES)
def test_totals_of_a_gathered_part_are_those_of_the_part(place, table, views, tmp_path):
    if (views, table) == ("mean rows", "missing"):
        views = "scaled"
    source = PLACES[place](*TABLES[table], tmp_path)
    part = part_of(source, VIEWS[views])
    held = part.gathered()
    assert isinstance(held, Records) and held.members.order is None
    assert held.layout == part.layout
    counts, sums = asked(held.layout, held.layout.is_grouped)
    for statistic in counts:
        np.testing.assert_array_equal(held.total(statistic), part.total(statistic))
    for statistic in sums:
        here, left = held.total(statistic), part.total(statistic)
        if statistic.symmetric:
            here, left = np.triu(here), np.triu(left)
        np.testing.assert_allclose(here, left, rtol=0, atol=1e-12 * np.abs(left).max())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("place", PLACES)
def test_every_gathered_row_is_the_row_of_the_table_to_the_bit(place, table, tmp_path):
    rows, groups, may_miss = TABLES[table]
    part = part_of(PLACES[place](rows, groups, may_miss, tmp_path))
    held = part.gathered()
    all_here = Records.of(rows, groups, may_miss=may_miss)
    if place == "files" and sparse.issparse(rows):
        all_here = Records.of(rows.toarray(), groups)
    numbers = part_of(all_here).members.all_numbers
    np.testing.assert_array_equal(held.members.first + held.members.all_numbers, numbers)
    for measure in (Distances(CENTRE), Spreads(CENTRE)):
        np.testing.assert_array_equal(
            held.ungrouped().measured(measure) if groups is None else held.measured(measure),
            all_here.measured(measure)[numbers],
        )


@pytest.mark.parametrize("place", PLACES)
def test_a_part_is_the_same_before_and_after_other_views(place, tmp_path):
    source = PLACES[place](*TABLES["rows"], tmp_path)
    statistic = MeasureHistogram(Distances(np.zeros(D)), FINE)
    views = (Scaled(SCALE), Shifted(CENTRE))
    totals = [
        part_of(source, views, before).gathered().total(statistic)
        for views, before in ((views, ()), ((), views), (views[1:], views[:1]))
    ]
    np.testing.assert_array_equal(totals[0], totals[1])
    np.testing.assert_array_equal(totals[0], totals[2])


def test_a_gathered_part_is_read_in_one_pass_and_asked_without_another(tmp_path, monkeypatch):
    part = part_of(in_files(*TABLES["rows"], tmp_path))
    passes, pieces = [], Files.pieces
    monkeypatch.setattr(Files, "pieces", lambda *a: passes.append(a) or pieces(*a))
    held = part.gathered()
    for statistic in asked(held.layout, False)[1]:
        held.total(statistic)
    assert len(passes) == 1


def test_a_table_that_changes_while_it_is_gathered_ends_the_fit(tmp_path):
    part = part_of(in_files(*TABLES["rows"], tmp_path))
    in_files(X[: N // 2], None, False, tmp_path)
    with pytest.raises(TableChangedError):
        part.gathered()


@pytest.mark.parametrize("place", PLACES)
def test_a_part_of_single_rows_is_gathered_whatever_its_size(place, tmp_path):
    source = PLACES[place](*TABLES["rows"], tmp_path)
    held = source.sample(1, 3, NoiseSource(0))
    part = source.parts((1, 2), NoiseSource(0))[0]
    statistic = MeasureHistogram(Distances(CENTRE), FINE)
    np.testing.assert_array_equal(held.total(statistic), part.total(statistic))
    assert isinstance(held, Records) and held.members.order is None


def test_groups_of_files_have_no_part_in_memory(tmp_path):
    assert in_files(*TABLES["groups"], tmp_path).sample(1, 3, NoiseSource(0)) is None
