"""`scale={"age": "private", "bmi": 2.5}`: private scales of some columns, by every method."""

import copy
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from skdppca import GDPPCA, DPGauss, PrivacyAccountant, PrivatePCA, merge
from skdppca.model_selection import PrivateSearchCV, RecordKFold, price
from skdppca.report import ReleaseReport

from ..estimators import but_the_first_slow, on_all_estimators, on_all_estimators_slowly
from ..secret_rows import refused

RNG = np.random.default_rng(0)
N = 4000
PLACES = np.eye(4)[RNG.integers(0, 4, N)]
# Numbers in odd units, of which the first two go together; and one-hot columns.
NUMBERS = RNG.normal(size=(N, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 1.0]]
UNITS = np.array([15.0, 4.0, 3e4])
NUMBERS = (NUMBERS + 3.0) * UNITS
TABLE = pd.DataFrame(
    np.column_stack([PLACES[:, :2], NUMBERS, PLACES[:, 2:]]),
    columns=["north", "east", "age", "bmi", "income", "south", "west"],
)
MIXED = {"age": "private", "income": "private", "bmi": 2.5}
LISTED = [1, 1, "private", 2.5, "private", 1, 1]
PRIVATE = np.array([2, 4])
EXACT = StandardScaler().fit(TABLE).scale_[PRIVATE]
SEEDED = {"epsilon": 3.0, "random_state": 0}


def assert_mixed(pca, low=0.7, high=1.5):
    """Assert that public scales are exact, and private ones near the standard deviations."""
    public = np.delete(pca.scale_, PRIVATE)
    np.testing.assert_array_equal(public, [1.0, 1.0, 2.5, 1.0, 1.0])
    ratio = pca.scale_[PRIVATE] / EXACT
    assert ((ratio > low) & (ratio < high)).all(), ratio


@on_all_estimators
@pytest.mark.parametrize("adjacency", but_the_first_slow(["add-remove", "replace-one"]))
def test_public_scales_are_exact_and_private_ones_near_the_sds(factory, adjacency):
    accountant = PrivacyAccountant(3.0, 1e-6, adjacency=adjacency)
    told = {"scale": MIXED, "adjacency": adjacency, "accountant": accountant, **SEEDED}
    assert_mixed(factory(2, **told).fit(TABLE))
    assert accountant.spent.epsilon == pytest.approx(3.0, rel=1e-6)


@on_all_estimators
def test_numbers_are_the_components_and_one_hot_columns_are_none(factory):
    pca = factory(2, scale=MIXED, **SEEDED | {"epsilon": 8.0}).fit(TABLE)
    loads = np.sum(pca.components_**2, axis=0)
    assert loads[2:5].sum() > 1.8


@on_all_estimators_slowly
def test_a_dict_and_a_list_give_the_same_bits(factory):
    named = factory(2, scale=MIXED, **SEEDED).fit(TABLE)
    listed = factory(2, scale=LISTED, **SEEDED).fit(TABLE)
    for name in ("components_", "mean_", "scale_"):
        assert getattr(named, name).tobytes() == getattr(listed, name).tobytes()


@on_all_estimators_slowly
def test_a_list_of_private_scales_alone_gives_the_bits_of_the_word(factory):
    word = factory(2, scale="private", **SEEDED).fit(TABLE)
    listed = factory(2, scale=["private"] * 7, **SEEDED).fit(TABLE)
    for name in ("components_", "mean_", "scale_"):
        assert getattr(word, name).tobytes() == getattr(listed, name).tobytes()


@on_all_estimators_slowly
def test_a_dict_of_numbers_alone_gives_the_bits_of_the_vector(factory):
    named = factory(2, scale={"bmi": 2.5, "age": 9.0}, **SEEDED).fit(TABLE)
    vector = factory(2, scale=[1, 1, 9.0, 2.5, 1, 1, 1], **SEEDED).fit(TABLE)
    assert not hasattr(named, "scale_")
    assert named.mean_.tobytes() == vector.mean_.tobytes()
    assert named.transform(TABLE).tobytes() == vector.transform(TABLE).tobytes()


@on_all_estimators_slowly
def test_public_columns_are_divided_before_anything_is_asked(factory):
    divided = TABLE.assign(bmi=TABLE["bmi"] / 2.5)
    pca = factory(2, scale=MIXED, **SEEDED).fit(TABLE)
    by_hand = factory(2, scale=MIXED | {"bmi": 1}, **SEEDED).fit(divided)
    assert pca.components_.tobytes() == by_hand.components_.tobytes()
    np.testing.assert_allclose(pca.transform(TABLE), by_hand.transform(divided), atol=1e-9)


@pytest.mark.parametrize(("adjacency", "factor"), [("add-remove", 1), ("replace-one", 2)])
def test_a_question_about_two_columns_has_the_sensitivity_of_two(adjacency, factor):
    pca = DPGauss(2, scale=MIXED, adjacency=adjacency, **SEEDED).fit(TABLE)
    asked = {one.name: one.sensitivity for one in pca.privacy_.spendings}
    assert asked["octaves"] == pytest.approx(math.sqrt(2 * factor), rel=1e-6)


def test_fewer_private_scales_have_less_noise_for_no_larger_share():
    some, every = (
        DPGauss(2, scale=scale, epsilon=0.3, random_state=0).fit(TABLE).privacy_.spendings
        for scale in (MIXED, "private")
    )
    for name in ("octaves", "mean squares"):
        mine, theirs = (next(one for one in told if one.name == name) for told in (some, every))
        assert mine.mu <= theirs.mu and mine.noise_sd < theirs.noise_sd


@on_all_estimators_slowly
def test_groups(factory):
    pca = factory(2, scale=MIXED, unit="person", epsilon=8.0, random_state=0)
    assert_mixed(pca.fit(TABLE, groups=np.arange(N) // 2), low=0.5, high=2.0)


@on_all_estimators_slowly
def test_missing_entries(factory):
    holed = TABLE.mask(np.random.default_rng(1).random(TABLE.shape) < 0.1)
    assert_mixed(factory(2, scale=MIXED, missing="mean", **SEEDED).fit(holed))


def test_an_empty_public_column_keeps_its_scale():
    pca = DPGauss(2, scale=MIXED, missing="mean", **SEEDED).fit(TABLE.assign(bmi=np.nan))
    assert_mixed(pca)
    assert (pca.components_[:, 3] == 0).all()


@on_all_estimators_slowly
def test_sparse_rows(factory):
    around = {"center": False, **SEEDED}
    dense = factory(2, scale=LISTED, **around).fit(TABLE.to_numpy())
    pca = factory(2, scale=LISTED, **around).fit(sparse.csr_array(TABLE.to_numpy()))
    np.testing.assert_allclose(pca.scale_, dense.scale_, rtol=1e-3)


def test_single_precision_is_kept():
    pca = DPGauss(2, scale=MIXED, **SEEDED).fit(TABLE.astype(np.float32))
    assert pca.scale_.dtype == np.float32
    assert_mixed(pca)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_noise_they_are_those_of_a_standard_scaler(form):
    pca = DPGauss(2, scale=LISTED, epsilon=math.inf).fit(form(TABLE.to_numpy()))
    np.testing.assert_allclose(pca.scale_[PRIVATE], EXACT, rtol=1e-12)
    assert np.delete(pca.scale_, PRIVATE).tolist() == [1.0, 1.0, 2.5, 1.0, 1.0]


def test_a_public_mean_is_divided_as_the_features_are():
    mean = TABLE.mean().to_numpy()
    pca = DPGauss(2, scale=MIXED, mean=mean, **SEEDED).fit(TABLE)
    assert_mixed(pca)
    np.testing.assert_allclose(pca.mean_, mean, rtol=1e-12)


def test_values_that_no_square_holds_in_a_public_column_hide_no_private_scale():
    """A record with one is short in the question about squares, and in no histogram."""
    far = TABLE.assign(west=np.where(np.arange(N) == 7, 1e300, TABLE["west"]))
    assert_mixed(DPGauss(2, scale=MIXED, **SEEDED).fit(far), low=0.6)


def test_variances_are_those_of_the_features_divided_by_the_scales():
    pca = DPGauss(7, scale=MIXED, epsilon=50.0, random_state=0).fit(TABLE)
    exact = np.cov((TABLE.to_numpy() / pca.scale_).T)
    covariance = pca.get_covariance() / np.outer(pca.scale_, pca.scale_)
    np.testing.assert_allclose(np.diag(covariance), np.diag(exact), rtol=0.1)


def test_spherical_rows_keep_the_public_units():
    assert_mixed(DPGauss(2, scale=MIXED, clip="spherical", **SEEDED).fit(TABLE), 0.4, 2.5)


def test_a_fit_leaves_the_parameter_as_it_was():
    pca = PrivatePCA(2, scale=copy.deepcopy(MIXED), **SEEDED).fit(TABLE)
    assert pca.scale == MIXED and pca.get_params()["scale"] is pca.scale
    assert clone(pca).scale == MIXED
    assert pca.privacy_.parameters["scale"] == MIXED


@pytest.mark.parametrize("scale", [LISTED, [2.0] * 7], ids=["mixed", "numbers"])
def test_a_list_that_changes_during_the_fit_changes_nothing(scale):
    scale, changes = list(scale), []

    class Changing(DPGauss):
        def _mechanism(self, public):
            changes.append(scale.clear())
            return super()._mechanism(public)

    pca = Changing(2, scale=scale, epsilon=3.0).fit(TABLE)
    assert changes and np.isfinite(pca.mean_).all()


def test_what_was_fitted_stays_whatever_the_parameter_is_set_to():
    pca = DPGauss(2, scale=MIXED, **SEEDED).fit(TABLE)
    before = pca.transform(TABLE)
    pca.set_params(scale={"no such column": "private"})
    assert pca.transform(TABLE).tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("scale", "says"),
    [
        ({"agee": "private"}, "did you mean 'age'"),
        ({"age": "private", "bmi": 0.0}, "0.0 for column 'bmi'"),
        (["private", 1], "2 entries, but X has 7 features"),
    ],
    ids=str,
)
@on_all_estimators_slowly
def test_bad_scales_are_refused_for_nothing(factory, scale, says):
    pca = factory(2, scale=scale, accountant=PrivacyAccountant(1.0, 1e-6))
    refused(pca, TABLE, says, kinds=ValueError)


def test_a_dict_is_refused_where_columns_have_no_names():
    pca = DPGauss(2, scale=MIXED, accountant=PrivacyAccountant(1.0, 1e-6))
    refused(pca, TABLE.to_numpy(), "X has no column names", kinds=ValueError)


def grown(factory=DPGauss, **later):
    pca = factory(2, scale=MIXED, **SEEDED).partial_fit(TABLE[:2000])
    return pca.set_params(**later).partial_fit(TABLE[2000:])


@pytest.mark.parametrize("factory", [DPGauss, PrivatePCA])
def test_cohorts_are_joined_in_the_units_of_the_first(factory):
    pca = grown(factory)
    assert_mixed(pca)
    assert np.delete(pca.matrix_units_, PRIVATE).tolist() == [1.0] * 5


@pytest.mark.parametrize("scale", [LISTED, MIXED | {"bmi": 3.0}, "private", None], ids=str)
def test_a_cohort_with_other_scales_is_refused(scale):
    with pytest.raises(ValueError, match=r"scale=.*cohorts before were released with scale="):
        grown(scale=scale)


@pytest.mark.parametrize("matrices", [True, False])
def test_merged_releases_have_the_public_scales(matrices):
    more = {"scale": MIXED, "keep_matrix": matrices, "epsilon": 3.0}
    parts = [DPGauss(2, **more).fit(rows) for rows in (TABLE[:2000], TABLE[2000:])]
    pca = merge(parts)
    assert pca.privacy_.details["merged"] == ("matrices" if matrices else "projectors")
    assert_mixed(pca)


def test_a_report_declares_the_numbers_alone_to_be_public():
    pca = DPGauss(2, scale=MIXED, epsilon=3.0).fit(TABLE)
    page = ReleaseReport(pca, pictures=False).html()
    assert "Declared public: scale={&#34;bmi&#34;: 2.5}" in page


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scales_that_are_not_found_are_said_to_lack(dtype):
    told = {"epsilon": 0.01, "adjacency": "replace-one"}  # the number of records is public
    pca = DPGauss(2, scale=MIXED, **told).fit(TABLE[:150].astype(dtype))
    assert pca.scale_.tolist() == [1.0, 1.0, 1.0, 2.5, 1.0, 1.0, 1.0]
    assert "The scales could not be found" in str(pca.privacy_)


def test_scales_that_are_found_are_not():
    pca = DPGauss(2, scale=MIXED, epsilon=3.0).fit(TABLE)
    assert "could not be found" not in str(pca.privacy_)


@pytest.mark.parametrize("estimator", [DPGauss(), PrivatePCA()])
def test_a_search_scores_in_units_of_the_scales_of_all_columns(estimator):
    search = PrivateSearchCV(estimator.set_params(scale=MIXED), {"n_components": [1, 2]})
    search.set_params(epsilon=4.0, mean_candidates=2).fit(TABLE)
    scale = np.array(search.privacy_.details["search"]["score_scale"])
    assert np.delete(scale, PRIVATE).tolist() == [1.0, 1.0, 2.5, 1.0, 1.0]
    assert_mixed(search.best_estimator_, low=0.4, high=2.5)


def test_a_search_refuses_unknown_columns_for_nothing():
    account = PrivacyAccountant(4.0, 1e-6)
    pca = GDPPCA(scale={"agee": "private"})
    search = PrivateSearchCV(pca, {"n_components": [1, 2]}, accountant=account)
    with pytest.raises(ValueError, match="did you mean 'age'"):
        search.fit(TABLE)
    assert account.receipts == ()


def test_the_cost_is_known_before_any_fit():
    search = GridSearchCV(
        PrivatePCA(scale=MIXED), {"n_components": [1, 2]}, cv=RecordKFold(2), refit=False
    )
    assert price(search, 7) == price(search.set_params(estimator__scale=None), 7)
