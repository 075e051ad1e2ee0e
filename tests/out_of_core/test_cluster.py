"""Fits on dask collections, with threads: the releases of the same rows in memory."""

import random
import time
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from skdppca import KDPPCA, DPGauss, PrivacyAccountant
from skdppca.decomposition import METHODS
from skdppca.noise import NoiseSource
from skdppca.statistics import (
    BoundedTotal,
    ClippedSum,
    Distances,
    MeasureHistogram,
    Spreads,
)

from ..secret_rows import refused
from .test_pieces import (
    CASES,
    GROUPS,
    SPARSE,
    D,
    N,
    X,
    assert_same_release,
    on_methods_and_cases,
)

pytest.importorskip("dask", reason="the extra dask is not installed")
pytest.importorskip("pandas")

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask.core import get_dependencies

from skdppca.out_of_core import cluster
from skdppca.out_of_core.dask_table import open_collection

# Rows of the partitions: one is empty, and one ends within a group.
CHUNKS = (130, 0, 400, 1, N - 531)
EDGES = np.cumsum(CHUNKS)[:-1]
NAMES = [f"column {i}" for i in range(D)]
EXACT = {"epsilon": np.inf}


def as_dask(rows, chunks=CHUNKS):
    """The rows as a dask array."""
    if not sparse.issparse(rows):
        return da.from_array(rows, chunks=(chunks, (2, D - 2)), name=False)
    edges = [0, *np.cumsum(chunks)]
    nothing = sparse.csr_array((0, D))
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(rows[a:b], pure=False), (b - a, D), meta=nothing)
            for a, b in pairwise(edges)
        ]
    )


def as_labels(labels, chunks=CHUNKS):
    """The labels of groups as a dask array."""
    return None if labels is None else da.from_array(labels, chunks=(chunks,), name=False)


def as_frame(rows, **more):
    """The rows as a dask DataFrame of three partitions."""
    return dd.from_pandas(
        pd.DataFrame(rows, columns=NAMES).assign(**more), npartitions=3, sort=False
    )


def seeded(name="DPGauss", **parameters):
    """An estimator whose fits are all alike."""
    return METHODS[name].estimator(2, **{"epsilon": 5.0, "random_state": 0, **parameters})


@on_methods_and_cases
def test_a_fit_on_partitions_gives_the_release_of_the_array(name, case):
    rows, groups, parameters = CASES[case]
    estimator = seeded(name, **parameters)
    whole = seeded(name, **parameters).fit(rows, groups=groups)
    estimator.fit(as_dask(rows), groups=as_labels(groups))
    assert_same_release(estimator, whole)


@pytest.mark.parametrize("name", ["KDPPCA", pytest.param("KDPOjas", marks=pytest.mark.slow)])
def test_random_parts_are_those_of_the_array(name):
    more = {"epsilon": 9.0, "sampling": "split"}
    assert_same_release(seeded(name, **more).fit(as_dask(X)), seeded(name, **more).fit(X))


@pytest.mark.slow
def test_random_parts_of_groups_are_those_of_the_array():
    more = {"epsilon": 9.0, "sampling": "split", "unit": "patient"}
    fitted = seeded("KDPPCA", **more).fit(as_dask(X), groups=as_labels(GROUPS))
    assert_same_release(fitted, seeded("KDPPCA", **more).fit(X, groups=GROUPS))


def test_no_rows_leave_the_workers_for_a_part():
    source = open_collection(as_dask(X)).table(seeded(), None).read(None, None)
    assert source.sample(1, 3, NoiseSource(0)) is None
    source.close()


@pytest.mark.parametrize("case", ["rows", "sparse", "groups", "missing"])
def test_questions_asked_together_are_answered_by_one_look_at_partitions(case, watched):
    rows, groups, more = CASES[case]
    table = open_collection(as_dask(rows)).table(seeded(**more), as_labels(groups))
    source, centre = table.read(None, None), np.full(D, 5.0)
    part = source.parts((1, 2), NoiseSource(0))[0]
    asked = [
        (source, MeasureHistogram(Distances(centre), np.linspace(0.0, 30.0, 40))),
        (part, ClippedSum(centre, 3.0)),
        (source, BoundedTotal(Spreads(centre), 6.0, 2)),
    ]
    alone = [some.total(statistic) for some, statistic in asked]
    source.together(asked)
    watched.graphs.clear()
    shared = [some.total(statistic) for some, statistic in asked]
    assert len(watched.graphs) == 1
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one, other)
    source.close()


def test_partitions_may_have_unknown_lengths():
    rows = as_dask(X)
    filtered = rows[rows[:, 0] > 5.0]
    assert np.isnan(filtered.shape[0])
    assert_same_release(seeded().fit(filtered), seeded().fit(X[X[:, 0] > 5.0]))


@pytest.mark.parametrize("edges", [(60, 70), (61, 62, 63), (50, 50, 300), (59, 100, 100)], ids=str)
@pytest.mark.parametrize("rows", [X, SPARSE], ids=["dense", "sparse"])
def test_a_group_that_goes_on_in_the_next_partitions_is_one_record(rows, edges):
    labels = np.where((np.arange(N) >= 60) & (np.arange(N) < 300), GROUPS[60], GROUPS)
    chunks = tuple(np.diff([0, *edges, N]))
    more = {
        "unit": "patient",
        "adjacency": "replace-one",
        "norm_bound": 30.0,
        "mean": np.full(D, 5),
    }
    fitted = seeded(**more).fit(as_dask(rows, chunks), groups=as_labels(labels, chunks))
    whole = seeded(**more).fit(rows, groups=labels)
    assert fitted.n_samples_ == whole.n_samples_ == len(np.unique(labels))
    assert_same_release(fitted, whole)


@pytest.mark.parametrize("how", ["name", "series"])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_the_groups_of_a_data_frame_are_a_column_or_a_series(how, text):
    labels = np.array([f"patient {i:03}" for i in GROUPS]) if text else GROUPS
    frame = as_frame(X, patient=labels)
    if how == "name":
        fitted = seeded(unit="patient").fit(frame, groups="patient")
    else:
        fitted = seeded(unit="patient").fit(frame[NAMES], groups=frame["patient"])
    assert_same_release(fitted, seeded(unit="patient").fit(X, groups=labels))
    assert fitted.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("name", ["DPGauss", "KDPPCA"])
def test_a_column_by_name_and_its_series_give_the_same_bits(name):
    frame = as_frame(X, patient=GROUPS)
    one = seeded(name, unit="patient").fit(frame, groups="patient")
    other = seeded(name, unit="patient").fit(frame[NAMES], groups=frame["patient"])
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.mean_, other.mean_)


@pytest.fixture
def unevenly_cut(tmp_path):
    """Parquet files of which dask reads several at once for one narrow column, but not for all."""
    frame = pd.DataFrame(X, columns=NAMES).assign(patient=GROUPS.astype(np.int16))
    for k, part in enumerate(np.split(np.arange(N), [7, 400, 401, 650, 800])):
        frame.iloc[part].to_parquet(tmp_path / f"part.{k}.parquet")
    return dd.read_parquet(tmp_path)


def test_files_that_dask_cuts_otherwise_for_a_column_alone_are_grouped_by_it(unevenly_cut):
    assert len(unevenly_cut["patient"].to_delayed()) < len(unevenly_cut.to_delayed())
    fitted = seeded(unit="patient").fit(unevenly_cut, groups="patient")
    assert_same_release(fitted, seeded(unit="patient").fit(X, groups=GROUPS))


def test_a_series_in_other_partitions_is_refused_and_the_error_says_to_name_the_column(
    unevenly_cut,
):
    pca = DPGauss(2, accountant=PrivacyAccountant(10.0, 1e-3), unit="patient")
    remedy = r"fit\(X, groups='patient'\)"
    refused(pca, unevenly_cut[NAMES], remedy, unevenly_cut["patient"], kinds=ValueError)


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("stored", [False, True], ids=["memory", "files"])
def test_the_groups_of_a_data_frame_may_be_its_index(stored, text, tmp_path):
    labels = np.array([f"patient {i:03}" for i in GROUPS]) if text else GROUPS
    index = pd.Index(labels, name="patient")
    frame = dd.from_pandas(pd.DataFrame(X, index, columns=NAMES), npartitions=3)
    if stored:
        frame.to_parquet(tmp_path)
        frame = dd.read_parquet(tmp_path, index="patient")
    fitted = seeded(unit="patient").fit(frame, groups="patient")
    assert_same_release(fitted, seeded(unit="patient").fit(X, groups=labels))


def test_a_column_is_the_groups_where_the_index_has_the_same_name():
    frame = pd.DataFrame(X, pd.Index(np.arange(N), name="patient"), columns=NAMES)
    rows = dd.from_pandas(frame.assign(patient=GROUPS), npartitions=3)
    fitted = seeded(unit="patient").fit(rows, groups="patient")
    assert_same_release(fitted, seeded(unit="patient").fit(X, groups=GROUPS))


def test_a_column_of_labels_is_no_feature_that_transform_knows():
    frame = as_frame(X, patient=GROUPS)
    fitted = seeded(unit="patient").fit(frame, groups="patient")
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(frame)
    assert fitted.transform(frame[NAMES]).compute().shape == (N, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_a_data_frame_is_read_as_that_of_pandas(dtype):
    frame = pd.DataFrame(X.astype(dtype), columns=NAMES)
    fitted = seeded().fit(dd.from_pandas(frame, npartitions=3))
    assert_same_release(fitted, seeded().fit(frame))
    assert fitted.privacy_.feature_names == tuple(NAMES)


def test_absent_cells_of_a_data_frame_are_missing_entries():
    frame = pd.DataFrame(X, columns=NAMES).astype("Float64")
    frame = frame.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    fitted = seeded(missing="mean").fit(dd.from_pandas(frame, npartitions=3))
    assert_same_release(fitted, seeded(missing="mean").fit(frame))


def test_public_scales_divide_the_features():
    scale = np.arange(1.0, D + 1)
    assert_same_release(seeded(scale=scale).fit(as_dask(X)), seeded(scale=scale).fit(X))


def test_scales_by_column_are_found_by_the_names_of_a_data_frame():
    frame, scale = pd.DataFrame(X, columns=NAMES), {NAMES[0]: "private", NAMES[1]: 2.5}
    fitted = seeded(scale=scale).fit(dd.from_pandas(frame, npartitions=3))
    assert_same_release(fitted, seeded(scale=scale).fit(frame))


def test_the_order_in_which_tasks_end_changes_no_bit():
    def delayed(block):
        time.sleep(random.random() / 100)
        return block

    chunks = (50,) * (N // 50)
    rows = as_dask(X, chunks).rechunk({1: -1}).map_blocks(delayed, dtype=float)
    with dask.config.set(num_workers=6):
        fits = [seeded(**EXACT).fit(rows).components_ for _ in range(2)]
    with dask.config.set(scheduler="sync"):
        fits.append(seeded(**EXACT).fit(rows).components_)
    assert all(np.array_equal(fit, fits[0]) for fit in fits)


# What the client and the workers send each other


class Watched:
    """A scheduler that remembers graphs and what came back."""

    def __init__(self):
        self.graphs, self.results = [], []

    def __call__(self, graph, keys, **more):
        found = dask.get(graph, keys, **more)
        tasks = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
        self.graphs.append(dict(tasks))
        self.results.append(found)
        return found


@pytest.fixture
def watched():
    watching = Watched()
    with dask.config.set(scheduler=watching):
        yield watching


def ours(graph):
    return {key for key in graph if str(key).startswith("skdppca_")}


def test_keys_of_tasks_are_new_in_every_fit(watched):
    rows = as_dask(X)
    seeded().fit(rows)
    first = set().union(*map(ours, watched.graphs))
    watched.graphs.clear()
    seeded().fit(rows)
    assert first and not first & set().union(*map(ours, watched.graphs))


def test_one_sum_comes_back_and_no_task_adds_many(watched):
    chunks = (9,) * (N // 9)
    seeded().fit(as_dask(X, chunks))
    assert [len(found) for found in watched.results[1:]] == [1] * (len(watched.results) - 1)
    for graph in watched.graphs[1:]:
        sizes = [len(get_dependencies(graph, key)) for key in ours(graph)]
        assert max(sizes) == cluster.FAN_IN


def test_blas_has_one_thread_within_a_task(monkeypatch):
    seen = []
    table = cluster._Table

    def records(self, *given):
        seen.extend(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")
        return look(self, *given)

    look = table.look
    monkeypatch.setattr(table, "look", records)
    seeded().fit(as_dask(X))
    assert set(seen) == {1}


# Measures that workers keep


@pytest.fixture
def kept(monkeypatch):
    """What was ever kept."""
    sizes = []
    keep = cluster._Kept.keep

    def spy(self, *given):
        keep(self, *given)
        sizes.append(self.size)

    monkeypatch.setattr(cluster._Kept, "keep", spy)
    return sizes


def test_measures_are_kept_during_a_fit_and_dropped_at_its_end(kept):
    seeded("KDPPCA").fit(as_dask(X))
    assert max(kept) > 0 and cluster.KEPT.size == 0 == len(cluster.KEPT._of)


def test_measures_are_dropped_if_the_fit_fails(kept, monkeypatch):
    monkeypatch.setattr(cluster, "_add", cluster._caught(lambda *sums: 1 / 0))
    with pytest.raises(RuntimeError, match="was charged, and released nothing"):
        seeded("KDPPCA").fit(as_dask(X))
    assert cluster.KEPT.size == 0 == len(cluster.KEPT._of)


def test_without_room_for_measures_the_release_is_the_same(kept, monkeypatch):
    monkeypatch.setattr(cluster, "KEPT_BYTES", 0)
    assert_same_release(seeded("KDPPCA").fit(as_dask(X)), seeded("KDPPCA").fit(X))
    assert max(kept) == 0


def test_a_fit_that_never_ended_gives_way(monkeypatch):
    monkeypatch.setattr(cluster, "KEPT_BYTES", 100)
    kept = cluster._Kept()
    kept.keep("lost", 0, (), {"norms": np.ones(10)})
    kept.keep("fit", 0, (), {"norms": np.ones(10)})
    kept.keep("fit", 1, (), {"norms": np.ones(10)})
    assert list(kept._of) == [("fit", 0)] and kept.size == 80


# Refusals


def whole():
    return as_dask(X)


def with_entry(value):
    rows = X.copy()
    rows[600, 1] = value
    return lambda: as_dask(rows)


def changed(change):
    """The rows, whose blocks turn out to be others than is declared."""
    return lambda: whole().rechunk({1: -1}).map_blocks(change, meta=np.empty((0, D)))


def failing(block):
    raise ValueError(f"the planted {block[0, 0]}")


def indexed(labels, name="patient"):
    """The rows as a data frame that declares an index, but has the one given."""
    frame = pd.DataFrame(X, pd.Index(labels, name=name), columns=NAMES)
    parts = [dask.delayed(frame.iloc[a : a + 300]) for a in range(0, N, 300)]
    return lambda: dd.from_delayed(parts, meta=frame[:0].rename_axis("patient"), verify_meta=False)


MIXED = as_labels(np.array([1, "a"] * (N // 2), object))
ABSENT = as_labels(np.where(GROUPS > 5, GROUPS, np.nan))
FEWER = as_labels(GROUPS[:-1], (*CHUNKS[:-1], CHUNKS[-1] - 1))
MOVED = as_labels(np.r_[GROUPS[N - 530 :], GROUPS[: N - 530]])
BAD = {
    "NaN": (with_entry(np.nan), None, ValueError, "contains NaN"),
    "infinity": (with_entry(np.inf), None, ValueError, "contains infinity"),
    "no rows": (lambda: whole()[:0], None, ValueError, r"0 sample\(s\)"),
    "one dimension": (lambda: whole()[:, 0], None, ValueError, "Expected 2D array"),
    "complex": (lambda: whole() * 1j, None, ValueError, "real numbers"),
    "objects": (lambda: as_dask(X.astype(object)), None, ValueError, "dtype object"),
    "delayed": (lambda: dask.delayed(X), None, TypeError, "dask Delayed"),
    "text column": (lambda: as_frame(X, name="text"), None, ValueError, "hold no numbers: 'name'"),
    "sparse blocks": (changed(sparse.csr_array), None, TypeError, "some are sparse"),
    "fewer columns": (changed(lambda x: x[:, 1:]), None, ValueError, "differ in their columns"),
    "text": (changed(lambda x: x.astype(str) + "planted"), None, ValueError, "holds text"),
    "lists": (changed(np.ndarray.tolist), None, ValueError, "cannot be read as a table"),
    "a graph that fails": (changed(failing), None, RuntimeError, "could not compute X"),
    "unsorted groups": (whole, as_labels(GROUPS[::-1]), ValueError, "be sorted"),
    "groups unsorted over partitions": (whole, MOVED, ValueError, "be sorted"),
    "groups that cannot be sorted": (whole, MIXED, ValueError, "be sorted"),
    "missing labels": (whole, ABSENT, ValueError, "missing labels"),
    "labels of other lengths": (whole, FEWER, ValueError, "one label for every row"),
    "labels in memory": (whole, GROUPS, ValueError, "one label for every row"),
    "no such column": (lambda: as_frame(X), "patient", ValueError, "no column of X"),
    "another index": (indexed(GROUPS, "planted"), "patient", ValueError, "no index 'patient'"),
    "unsorted index": (indexed(GROUPS[::-1]), "patient", ValueError, "be sorted"),
    "index unsorted over partitions": (
        indexed(np.roll(GROUPS, 300)),
        "patient",
        ValueError,
        "be sorted",
    ),
    "missing index": (
        indexed(np.where(GROUPS > 5, GROUPS, np.nan)),
        "patient",
        ValueError,
        "missing labels",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_refused_before_the_charge(case):
    rows, groups, kind, text = BAD[case]
    accountant = PrivacyAccountant(10.0, 1e-3)
    estimator = DPGauss(2, accountant=accountant, unit="row" if groups is None else "patient")
    assert "planted" not in refused(estimator, rows(), text, groups, kinds=kind)


@pytest.mark.parametrize("name", ["GDPPCA", "SmoothSensitivityPCA"])
def test_a_method_that_needs_more_than_sums_is_refused_before_the_charge(name):
    pca = METHODS[name].estimator(2, accountant=PrivacyAccountant(10.0, 1e-3))
    refused(pca, as_dask(X), "needs all of them in one place", kinds=TypeError)


# After the charge


def test_rows_that_change_are_an_error_and_the_charge_stands():
    rows = as_dask(X).map_blocks(lambda x: x + np.random.default_rng().random(x.shape), dtype=float)
    accountant = PrivacyAccountant(10.0, 1e-3)
    estimator = DPGauss(2, accountant=accountant)
    with pytest.raises(RuntimeError, match=r"no longer what it was.*was charged") as failed:
        estimator.fit(rows)
    assert len(accountant.receipts) == 1 and failed.value.__context__ is None
    assert not hasattr(estimator, "components_")


def test_an_error_within_a_task_is_not_quoted(monkeypatch):
    def records(self, *given):
        raise ValueError("the planted 3.14")

    monkeypatch.setattr(cluster._Table, "records", records)
    with pytest.raises(RuntimeError, match="was charged") as failed:
        seeded().fit(as_dask(X))
    assert "planted" not in str(failed.value) and failed.value.__context__ is None


# What is fitted, applied to collections


def refuse(*given, **more):
    raise AssertionError("computed")


@pytest.fixture(scope="module")
def fitted():
    return DPGauss(2, epsilon=5.0, random_state=0).fit(pd.DataFrame(X, columns=NAMES))


LAZY = {
    "dense": as_dask(X),
    "sparse": as_dask(SPARSE),
    "float32": as_dask(X.astype(np.float32)),
    "frame": as_frame(X),
}


@pytest.mark.parametrize("method", ["transform", "score_samples"])
@pytest.mark.parametrize("rows", LAZY.values(), ids=LAZY)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_are_mapped_lazily_to_an_array(fitted, method, rows):
    with dask.config.set(scheduler=refuse):
        found = getattr(fitted, method)(rows)
    expected = getattr(fitted, method)(rows.compute())
    assert isinstance(found, da.Array) and found.ndim == expected.ndim
    assert found.shape[1:] == expected.shape[1:]
    assert found.shape == expected.shape or isinstance(rows, dd.DataFrame)
    assert found.dtype == found._meta.dtype == expected.dtype
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)


def test_scores_are_mapped_back_lazily(fitted):
    scores = da.from_array(X[:, :2], chunks=(300, 1), name=False)
    with dask.config.set(scheduler=refuse):
        found = fitted.inverse_transform(scores)
    np.testing.assert_array_equal(found.compute(), fitted.inverse_transform(X[:, :2]))


def test_the_score_of_a_collection_is_a_number(fitted):
    assert fitted.score(as_frame(X)) == pytest.approx(fitted.score(as_frame(X).compute()))


def test_other_columns_than_those_of_the_fit_are_refused_without_computing(fitted):
    frame = as_frame(X).rename(columns={NAMES[0]: "other"})
    with (
        dask.config.set(scheduler=refuse),
        pytest.raises(ValueError, match="feature names should match"),
    ):
        fitted.transform(frame)


def test_an_accountant_does_not_travel_with_the_map():
    accountant = PrivacyAccountant(10.0, 1e-3)
    estimator = KDPPCA(2, accountant=accountant).fit(X)
    found = estimator.transform(as_dask(X)).__dask_graph__()
    assert b"PrivacyAccountant" not in cloudpickle.dumps(dict(found))


def test_what_a_sum_is_made_of_stays_as_it_is():
    """A task may run again, on what it was given, when a worker is lost."""
    parts = [[np.full((2, 2), float(k))] for k in (1, 2, 3)]
    first, again = (cluster._add(*parts)[0] for _ in range(2))
    np.testing.assert_array_equal(first.result(), again.result())
    whole = cluster._add([first], [again])[0].result()
    np.testing.assert_array_equal(whole, 2 * first.result())
