"""A plan lists what its estimator can ask, and a site answers nothing else."""

import numpy as np
import pytest

pytest.importorskip("cryptography")

from skdppca import KDPPCA, DPGauss, DPPowerMethod, PrivatePCA, ResidualGauss
from skdppca.decomposition import METHODS
from skdppca.federated import QUESTIONS, Refusal, Refused, Reply, fit_sites
from skdppca.federated.estimating import kinds_asked
from skdppca.private_data import Public
from skdppca.statistics import ClippedSum, Count, NormProduct

from ..estimators import SUMS
from .local_sites import Talk, make, parts_of

ESTIMATORS = (PrivatePCA, *(METHODS[name].estimator for name in SUMS))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5)) * [5, 3, 2, 1, 1]


def kinds(estimator, *, unit="row", is_sparse=False):
    estimator._validate_params()
    return set(kinds_asked(estimator, Public(5, "add-remove", unit, is_sparse)))


def test_a_plan_of_one_method_admits_no_question_of_another():
    assert not kinds(DPGauss(2)) & {"NormProduct", "ProductSum", "ResidualSum", "Part"}
    assert "ClippedGram" not in kinds(KDPPCA(2)) and "Part" in kinds(KDPPCA(2))
    assert "NormProduct" in kinds(DPPowerMethod(2)) - kinds(ResidualGauss(2))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_plan_admits_what_options_ask_with_these_options_alone(estimator):
    plain, scaled, missing = (
        kinds(estimator(2, **more)) for more in ({}, {"scale": "private"}, {"missing": "mean"})
    )
    assert not plain & {"ColumnCells", "MeanSquares"}
    assert {"ColumnCells", "MeanSquares", "Scaled"} <= scaled
    assert "ColumnCells" in missing and "MeanSquares" not in missing


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_with_public_facts_asks_nothing_beyond_its_plan(tmp_path, estimator):
    made = make(tmp_path, parts_of(X, 3))
    facts = {"scale": [5, 3, 2, 1, 1], "mean": np.zeros(5), "norm_bound": 9.0}
    pca = fit_sites(estimator(2, epsilon=8.0, **facts), **made.call)
    assert pca.components_.shape == (2, 5)


def test_an_oracle_of_somebody_else_may_ask_for_everything():
    own = KDPPCA(1, strategy="deflation", oracle=lambda mean: (np.eye(5)[0], 1.0))
    assert kinds(own) == set(QUESTIONS)


def test_a_site_refuses_what_the_estimator_of_the_plan_does_not_ask(tmp_path):
    made = make(tmp_path, parts_of(X, 3))
    talk = Talk(made, statistics=tuple(sorted(kinds(DPGauss(2)))))
    talk.hello()
    product = NormProduct(np.zeros(5), np.eye(2, 5), 3.0, False, False, None, None)
    refused = talk.send("east", "answer", *talk.request(product))
    assert isinstance(refused, Refused) and refused.code is Refusal.STATISTIC
    assert not made.receipts("east")
    for round, statistic in enumerate((Count(), ClippedSum(np.zeros(5), 3.0)), start=1):
        reply = talk.send("east", "answer", *talk.request(statistic, round=round))
        assert isinstance(reply, Reply)


def test_a_fit_plans_what_its_estimator_asks(tmp_path):
    made = make(tmp_path, parts_of(X, 3))
    pca = DPGauss(2, epsilon=8.0)
    fit_sites(pca, **made.call)
    (run,) = made.sites["east"]._runs.ids()
    plan = made.sites["east"]._runs.find(run).agreed()
    assert set(plan.statistics) == kinds(DPGauss(2))
