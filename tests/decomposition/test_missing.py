"""`missing="mean"`: NaN is an entry that is not there."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skdppca import DPGauss, PrivatePCA, SmoothSensitivityPCA
from skdppca.metrics import captured_variance

from ..estimators import but_the_first_slow, on_all_estimators, on_all_estimators_slowly

RNG = np.random.default_rng(0)
N, D = 20_000, 8
MEAN = np.arange(D) - 2.0
AXES = np.linalg.qr(RNG.normal(size=(D, D)))[0]
ROWS = (RNG.normal(size=(N, D)) * [5, 4, 1, 1, 1, 1, 1, 1]) @ AXES + MEAN
HOLED = np.where(RNG.random(ROWS.shape) < 0.3, np.nan, ROWS)
FEW = HOLED[:500]


@on_all_estimators
@pytest.mark.parametrize(("missing", "allowed"), [("error", False), ("mean", True)])
def test_tags_say_whether_nan_is_allowed(factory, missing, allowed):
    assert factory(missing=missing).__sklearn_tags__().input_tags.allow_nan == allowed


@on_all_estimators
def test_complete_rows_without_noise_give_the_same(factory):
    told = {"epsilon": math.inf, "random_state": 0}
    X = ROWS[:300]
    as_they_are = factory(2, **told).fit(X)
    found = factory(2, missing="mean", **told).fit(X)
    # iterations end where they come close enough
    np.testing.assert_allclose(found.components_, as_they_are.components_, atol=1e-3)
    np.testing.assert_allclose(found.mean_, as_they_are.mean_, atol=0.1)


def test_mean_and_covariance_are_those_of_complete_rows():
    # Without noise. Over tables of 20000 rows the entries have standard errors of up to .05 (mean)
    # and .45 (covariance), by the formulas; nothing may be off by 5 of them: once in 10^4 tables.
    pca = DPGauss(missing="mean", epsilon=math.inf).fit(HOLED)
    np.testing.assert_allclose(pca.mean_, MEAN, atol=0.25)
    true = AXES.T @ np.diag([25, 16, 1, 1, 1, 1, 1, 1]) @ AXES
    np.testing.assert_allclose(pca.get_covariance(), true, atol=2.2)
    filled = np.cov(np.where(np.isnan(HOLED), np.nanmean(HOLED, axis=0), HOLED).T)
    assert np.abs(filled - true).max() > 3.0  # a test that could not fail would show nothing


@on_all_estimators
def test_components_are_nearly_those_of_complete_rows(factory):
    # GDPPCA has the fewest: .98 of the variance at epsilon 2; one seed
    pca = factory(2, missing="mean", epsilon=4.0, random_state=0).fit(HOLED)
    assert captured_variance(pca.components_, ROWS, 2) > 0.95
    assert pca.explained_variance_[0] == pytest.approx(25.0, rel=0.25)  # filled rows: 13


@on_all_estimators
@pytest.mark.parametrize("scale", [None, "private"])
def test_counts_are_asked_for_once_and_first(factory, scale):
    pca = factory(2, missing="mean", scale=scale, random_state=0).fit(FEW)
    names = [spending.name for spending in pca.privacy_.spendings]
    assert names[:2] == ["number of records", "present values"]
    assert names.count("number of records") == names.count("present values") == 1
    assert dict((name, share) for name, _, share in pca.privacy_.costs())[
        "present values"
    ] == pytest.approx(0.02)


WAYS_TO_GIVE = {
    "list": lambda X: X.tolist(),
    "list with None": lambda X: [[None if x != x else x for x in row] for row in X],
    "list with NA": lambda X: [[pd.NA if x != x else x for x in row] for row in X],
    "frame": pd.DataFrame,
    "nullable frame": lambda X: pd.DataFrame(X).astype("Float64"),
    "integers that may be missing": lambda X: pd.DataFrame(X).astype("Int64"),
    "frame of objects": lambda X: pd.DataFrame(X, dtype=object).mask(np.isnan(X), None),
    "frame of objects with NA": lambda X: pd.DataFrame(X, dtype=object).mask(np.isnan(X), pd.NA),
    "one column of objects": lambda X: pd.DataFrame(X).astype("Int64").astype({0: object}),
    "array of objects": lambda X: np.where(np.isnan(X), None, X.astype(object)),
    "extended precision": lambda X: X.astype(np.longdouble),
    "masked": np.ma.masked_invalid,
    "masked integers": lambda X: np.ma.array(np.nan_to_num(X).astype(int), mask=np.isnan(X)),
    "columns first": np.asfortranarray,
}


@pytest.mark.parametrize("give", WAYS_TO_GIVE.values(), ids=list(WAYS_TO_GIVE))
def test_however_a_missing_entry_is_given(give):
    X, fit = np.round(FEW), DPGauss(2, missing="mean", random_state=0).fit
    expected, given = fit(X).components_, give(X)
    found = fit(given)
    np.testing.assert_array_equal(found.components_, expected)
    assert np.isfinite(found.transform(given)).all()


@pytest.mark.parametrize("container", [np.array, sparse.csr_array, sparse.csc_array])
def test_x_is_never_written_to(container):
    X = container(FEW)
    pca = DPGauss(2, missing="mean", random_state=0).fit(X)
    pca.transform(X)
    kept = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_array_equal(kept, FEW)


@pytest.mark.parametrize("container", [np.array, sparse.csr_array, sparse.csc_array])
def test_transform_fills_with_the_mean(container):
    pca = DPGauss(2, missing="mean", random_state=0).fit(HOLED)
    filled = np.where(np.isnan(FEW), pca.mean_, FEW)
    np.testing.assert_allclose(pca.transform(container(FEW)), pca.transform(filled), atol=1e-9)
    np.testing.assert_allclose(pca.score(container(FEW)), pca.score(filled))


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize(
    "X",
    [
        np.full((50, 3), np.nan),
        np.where(np.arange(3) == 1, np.nan, ROWS[:50, :3]),
        FEW[:1],
        FEW[:, :1],
    ],
    ids=["all missing", "a column is missing", "one row", "one column"],
)
@on_all_estimators_slowly
def test_awkward_holes_are_fitted(factory, X, epsilon):
    pca = factory(1, missing="mean", epsilon=epsilon, random_state=0).fit(X)
    assert np.isfinite(pca.components_).all()
    assert np.isfinite(pca.mean_).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.where(RNG.random(FEW.shape) < 0.01, np.inf, FEW), "contains infinity"),
        ([["nan", 1.0], [2.0, 3.0]], "text or strings"),
        ([[None, "3"], [2.0, 3.0]], "text or strings"),
    ],
    ids=["infinite", "text", "text beside None"],
)
def test_what_is_no_missing_entry_is_refused(X, message):
    with pytest.raises(ValueError, match=message) as caught:
        DPGauss(1, missing="mean").fit(X)
    assert caught.value.__context__ is None


@on_all_estimators
def test_nan_is_refused_unless_it_is_allowed(factory):
    with pytest.raises(ValueError, match="set missing='mean'"):
        factory(1).fit(FEW)


@pytest.mark.parametrize(
    "pca",
    [
        SmoothSensitivityPCA(2, epsilon=1.0, delta=0.0, noise="student"),
        PrivatePCA(2, epsilon=1.0, delta=0.0),
    ],
    ids=["student", "PrivatePCA"],
)
def test_pure_modes_fill_with_the_public_mean(pca):
    pca.set_params(missing="mean", mean=MEAN, norm_bound=30.0, random_state=0)
    filled = np.where(np.isnan(FEW), MEAN, FEW)
    components = [pca.fit(X).components_ for X in (FEW, filled)]
    np.testing.assert_array_equal(components[0], components[1])
    assert "present values" not in [spending.name for spending in pca.privacy_.spendings]
    assert "nothing corrects for that" in str(pca.privacy_)


SHARES = np.array([0.0, 0.01, 0.05])  # of the values of columns that have hardly any
HARDLY = np.where(RNG.random((N, 3)) < SHARES, RNG.normal(0.5, 1, (N, 3)), np.nan)


@on_all_estimators
@pytest.mark.parametrize("scale", but_the_first_slow([None, "private"]))
def test_columns_with_hardly_any_values_are_left_out(factory, scale):
    # Before, DPGauss and GDPPCA had loadings of .1 to 1 on one of them.
    X = np.hstack([HOLED, HARDLY[:, :2]])[:10_000]
    pca = factory(2, scale=scale, missing="mean", epsilon=4.0, random_state=0).fit(X)
    np.testing.assert_array_equal(pca.components_[:, D:], 0.0)
    np.testing.assert_array_equal(pca.mean_[D:], 0.0)
    np.testing.assert_array_equal(pca.privacy_.details["present"][D:], 0.0)
    if scale is not None:
        np.testing.assert_array_equal(pca.scale_[D:], 1.0)
    assert np.isfinite(pca.transform(X)).all()


@pytest.mark.parametrize("named", [True, False])
def test_the_report_says_which_columns_have_hardly_any_values(named):
    names = [*"abcdefgh", "dead"]
    X = np.hstack([HOLED, HARDLY[:, :1]])
    X = pd.DataFrame(X, columns=names) if named else X
    report = DPGauss(2, missing="mean", epsilon=4.0, random_state=0).fit(X).privacy_
    which = "'dead'" if named else "'X[:, 8]'"
    said = f"columns with hardly any values, whose loadings are set to 0: {which}"
    assert report.remarks()[-1] == said
    assert said in str(report)
    assert "hardly" not in str(DPGauss(2, missing="mean", random_state=0).fit(HOLED).privacy_)
