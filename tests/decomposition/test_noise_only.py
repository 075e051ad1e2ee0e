"""A fit that found nothing says so where people look, by its released numbers."""

import re
import warnings

import numpy as np
import pytest

from skdppca import KDPPCA, DPGauss, PrivatePCA, ResidualGauss
from skdppca.decomposition.fit_warnings import records_needed
from skdppca.exceptions import NoiseOnlyWarning
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy import PrivacyReport

pytestmark = pytest.mark.filterwarnings("ignore::skdppca.exceptions.CentreNotSeenWarning")


def rows(n, d, seed=0):
    """Normal rows whose variances fall as 1 / j."""
    return np.random.default_rng(seed).standard_normal((n, d)) / np.sqrt(np.arange(1, d + 1))


def noise_seed(method):
    """A seed with which a fit finds nothing; kernels of BLAS turn signs, so that none is fixed."""
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pca = method(2, epsilon=0.01, random_state=seed).fit(rows(200, 20))
        if max(pca.privacy_.details["alignments"]) <= 0:
            return seed
    raise AssertionError("ten fits of noise found something")


@pytest.mark.parametrize("method", [DPGauss, ResidualGauss, KDPPCA, PrivatePCA])
def test_a_fit_warns_if_and_only_if_it_found_nothing(method):
    lost = 0
    for seed in range(6):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pca = method(2, epsilon=0.01, random_state=seed).fit(rows(200, 20))
        said = [str(one.message) for one in told if one.category is NoiseOnlyWarning]
        nothing = max(pca.privacy_.details["alignments"]) <= 0
        assert len(said) == nothing
        assert all("all 2 components are lost in the noise" in one for one in said)
        lost += nothing
    # of 400 such fits, 8 % at most found something: six do so once in a million
    assert lost


@pytest.mark.filterwarnings("error::skdppca.exceptions.NoiseOnlyWarning")
def test_a_fit_that_found_something_does_not():
    DPGauss(5, epsilon=1.0, random_state=0).fit(rows(4000, 20))


@pytest.mark.parametrize("method", [DPGauss, ResidualGauss])
@pytest.mark.parametrize(
    ("d", "n", "epsilon"),
    [
        (20, 300, 0.05),
        *(pytest.param(*c, marks=pytest.mark.slow) for c in ((200, 500, 0.1), (100, 100, 0.5))),
    ],
)
def test_as_many_records_as_it_says_would_do(method, d, n, epsilon):
    with pytest.warns(NoiseOnlyWarning) as told:
        method(3, epsilon=epsilon, random_state=0).fit(rows(n, d, 1))
    (said,) = [str(one.message) for one in told if one.category is NoiseOnlyWarning]
    enough = int(re.search(r"about (\d+) records", said)[1])
    # the seeds are fixed; of 120 such fits 3 saw nothing
    fits = [method(3, epsilon=epsilon, random_state=s).fit(rows(enough, d, s)) for s in range(5)]
    seen = [max(fit.privacy_.details["alignments"]) > 0 for fit in fits]
    assert sum(seen) >= 4


def test_the_warning_follows_from_what_was_released():
    seed = noise_seed(DPGauss)
    with pytest.warns(NoiseOnlyWarning):
        pca = DPGauss(2, epsilon=0.01, random_state=seed).fit(rows(200, 20))
    report = PrivacyReport.from_json(pca.privacy_.to_json())
    assert records_needed(report, 20) == records_needed(pca.privacy_, 20)


@pytest.mark.filterwarnings("error::skdppca.exceptions.NoiseOnlyWarning")
def test_candidates_of_a_search_say_nothing():
    search = PrivateSearchCV(DPGauss(1, epsilon=0.01), {"n_components": [1]}, random_state=0)
    search.fit(rows(200, 6))


@pytest.mark.filterwarnings("error::skdppca.exceptions.NoiseOnlyWarning")
def test_a_warning_that_is_an_error_leaves_the_fit():
    pca = DPGauss(2, epsilon=0.01, random_state=noise_seed(DPGauss))
    with pytest.raises(NoiseOnlyWarning):
        pca.fit(rows(200, 20))
    assert pca.components_.shape == (2, 20)
