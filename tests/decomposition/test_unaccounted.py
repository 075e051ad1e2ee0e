"""From the second private release without an accountant on, a process says so: once."""

import math
import os
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger
from skdppca.exceptions import UnaccountedFitsWarning
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.planner import plan
from skdppca.privacy import charging
from skdppca.trials import run_trials

from ..package.test_trials import SAMPLER

X = np.random.default_rng(0).normal(size=(300, 4)) * [4, 2, 1, 1]
PCA_2 = DPGauss(2, epsilon=math.inf).fit(X)
COST = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(charging, "_unaccounted", 0)


@pytest.fixture
def shown():
    """Every warning about unaccounted fits that a test causes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UnaccountedFitsWarning)
        yield found


def fit():
    return DPGauss(2).fit(X)


def search(**more):
    return PrivateSearchCV(DPGauss(2), {"clip": ["auto", "spherical"]}, **more).fit(X)


def draw_map():
    return projection_map(PCA_2, X, extent=[(-9, 9)] * 2, **COST)


RELEASES = {"fit": fit, "search": search, "map": draw_map}
on_all_releases = pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)


@on_all_releases
def test_the_second_release_warns_and_no_other(shown, release):
    release()
    assert shown == []
    release()
    assert len(shown) == 1
    release()
    assert len(shown) == 1
    assert shown[0].filename == __file__
    assert "accountant=PrivacyAccountant(...)" in str(shown[0].message)


@pytest.mark.parametrize("parameters", [{"random_state": 0}, {"epsilon": math.inf}])
def test_what_is_not_private_does_not_count(shown, parameters):
    for _ in range(3):
        DPGauss(2, **parameters).fit(X)
        projection_map(PCA_2, X, extent=[(-9, 9)] * 2, **(COST | parameters))
    search(random_state=0)
    assert shown == [] and charging._unaccounted == 0


def test_with_an_accountant_nothing_counts(shown, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 10.0, 1e-5)
    for accountant in (PrivacyAccountant(10.0, 1e-5), ledger):
        pca = DPGauss(2, accountant=accountant).fit(X)
        projection_map(pca, X, extent=[(-9, 9)] * 2, **COST)
        search(accountant=accountant)
    assert shown == [] and charging._unaccounted == 0


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_candidates_are_covered_by_their_search(shown, backend):
    with parallel_config(backend=backend):
        search(mean_candidates=50, n_jobs=2)
    assert shown == [] and charging._unaccounted == 1


@pytest.mark.slow
def test_trials_and_plans_do_not_count(shown):
    pytest.importorskip("pandas")
    run_trials(DPGauss(2), SAMPLER, 3)
    plan(60, 3, 1, methods=["DPGauss"], **COST)
    assert shown == [] and charging._unaccounted == 0


@on_all_releases
def test_a_filter_that_makes_it_an_error_stops_every_further_release(release, monkeypatch):
    fit()
    pca = DPGauss(1, accountant=PrivacyAccountant(1.0, 1e-6)).fit(X)
    before = dict(vars(pca.set_params(accountant=None)))
    monkeypatch.setattr("skdppca.private_data.PrivateData.ask", None)  # nothing may be computed
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnaccountedFitsWarning)
        for _ in range(2):
            with pytest.raises(UnaccountedFitsWarning) as caught:
                release()
            assert caught.value.__context__ is None
            with pytest.raises(UnaccountedFitsWarning):
                pca.fit(X)
    assert vars(pca) == before


def test_threads_that_fit_at_once_get_one_warning(monkeypatch):
    shown = []

    def show_slowly(message, category, *where):
        if category is UnaccountedFitsWarning:
            shown.append(category)
            time.sleep(0.1)  # for the other threads to come

    fit()
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnaccountedFitsWarning)
        monkeypatch.setattr(warnings, "showwarning", show_slowly)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: fit(), range(16)))
    assert shown == [UnaccountedFitsWarning] and charging._unaccounted == 17


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_goes_on_counting():
    script = """
        import os, warnings
        from skdppca import DPGauss
        X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
        DPGauss(1).fit(X)
        if os.fork():
            os.wait()
        else:
            DPGauss(1).fit(X)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("UnaccountedFitsWarning") == 1
