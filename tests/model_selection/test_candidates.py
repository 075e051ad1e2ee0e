"""What a private search refuses, before it charges anything."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skdppca import DPGauss, DPPowerMethod, PrivacyAccountant
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy import GaussianEvent, PureEvent

X = np.random.default_rng(0).normal(size=(60, 4))
GRID = {"clip": ["auto", "spherical"]}


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


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (KMeans(), "KMeans, whose cost is not known"),
        (PCA(), "PCA, whose cost is not known"),
        (BaggingRegressor(DPGauss()), "BaggingRegressor, whose cost"),
        (make_pipeline(Normalizer()), "0 private PCAs"),
        (make_pipeline(DPGauss(2), DPGauss(1)), "2 private PCAs"),
        (make_pipeline(make_pipeline(DPGauss(2))), "0 private PCAs"),
        (make_pipeline(make_pipeline(DPGauss(2)), DPGauss(2)), "step 'pipeline'"),
        (make_pipeline(StandardScaler(), DPGauss(2)), "step 'standardscaler', a StandardScaler"),
        (make_pipeline(DPGauss(2), KMeans()), "step 'kmeans', a KMeans, is fitted on the data"),
        (make_pipeline(make_pipeline(StandardScaler()), DPGauss(2)), "step 'pipeline'"),
        (DPPowerMethod(2, protect="interaction"), "one interaction, .* whole records"),
    ],
    ids=str,
)
def test_estimators_that_cannot_be_accounted(estimator, match):
    refuses(match, estimator, {})


@pytest.mark.parametrize(
    "name", ["epsilon", "delta", "accountant", "random_state", "adjacency", "unit", "scale"]
)
def test_grids_over_what_must_be_the_same(name):
    refuses(f"param_grid sets '{name}', which must be the same", grid={name: [None, 1]})
    pipeline = Pipeline([("pca", DPGauss(2))])
    refuses(f"param_grid sets 'pca__{name}'", pipeline, {f"pca__{name}": [None, 1]})


def test_a_grid_over_other_steps_is_refused():
    pipeline = make_pipeline(Normalizer(), DPGauss(2))
    refuses("only parameters of 'dpgauss'", pipeline, {"normalizer__norm": ["l1", "l2"]})
    refuses("only parameters of 'dpgauss'", pipeline, {"normalizer": [None, Normalizer()]})


@pytest.mark.parametrize(
    ("candidate", "match"),
    [
        (PCA(2), "puts a PCA in place"),
        ("passthrough", "puts a str in place"),
        (DPGauss(2, adjacency="replace-one"), "differ in adjacency"),
        (DPGauss(2, unit="user"), "differ in unit"),
        (DPGauss(2, scale=[1, 2, 3, 4]), "differ in scale"),
        (DPGauss(2, random_state=0), "random_state=0"),
        (DPGauss(2, accountant=PrivacyAccountant(1.0, 1e-6)), "accountant=PrivacyAccountant"),
    ],
    ids=str,
)
def test_candidates_that_are_not_comparable(candidate, match):
    refuses(match, Pipeline([("pca", DPGauss(2))]), {"pca": [DPGauss(1), candidate]})


@pytest.mark.parametrize("name", ["accountant", "random_state"])
def test_an_accountant_or_a_seed_of_a_candidate_is_refused(name):
    value = PrivacyAccountant(1.0, 1e-6) if name == "accountant" else 0
    refuses(rf"pass PrivateSearchCV\({name}=...\)", DPGauss(2, **{name: value}))


@pytest.mark.parametrize(
    ("grid", "match"),
    [
        ({"n_components": [2, 9]}, "n_components=9 exceeds n_features=4"),
        ({"n_components": [2, -1]}, "n_components"),
        ({"clip": ["auto", "never"]}, "'never'"),
        ({"mean": [None, [1.0, 2.0]]}, "mean must hold 4 finite numbers"),
        ({"norm_bound": [1.0, 1e80]}, "norm_bound=1e\\+80 is out of range"),
        ({"depth": [1]}, "Invalid parameter 'depth'"),
    ],
    ids=str,
)
def test_candidates_that_could_not_be_fitted(grid, match):
    refuses(match, grid=grid)


@pytest.mark.parametrize("estimator", [Costly(2), Failing(2)])
def test_costs_that_private_selection_is_not_proven_for(estimator):
    refuses("proven for Gaussian releases that cannot fail only", estimator)


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
