"""scikit-learn's own tests of `PCA`, run on DPGauss with epsilon=inf."""

import math

import numpy as np
import pytest
import sklearn
from sklearn.decomposition.tests import test_pca as upstream
from sklearn.utils.fixes import parse_version

from skdppca import DPGauss

SOLVER_ERROR = "an error of a solver; there is no choice of solvers here"
ARRAY_API = "array API: the data are read as numpy arrays"
NO_PCA = "tests a function of scikit-learn and makes no PCA"
PRIVATE_N = "an error that depends on the number of rows, which is private"

# Tests that cannot apply, with the reason.
NOT_APPLICABLE = {
    "test_sparse_pca_solver_error": SOLVER_ERROR,
    "test_n_components_mle_error": SOLVER_ERROR,
    "test_pca_validation": f"{SOLVER_ERROR}; or {PRIVATE_N}",
    "test_pca_svd_solver_auto": "reads which solver was chosen; there is one",
    "test_fit_mle_too_few_samples": PRIVATE_N,
    "test_pca_score": "expects whiten=True to lower the likelihood; here the model stays the same",
    "test_pca_score3": "asks for 0 components, which would be paid for and hold nothing",
    "test_assess_dimension_bad_rank": NO_PCA,
    "test_small_eigenvalues_mle": NO_PCA,
    "test_assess_dimension_rank_one": NO_PCA,
    "test_pca_array_api_compliance": ARRAY_API,
    "test_pca_mle_array_api_compliance": ARRAY_API,
    "test_array_api_error_and_warnings_on_unsupported_params": ARRAY_API,
}

if hasattr(upstream, "test_assess_dimesion_rank_one"):  # as scikit-learn 1.6 spells it
    NOT_APPLICABLE["test_assess_dimesion_rank_one"] = NO_PCA

# Single cases: test, parameter, value.
CASES_NOT_APPLICABLE = {
    ("test_n_components_none", "solver", "arpack"): "arpack finds one component less than all",
}

TESTS = {name: test for name, test in vars(upstream).items() if name.startswith("test_")}
APPLICABLE = {name: test for name, test in TESTS.items() if name not in NOT_APPLICABLE}

# All solvers are the same one here, and sparse rows of any kind are read as CSR: one of each does.
for one in APPLICABLE.values():
    one.pytestmark = [
        pytest.mark.parametrize(mark.args[0], list(mark.args[1])[:1]).mark
        if mark.name == "parametrize" and mark.args[0].endswith(("solver", "sparse_container"))
        else mark
        for mark in getattr(one, "pytestmark", [])
    ]

# pytest collects what it finds in a module's namespace.
globals().update(APPLICABLE)


class PCA(DPGauss):
    """A class of the right name, because feature names begin with it."""


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param


@pytest.fixture(params=[42])
def global_random_seed(request):
    return request.param


@pytest.fixture(autouse=True)
def exact_pca(request, monkeypatch):
    """DPGauss in the place of PCA; a test that does not make one counts for nothing."""
    if request.function.__name__ not in APPLICABLE:
        yield
        return
    for (test, parameter, value), reason in CASES_NOT_APPLICABLE.items():
        if test == request.function.__name__ and request.node.callspec.params[parameter] == value:
            pytest.skip(reason)
    made = []

    def make(
        n_components=None,
        *,
        whiten=False,
        # What follows has no meaning for one exact solver.
        copy=True,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
    ):
        made.append(PCA(n_components, epsilon=math.inf, whiten=whiten))
        return made[-1]

    monkeypatch.setattr(upstream, "PCA", make)
    yield
    assert made, "this test makes no PCA: it belongs in NOT_APPLICABLE"
    assert any(hasattr(pca, "components_") for pca in made)


newest = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="the list is written for the tests of scikit-learn 1.9",
)


@newest
def test_every_test_that_is_left_out_exists():
    assert set(NOT_APPLICABLE) <= set(TESTS)
