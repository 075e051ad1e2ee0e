"""What a projection map claims beside its privacy (tests/audit/test_projection_map.py)."""

import copy
import math
import warnings
from collections import UserList, deque

import numpy as np
import pytest
from scipy import sparse

from skdppca import GDPPCA, DPGauss, DPPowerMethod, PrivacyAccountant
from skdppca.exceptions import (
    BudgetExceeded,
    OutsideMapWarning,
    SeededNoiseWarning,
    UnaccountedFitsWarning,
)
from skdppca.maps import projection_map
from skdppca.maps._map import LabelledSource
from skdppca.noise import GaussianQuery, NoiseSource
from skdppca.records import Records
from skdppca.statistics import Count, Explicit, Histogram

X = np.random.default_rng(0).normal(size=(500, 3)) * [4.0, 2.0, 1.0]
COST = {"epsilon": 1.0, "delta": 1e-6}
EXACT = {"epsilon": math.inf, "delta": 1e-6}
EXTENT = ((-6.0, 6.0), (-3.0, 3.0))


def fitted(estimator=DPGauss, rows=X, **parameters):
    return estimator(2, random_state=0, **COST, **parameters).fit(rows)


PCA_2 = fitted()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32], ids=str)
@pytest.mark.parametrize("more", [{}, {"scale": [2.0, 1.0, 1.0]}, {"whiten": True}], ids=str)
def test_without_noise_it_is_the_histogram_of_the_scores(kind, more):
    pca = fitted(**more)
    found = projection_map(pca, kind(X), bins=(7, 5), **EXACT)
    scores = pca.transform(kind(X).astype(float))
    expected = np.histogram2d(*scores.T, bins=found.edges)[0]
    np.testing.assert_array_equal(found.counts, expected)
    assert found.outside == len(X) - expected.sum()


def test_the_other_components_can_be_shown():
    pca = DPGauss(3, random_state=0, **COST).fit(X)
    found = projection_map(pca, X, components=(2, 0), extent=EXTENT, bins=4, **EXACT)
    expected = np.histogram2d(*pca.transform(X)[:, [2, 0]].T, bins=found.edges)[0]
    np.testing.assert_array_equal(found.counts, expected)


def test_by_default_three_standard_deviations_are_shown():
    found = projection_map(PCA_2, X, **COST)
    for edges, variance in zip(found.edges, PCA_2.explained_variance_, strict=True):
        assert -edges[0] == edges[-1] == pytest.approx(3 * math.sqrt(variance))
    whitened = projection_map(fitted(whiten=True), X, **COST)
    assert whitened.edges[0][-1] == 3


def test_a_class_has_its_own_map_and_an_unnamed_one_none():
    y = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    found = projection_map(PCA_2, X, y=y, classes=["b", "a", "none"], bins=4, **EXACT)
    for name, counts, outside in zip("ba", found.counts, found.outside, strict=False):
        one = projection_map(PCA_2, X[y == name], bins=4, **EXACT)
        np.testing.assert_array_equal(counts, one.counts)
        assert outside == one.outside
    assert not found.counts[2].any()


def test_a_group_weighs_one():
    groups = np.arange(len(X)) // 5
    pca = fitted(unit="row")
    found = projection_map(pca, X, unit="patient", groups=groups, extent=EXTENT, **EXACT)
    single = projection_map(pca, X, extent=EXTENT, **EXACT)
    np.testing.assert_allclose(found.counts * 5, single.counts, atol=1e-3)


def test_classes_cost_what_a_single_map_costs():
    y = np.arange(len(X)) % 3
    one = projection_map(PCA_2, X, **COST)
    many = projection_map(PCA_2, X, y=y, classes=range(3), **COST)
    assert one.noise_sd == many.noise_sd
    assert one.privacy_.event == many.privacy_.event


@pytest.mark.parametrize("n", [1, 500])
def test_the_map_is_a_function_of_the_noisy_answer(monkeypatch, n):
    monkeypatch.setattr(GaussianQuery, "release", lambda query, total, noise: np.arange(17.0))
    found = projection_map(PCA_2, X[:n], bins=4, random_state=0, **COST)
    np.testing.assert_array_equal(found.counts.ravel(), np.arange(16.0))
    assert found.outside == 16
    assert set(vars(found)) == {
        *("counts", "outside", "edges", "components", "classes", "noise_sd", "privacy_"),
        "accountant",
    }
    assert found.noise_sd == projection_map(PCA_2, X, bins=4, random_state=0, **COST).noise_sd


def test_a_row_lies_where_it_lies_by_itself():
    # scores on the very edges of the cells; in matrix products their last bits follow the place
    rng = np.random.default_rng(1)
    rows, axes = rng.normal(size=(300, 50)), np.linalg.qr(rng.normal(size=(50, 2)))[0].T.copy()

    def cells(some, edges):
        return Histogram(axes, np.zeros(50), *edges)._cells(Records.of(some))

    alone = [Records.of(row[None]).map(lambda b: b.scores(axes, None), width=2)[0] for row in rows]
    edges = tuple(np.sort(np.array(alone), axis=0).T)
    together = cells(rows, edges)
    np.testing.assert_array_equal(together, [cells(row[None], edges)[0] for row in rows])


def test_labelled_rows_answer_no_other_question():
    # their labels would not follow the rows through a view, or into a part
    rows = LabelledSource(Records.of(X), np.arange(len(X)) // 2)
    for ask in (
        lambda: rows.total(Count()),
        lambda: rows.through(Explicit()),
        lambda: rows.parts((1, 1), NoiseSource(0)),
        lambda: rows.shuffled(NoiseSource(0)),
    ):
        with pytest.raises(TypeError, match="ask a Histogram"):
            ask()


def test_rows_that_overflow_lie_outside():
    far = np.vstack([X, np.full((2, 3), 1e308)])
    with np.errstate(all="raise"):
        found = projection_map(PCA_2, far, extent=EXTENT, **EXACT)
    assert found.outside == projection_map(PCA_2, X, extent=EXTENT, **EXACT).outside + 2


def test_the_accountant_of_the_axes_pays_unless_another_is_given():
    first, second = (PrivacyAccountant(2.0, 1e-5) for _ in range(2))
    pca = DPGauss(2, accountant=first, **COST).fit(X)
    found = projection_map(pca, X, **COST)
    assert [receipt.label for receipt in first.receipts] == ["DPGauss", "projection_map"]
    assert found.privacy_.receipts == first.receipts[-1:]
    projection_map(pca, X, accountant=second, **COST)
    assert len(first.receipts) == 2
    assert len(second.receipts) == 1


def test_beyond_the_budget_nothing_is_computed(monkeypatch):
    def touched(*_):
        raise AssertionError("the rows were read before the charge")

    accountant = PrivacyAccountant(0.5, 1e-5)
    monkeypatch.setattr(Histogram, "total", touched)
    with pytest.raises(BudgetExceeded):
        projection_map(PCA_2, X, accountant=accountant, **COST)
    assert accountant.receipts == ()


def test_a_seed_warns_and_is_told():
    pca = DPGauss(2, **COST).fit(X)
    with pytest.warns(SeededNoiseWarning) as shown:
        found = projection_map(pca, X, random_state=0, **COST)
    assert shown[0].filename == __file__
    assert not found.privacy_.private
    again = projection_map(pca, X, random_state=0, **COST)
    np.testing.assert_array_equal(found.counts, again.counts)


def test_secure_noise_on_private_axes_is_private_and_never_the_same():
    pca = DPGauss(2, **COST).fit(X)
    one, other = (projection_map(pca, X, **COST) for _ in range(2))
    assert one.privacy_.private
    assert not np.array_equal(one.counts, other.counts)  # alike with probability < 1e-100


def test_a_map_on_axes_that_are_not_private_is_not_private():
    why_not = projection_map(PCA_2, X, **COST).privacy_.not_private
    assert any("axes: random_state" in why for why in why_not)
    pca = DPGauss(2, epsilon=math.inf).fit(X)
    assert not projection_map(pca, X, **COST).privacy_.private


def test_arrays_are_read_only():
    found = projection_map(PCA_2, X, **COST)
    for array in (found.counts, found.outside, *found.edges):
        assert not array.flags.writeable


def test_about_one_empty_cell_of_a_map_is_above_the_threshold():
    # 50 maps of 400 cells: the number above is Poisson of mean 50, within 25..80 but for 1e-4
    empty = ((1e6, 1e6 + 1), (1e6, 1e6 + 1))
    maps = [projection_map(PCA_2, X, extent=empty, random_state=s, **COST) for s in range(50)]
    assert 25 <= sum(np.count_nonzero(m.counts > m.threshold) for m in maps) <= 80


def test_without_variances_an_extent_is_asked_for():
    pca = fitted(GDPPCA, variance_share=0.0)
    with pytest.raises(ValueError, match="give a public extent"):
        projection_map(pca, X, **COST)
    projection_map(pca, X, extent=EXTENT, **COST)


def test_single_entries_are_not_what_a_map_protects():
    ones = (X > 0).astype(float)
    pca = DPPowerMethod(2, protect="interaction", center=False, random_state=0, **COST).fit(ones)
    with pytest.raises(ValueError, match="set unit='row'"):
        projection_map(pca, ones, extent=EXTENT, **COST)
    projection_map(pca, ones, extent=EXTENT, unit="row", **COST)


def test_groups_are_not_charged_as_single_entries():
    ones, accountant = (X > 0).astype(float), PrivacyAccountant(9.0, 1e-5, unit="interaction")
    pca = DPPowerMethod(2, protect="interaction", center=False, accountant=accountant, **COST)
    pca.fit(ones)
    with pytest.raises(ValueError, match="set unit='row'"):
        projection_map(
            pca, ones, extent=EXTENT, unit="interaction", groups=np.arange(len(X)), **COST
        )
    assert [receipt.label for receipt in accountant.receipts] == ["DPPowerMethod"]


def test_the_unit_is_that_of_the_fit_whatever_was_set_since():
    pca = fitted().set_params(unit="patient")
    assert projection_map(pca, X, extent=EXTENT, **COST).privacy_.unit == "row"


@pytest.mark.parametrize("container", [deque, UserList], ids=str)
def test_one_label_does_not_decide_how_another_is_read(container):
    y = [0, 1] * (len(X) // 2)
    for last in (1, "text"):
        found = projection_map(
            PCA_2, X, extent=EXTENT, y=container([*y[:-1], last]), classes=[0], **EXACT
        )
        assert found.counts.sum() + found.outside == len(X) / 2


def test_the_estimator_is_left_as_it_was():
    before = {name: str(value) for name, value in vars(PCA_2).items()}
    projection_map(PCA_2, X, **COST)
    with pytest.raises(ValueError, match="X has 2 features"):
        projection_map(PCA_2, X[:, :2], **COST)
    assert {name: str(value) for name, value in vars(PCA_2).items()} == before


def test_an_exchange_is_dearer_than_an_addition():
    added, exchanged = (
        projection_map(PCA_2, X, adjacency=adjacency, **COST).noise_sd
        for adjacency in ("add-remove", "replace-one")
    )
    assert exchanged == pytest.approx(math.sqrt(2) * added)


def test_a_map_shows_itself_in_a_line_and_in_a_notebook_with_its_report():
    found = projection_map(PCA_2, X, bins=(7, 5), extent=EXTENT, random_state=0, **COST)
    assert repr(found).startswith("<ProjectionMap: components 0 and 1, counted from 0; 7 x 5 cells")
    assert "\n" not in repr(found) and "NOT PRIVATE" in repr(found)
    assert found.privacy_._repr_html_() in found._repr_html_()


def test_a_map_that_misses_many_records_says_how_many():
    """Of 500, some 100 lie within .25 sds of the mean, in either direction; one fixed seed."""
    with pytest.warns(
        OutsideMapWarning, match=r"about (9\d|100) % of the records lie outside the map"
    ):
        found = projection_map(PCA_2, X, extent=((-1.0, 1.0), (-0.5, 0.5)), random_state=0, **COST)
    assert found.outside > 400


def test_a_map_that_shows_the_records_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutsideMapWarning)
        projection_map(PCA_2, X, random_state=0, **COST)
        projection_map(PCA_2, X[:5], extent=((-0.1, 0.1), (-0.1, 0.1)), random_state=0, **COST)


def test_a_map_of_charged_axes_is_charged_or_says_that_it_is_not():
    accountant = PrivacyAccountant(5.0, 1e-5)
    pca = DPGauss(2, accountant=accountant, **COST).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnaccountedFitsWarning)
        projection_map(pca, X, **COST)
    loaded = copy.copy(pca)
    loaded.accountant = None
    with pytest.warns(UnaccountedFitsWarning, match="accountant=PrivacyLedger"):
        projection_map(loaded, X, **COST)
