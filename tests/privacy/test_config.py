"""Settings of the process: with `require_accountant`, no private release escapes an accountant."""

import math
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

import skdppca
from skdppca import DPGauss, PrivacyAccountant
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.planner import plan
from skdppca.privacy.config import VARIABLE
from skdppca.trials import run_trials

from ..estimators import ESTIMATORS
from ..package.test_trials import SAMPLER

X = np.random.default_rng(0).normal(size=(200, 4)) * [4, 2, 1, 1]
PCA_2 = DPGauss(2, epsilon=math.inf).fit(X)
COST = {"epsilon": 1.0, "delta": 1e-6}
GRID = {"clip": ["auto", "spherical"]}
REFUSED = "accountant=None, but this process requires an accountant"


@pytest.fixture(autouse=True)
def default(monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")


@pytest.fixture
def required(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")


@pytest.fixture
def fresh_workers():
    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


class Unread:
    """Data that must not be looked at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the data were asked for {name}")


@pytest.mark.parametrize(
    ("value", "required"), [(None, False), ("", False), ("0", False), ("1", True), ("true", True)]
)
def test_the_environment_sets_it(monkeypatch, value, required):
    monkeypatch.delenv(VARIABLE) if value is None else monkeypatch.setenv(VARIABLE, value)
    assert skdppca.get_config() == {"require_accountant": required}


@pytest.mark.parametrize("before", [True, False])
def test_it_can_be_set_and_a_context_restores_it(before):
    skdppca.set_config(require_accountant=before)
    skdppca.set_config()
    with pytest.raises(KeyError), skdppca.config_context(require_accountant=not before):
        assert skdppca.get_config() == {"require_accountant": not before}
        raise KeyError
    assert skdppca.get_config() == {"require_accountant": before}


def test_what_is_no_truth_value_is_refused(required):
    with pytest.raises(TypeError, match="require_accountant='no' must be True or False"):
        skdppca.set_config(require_accountant="no")
    assert skdppca.get_config() == {"require_accountant": True}


DOORS = {
    **{name: lambda X, factory=factory: factory(2).fit(X) for name, factory in ESTIMATORS},
    "search": lambda X: PrivateSearchCV(DPGauss(2), GRID).fit(X),
    "map": lambda X: projection_map(PCA_2, X, **COST),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_release_is_refused_before_the_data_are_read(required, door):
    with pytest.raises(ValueError, match=REFUSED) as caught:
        door(Unread())
    assert caught.value.__context__ is None


def test_a_refused_fit_leaves_the_one_before(required):
    pca = DPGauss(2, accountant=PrivacyAccountant(2.0, 1e-5)).fit(X)
    before = pca.components_
    with pytest.raises(ValueError, match=REFUSED):
        pca.set_params(accountant=None).fit(X)
    assert pca.components_ is before


def test_with_an_accountant_everything_works(required):
    accountant = PrivacyAccountant(10.0, 1e-5)
    pca = DPGauss(2, accountant=accountant).fit(X)
    projection_map(pca, X, extent=[(-9, 9)] * 2, **COST)  # by the accountant of the axes
    PrivateSearchCV(DPGauss(2), GRID, accountant=accountant, mean_candidates=2).fit(X)
    assert len(accountant.receipts) == 3


@pytest.mark.parametrize("parameters", [{"random_state": 0}, {"epsilon": math.inf}])
def test_what_is_not_private_needs_no_accountant(required, parameters):
    assert not DPGauss(2, **parameters).fit(X).privacy_.private


def test_a_plan_needs_no_accountant(required, quick_plans):
    assert plan(100, 3, 1, epsilon=1.0, delta=1e-6, methods=["DPGauss"])


@pytest.mark.parametrize(
    "n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)], ids=["here", "in processes"]
)
def test_candidates_and_trials_need_no_accountant(required, fresh_workers, n_jobs):
    accountant = PrivacyAccountant(10.0, 1e-5)
    more = {"accountant": accountant, "mean_candidates": 3, "n_jobs": n_jobs}
    PrivateSearchCV(DPGauss(2), GRID, **more).fit(X)
    pytest.importorskip("pandas")
    assert len(run_trials(DPGauss(2), SAMPLER, 2, n_jobs=n_jobs)) == 6


def test_a_new_thread_requires_an_accountant_too(required):
    found = []
    thread = threading.Thread(target=lambda: found.append(skdppca.get_config()))
    thread.start()
    thread.join()
    assert found == [{"require_accountant": True}]


@pytest.mark.slow
def test_workers_that_start_later_inherit_it(fresh_workers):
    skdppca.set_config(require_accountant=True)
    found = Parallel(n_jobs=2, backend="loky")(delayed(skdppca.get_config)() for _ in range(2))
    assert found == [{"require_accountant": True}] * 2
