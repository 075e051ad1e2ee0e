"""What a private search refuses, before it charges anything."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from skdppca import DPGauss, DPPowerMethod, PrivacyAccountant
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy import GaussianEvent, PureEvent

X = np.random.default_rng(0).normal(size=(60, 4))
GRID = {"clip": ["auto", "spherical"]}
ACCOUNTANT = PrivacyAccountant(1.0, 1e-6)


class Costly(DPGauss):
    """A method whose cost is not Gaussian."""

    event = PureEvent(0.1)

    def _event(self, public):
        return self.event


class Failing(Costly):
    event = GaussianEvent(0.01, failure=1e-9)


class Greedy(Costly):
    event = GaussianEvent(3.0)


def refuses(match, estimator=None, grid=GRID, X=X, error=(TypeError, ValueError), **fit):
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = PrivateSearchCV(
        DPGauss(2) if estimator is None else estimator, grid, accountant=accountant
    )
    with pytest.raises(error, match=match):
        search.fit(X, **fit)
    assert accountant.receipts == ()


PIPED = Pipeline([("pca", DPGauss(2))])
THE_SAME = "epsilon delta accountant random_state adjacency unit scale".split()

# Estimators whose cost is not known, or not that of one release.
NOT_ACCOUNTED = [
    (KMeans(), "KMeans, whose cost is not known"),
    (PCA(), "PCA, whose cost is not known"),
    (BaggingRegressor(DPGauss()), "BaggingRegressor, whose cost"),
    (make_pipeline(Normalizer()), "0 private PCAs"),
    (make_pipeline(DPGauss(2), DPGauss(1)), "2 private PCAs"),
    (Pipeline([("a", DPGauss(2)), ("a", Normalizer())]), "two steps of one name"),
    (make_pipeline(make_pipeline(DPGauss(2))), "0 private PCAs"),
    (make_pipeline(make_pipeline(DPGauss(2)), DPGauss(2)), "step 'pipeline'"),
    (make_pipeline(StandardScaler(), DPGauss(2)), "step 'standardscaler', a StandardScaler"),
    (make_pipeline(DPGauss(2), KMeans()), "step 'kmeans', a KMeans, is fitted on the data"),
    (
        make_pipeline(ColumnTransformer([("a", StandardScaler(), [0])]), DPGauss(2)),
        "a ColumnTransformer, is fitted on the data",
    ),
    (make_pipeline(OneHotEncoder(), DPGauss(2)), "a OneHotEncoder, is fitted on the data"),
    (make_pipeline(make_pipeline(StandardScaler()), DPGauss(2)), "step 'pipeline'"),
    (DPPowerMethod(2, protect="interaction"), "one interaction, .* whole records"),
    (DPGauss(2, accountant=ACCOUNTANT), r"pass PrivateSearchCV\(accountant=...\)"),
    (DPGauss(2, random_state=0), r"pass PrivateSearchCV\(random_state=...\)"),
    (Costly(2), "proven for Gaussian releases that cannot fail only"),
    (Failing(2), "proven for Gaussian releases that cannot fail only"),
]
# Candidates that are not comparable.
NOT_COMPARED = [
    (PCA(2), "puts a PCA in place"),
    ("passthrough", "puts a str in place"),
    (DPGauss(2, adjacency="replace-one"), "differ in adjacency"),
    (DPGauss(2, unit="user"), "differ in unit"),
    (DPGauss(2, scale=[1, 2, 3, 4]), "differ in scale"),
    (DPGauss(2, random_state=0), "random_state=0"),
    (DPGauss(2, accountant=ACCOUNTANT), "accountant=PrivacyAccountant"),
]
# Grids of candidates that could not be fitted.
NOT_FITTED = [
    ({"n_components": [2, 9]}, "n_components=9 exceeds n_features=4"),
    *(
        ({"n_components": [2, bad]}, "'n_components' parameter of DPGauss must be")
        for bad in (-1, True, np.True_, Fraction(2))
    ),
    ({"clip": ["auto", "never"]}, "'never'"),
    ({"mean": [None, [1.0, 2.0]]}, "mean must hold 4 finite numbers"),
    ({"norm_bound": [1.0, 1e80]}, "norm_bound=1e\\+80 is out of range"),
    ({"depth": [1]}, "Invalid parameter 'depth'"),
]


@pytest.mark.parametrize(
    ("estimator", "grid", "match"),
    [
        *((estimator, {}, match) for estimator, match in NOT_ACCOUNTED),
        *((PIPED, {"pca": [DPGauss(1), candidate]}, match) for candidate, match in NOT_COMPARED),
        *((DPGauss(2), grid, match) for grid, match in NOT_FITTED),
        *((DPGauss(2), {name: [None, 1]}, f"param_grid sets '{name}', ") for name in THE_SAME),
        *((PIPED, {f"pca__{name}": [None, 1]}, f"sets 'pca__{name}', ") for name in THE_SAME),
        *(
            (make_pipeline(Normalizer(), DPGauss(2)), grid, "only parameters of 'dpgauss'")
            for grid in ({"normalizer__norm": ["l1", "l2"]}, {"normalizer": [None, Normalizer()]})
        ),
    ],
    ids=str,
)
def test_what_cannot_be_accounted_compared_or_fitted_is_refused(estimator, grid, match):
    refuses(match, estimator, grid)


def test_a_candidate_that_ignores_its_budget():
    refuses("a candidate costs mu=3.0, more than", Greedy(2), error=RuntimeError)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"epsilon": np.inf}, "'epsilon' parameter"),
        ({"epsilon": 0}, "'epsilon' parameter"),
        ({"delta": 0}, "'delta' parameter"),
        ({"mean_candidates": 0.5}, "'mean_candidates' parameter"),
        ({"mean_candidates": 1e7}, "'mean_candidates' parameter"),
        ({"score_share": 1}, "'score_share' parameter"),
        ({"score_share": 1e-20}, "'score_share' parameter"),  # was charged, and every score failed
        ({"param_grid": "clip"}, "'param_grid' parameter"),
        ({"param_grid": []}, r"param_grid=\[\] holds no candidate"),
        ({"random_state": np.random.mtrand._rand}, "numpy's global random state"),
    ],
    ids=lambda part: part if isinstance(part, str) else next(iter(part)),
)
def test_parameters_out_of_range(parameters, match):
    with pytest.raises(ValueError, match=match):
        PrivateSearchCV(DPGauss(2), GRID).set_params(**parameters).fit(X)


def test_data_that_are_not_valid():
    broken = X.copy()
    broken[3, 1] = np.nan
    refuses("Input X contains NaN", X=broken)
    refuses("Input X contains NaN", make_pipeline(Normalizer(), DPGauss(2)), {}, X=broken)
    refuses("0 sample", X=X[:0])


def test_a_backend_without_generators_is_refused():
    with parallel_config(backend="multiprocessing", n_jobs=2):
        refuses("does not support return_as=generator")


def test_groups_without_a_unit_and_a_unit_without_groups():
    refuses("groups were given", groups=np.arange(60))
    refuses("groups were not given", DPGauss(2, unit="user"), {})
