"""The choice of a method: from public facts, the method's own mechanism, and said in the report."""

from __future__ import annotations

import html
import json
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdppca import PrivacyAccountant, PrivatePCA
from skdppca.decomposition import METHODS
from skdppca.decomposition.private_pca import choose
from skdppca.model_selection import PrivateSearchCV, RecordKFold
from skdppca.privacy import PureEvent

from ..secret_rows import refused

X = np.random.default_rng(0).normal(size=(90, 6))
WIDE = 20_000


@pytest.mark.parametrize(
    ("n_features", "facts", "method"),
    [
        (60, {}, "ResidualGauss"),
        (60, {"sees_spectrum": True}, "DPGauss"),
        (60, {"grouped": True}, "ResidualGauss"),
        (60, {"grouped": True, "sees_spectrum": True}, "DPGauss"),
        (60, {"tails": "heavy"}, "DPGauss"),
        (60, {"tails": "heavy", "grouped": True}, "GDPPCA"),
        (60, {"is_sparse": True}, "ResidualGauss"),
        (5000, {"is_sparse": True}, "DPPowerMethod"),
        (5000, {}, "ResidualGauss"),
        (WIDE, {}, "DPPowerMethod"),
        (WIDE, {"tails": "heavy"}, "DPPowerMethod"),
        (WIDE, {"grouped": True}, "KDPPCA"),
        (WIDE, {"gap": "large"}, "SmoothSensitivityPCA"),
        (5000, {"gap": "large", "is_sparse": True}, "SmoothSensitivityPCA"),
        (60, {"gap": "large"}, "ResidualGauss"),
        (60, {"scales_privately": True}, "DPGauss"),
        (60, {"may_miss": True}, "DPGauss"),
        (60, {"may_miss": True, "grouped": True}, "DPGauss"),
        (60, {"scales_privately": True, "grouped": True}, "DPGauss"),
        (60, {"pure": True}, "SmoothSensitivityPCA"),
    ],
)
def test_every_kind_of_data_has_its_method(n_features, facts, method):
    chosen, why = choose(n_features, **facts)
    assert chosen == method
    assert why


@pytest.mark.parametrize(
    ("parameters", "data", "method"),
    [
        ({}, X, "ResidualGauss"),
        ({"n_components": "auto"}, X, "DPGauss"),
        ({"tails": "heavy"}, X, "DPGauss"),
        ({"method": "KDPOjas"}, X, "KDPOjas"),
        ({}, sparse.random_array((90, 2500), density=0.01, rng=0, format="csr"), "DPPowerMethod"),
    ],
)
def test_the_report_says_which_method_and_why(parameters, data, method):
    report = PrivatePCA(**{"n_components": 2, **parameters}).fit(data).privacy_
    assert report.details["method"] == method
    line = f"ethod: {method}, because {report.details['why']}"
    assert line in str(report)
    assert line in html.unescape(report._repr_html_())
    assert json.loads(report.to_json())["core"]["details"]["method"] == method


def test_delta_0_is_a_pure_guarantee():
    pca = PrivatePCA(2, delta=0, norm_bound=3.0, center=False).fit(X)
    assert pca.privacy_.details["method"] == "SmoothSensitivityPCA"
    assert pca.privacy_.event == PureEvent(1.0)


@pytest.mark.parametrize("name", METHODS)
def test_a_seed_gives_what_the_method_gives(name):
    ours = PrivatePCA(2, method=name, epsilon=8.0, random_state=3).fit(X)
    theirs = METHODS[name].estimator(2, epsilon=8.0, random_state=3).fit(X)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    np.testing.assert_array_equal(ours.explained_variance_, theirs.explained_variance_)
    assert ours.privacy_.spendings == theirs.privacy_.spendings


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"method_params": {"epsilon": 3.0}}, r"'epsilon', .*PrivatePCA\(epsilon=...\)"),
        ({"method_params": {"accountant": None}}, "'accountant', which is a parameter"),
        (
            {"method_params": {"clip": "auto"}},
            r"'clip', which ResidualGauss does not have \(.*because .*own are: learning_rate",
        ),
        ({"method": "KDPOjas", "method_params": {"n_iter": -3}}, "n_iter"),
        ({"method": "KDPOjas", "n_components": "auto"}, "n_components"),
        ({"method": "PCA"}, "method"),
        ({"tails": "fat"}, "tails"),
        ({"delta": 0}, "delta=0 .* norm_bound"),
        ({"delta": 0, "method": "DPGauss"}, "delta"),
        (
            {
                "method": "DPPowerMethod",
                "center": False,
                "method_params": {"protect": "interaction"},
            },
            "use DPPowerMethod itself",
        ),
        ({"method": "GDPPCA", "method_params": {"pairs": "complete"}}, "use GDPPCA itself"),
    ],
    ids=lambda part: part if isinstance(part, str) else next(iter(part)),
)
def test_what_does_not_fit_the_method_is_refused_for_nothing(parameters, match):
    accountant = PrivacyAccountant(1.0, 1e-6)
    pca = PrivatePCA(**{"n_components": 2, **parameters}, accountant=accountant)
    refused(pca, X, match, kinds=ValueError)


def test_all_components_of_too_many_features_are_refused_for_nothing():
    pca = PrivatePCA(accountant=PrivacyAccountant(1.0, 1e-6))
    wide = sparse.csr_array(([1.0], ([0], [0])), shape=(3, WIDE))
    refused(pca, wide, "n_components=None asks for all 20000", kinds=ValueError)


@pytest.mark.parametrize("grouped", [False, True])
def test_heavy_tails_let_every_record_weigh_the_same(grouped):
    rows = np.random.default_rng(0).normal(size=(3000, 6))
    told = {"unit": "person"} if grouped else {}
    pca = PrivatePCA(2, tails="heavy", epsilon=10.0, **told)
    report = pca.fit(rows, groups=np.arange(3000) // 2 if grouped else None).privacy_
    assert report.details["clip"] == "spherical"
    assert report.details.get("pairs", "none") == "none"  # signs around a private centre


def test_a_parameter_of_the_method_is_set_by_its_name_and_leaves_the_others():
    pca = PrivatePCA(2, method="KDPPCA", method_params={"n_iter": 3})
    assert clone(pca).set_params(method__learning_rate=2.0, epsilon=3.0).method_params == {
        "n_iter": 3,
        "learning_rate": 2.0,
    }
    assert pca.method_params == {"n_iter": 3}


@pytest.mark.parametrize("search", [PrivateSearchCV, partial(GridSearchCV, cv=RecordKFold(2))])
def test_a_grid_holds_parameters_of_the_method(search):
    rows = np.random.default_rng(0).normal(size=(400, 4)) * [4.0, 3.0, 2.0, 1.0]
    pca = make_pipeline(PrivatePCA(1, method="KDPPCA", epsilon=8.0))
    grid = {"privatepca__method__learning_rate": [1.0, 3.0]}
    found = search(pca, grid).fit(rows)
    (rate,) = found.best_params_.values()
    assert found.best_estimator_[-1].method_params == {"learning_rate": rate}
