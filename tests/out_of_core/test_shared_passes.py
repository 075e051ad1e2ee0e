"""Questions that wait for no other are answered in one pass: to the bit, as if by one each."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from skdppca import KDPPCA
from skdppca.noise import NoiseSource
from skdppca.out_of_core.files import FileRecords, Files
from skdppca.records import Records
from skdppca.statistics import (
    BoundedTotal,
    ClippedGram,
    ClippedSum,
    Count,
    Distances,
    KendallMatrix,
    MeasureHistogram,
    Scores,
    Shifted,
    Spreads,
)

from ..private_data_of import private_data
from .chunked_tables import Chunks

pytestmark = pytest.mark.usefixtures("small_pieces")

N, D = 500, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * np.arange(D, 0, -1) + 5.0
CENTRE = np.full(D, 5.0)
WITHIN = np.linalg.qr(RNG.normal(size=(D, 2)))[0].T.copy()
EDGES = np.linspace(0.0, 30.0, 40)


@pytest.fixture
def dataset(tmp_path):
    columns = {f"c{j}": X[:, j] for j in range(D)}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=90)
    return ds.dataset(tmp_path / "t.parquet")


def in_pieces(dataset):
    return Chunks.of(X, [100, 130, 400])


def in_files(dataset, jobs=1):
    files = Files(dataset, dataset.schema.names)
    return FileRecords.of(files, files.check(), n_jobs=jobs)


def in_threads(dataset):
    return in_files(dataset, 2)


def in_memory(dataset):
    return Records.of(X)


def questions(source):
    """Of the records, and through views that begin alike."""
    shifted = source.through(Shifted(CENTRE))
    scores = shifted.through(Scores(WITHIN, np.zeros(D)))
    part = shifted.parts((1, 2), NoiseSource(0))[0]
    return [
        (source, MeasureHistogram(Distances(CENTRE), EDGES)),
        (source, ClippedGram(CENTRE, 4.0)),
        (shifted, BoundedTotal(Spreads(np.zeros(D)), 6.0, 2)),
        (scores, ClippedSum(np.zeros(2), 2.0)),
        (part, MeasureHistogram(Distances(np.zeros(D)), EDGES)),
        (part, Count()),
        (source, Count()),
    ]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("place", [in_pieces, in_files, in_threads, in_memory])
def test_totals_of_a_shared_pass_are_those_of_passes_of_their_own(place, order, dataset):
    alone = [source.total(statistic) for source, statistic in questions(place(dataset))]
    source = place(dataset)
    asked = questions(source)
    source.together(asked)
    shared = [source.total(statistic) for source, statistic in asked[::order]]
    for one, other in zip(alone, shared[::order], strict=True):
        np.testing.assert_array_equal(one, other)


def test_questions_that_are_asked_together_take_one_pass(dataset):
    passes = []
    files = Files(dataset, dataset.schema.names, tell=passes.append)
    source = FileRecords.of(files, files.check())
    asked = questions(source)
    source.together(asked)
    assert len(passes) == 1
    for some, statistic in asked:
        some.total(statistic)
    assert len(passes) == 2


def test_a_total_is_held_until_it_is_asked_for_and_no_longer(dataset):
    passes = []
    files = Files(dataset, dataset.schema.names, tell=passes.append)
    source = FileRecords.of(files, files.check())
    asked = questions(source)[:2]
    source.together(asked)
    totals = [some.total(statistic) for some, statistic in [*asked, *asked]]
    assert len(passes) == 2 + len(asked)
    np.testing.assert_array_equal(totals[0], totals[2])
    source.together(asked)
    asked[0][0].total(asked[0][1])
    assert len(source.shared._totals) == 1
    source.together([])
    assert not source.shared._totals


def test_questions_about_two_tables_are_not_asked_together(dataset):
    one, other = in_files(dataset), in_files(dataset)
    with pytest.raises(TypeError, match="about other records"):
        one.together([(one, Count()), (other, Count())])


def test_more_than_sums_is_refused_when_it_is_asked(dataset):
    source = in_files(dataset)
    source.together([(source, KendallMatrix(D, 10, 2.0))])
    with pytest.raises(TypeError, match="needs all of them in one place"):
        source.total(KendallMatrix(D, 10, 2.0))


def test_what_is_asked_together_is_paid_one_by_one_when_it_is_asked(dataset):
    noise = []
    source = in_files(dataset)
    for shared in (False, True):
        data = replace(private_data(X, 1.0), source=source)
        statistics = [ClippedSum(CENTRE, 3.0), BoundedTotal(Spreads(CENTRE), 9.0)]
        if shared:
            data.together(*((data, statistic) for statistic in statistics))
            assert not data.budget.queries
        first = data.ask(statistics[0], 0.5, "sum")
        assert [query.name for query in data.budget.queries] == ["sum"]
        noise.append((first.value, data.ask(statistics[1], 0.5, "total").value))
    np.testing.assert_array_equal(noise[0][0], noise[1][0])
    np.testing.assert_array_equal(noise[0][1], noise[1][1])


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({}, [["MeasureHistogram", "MeasureHistogram"], ["ResidualSum", "BoundedTotal"]]),
        ({"norm_bound": 30.0}, [["ResidualSum", "BoundedTotal"]]),
        ({"epsilon": np.inf}, [["ResidualSum", "BoundedTotal"]]),
    ],
)
def test_variances_and_the_total_share_their_passes(told, asked, dataset, monkeypatch):
    passes, sums = [], FileRecords.sums

    def watched(self, questions):
        passes.append([type(question.statistic).__name__ for question in questions])
        return sums(self, questions)

    monkeypatch.setattr(FileRecords, "sums", watched)
    KDPPCA(2, random_state=0, **told).fit(dataset)
    assert passes[-len(asked) :] == asked
