"""Error bars of the candidate that a search releases."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from skdppca import DPGauss
from skdppca.model_selection import PrivateSearchCV
from skdppca.model_selection._search_plan import budget_of
from skdppca.plotting import ScreeDisplay
from skdppca.privacy import PrivacyAccountant
from skdppca.report import ReleaseReport

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 2)) @ RNG.normal(size=(2, 6)) + 0.3 * RNG.normal(size=(3000, 6))
HOLED = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def searched(missing="mean", scale=None):
    search = PrivateSearchCV(
        DPGauss(missing=missing, scale=scale),
        {"n_components": [2, 3]},
        epsilon=4.0,
        mean_candidates=2,
        random_state=0,
        accountant=PrivacyAccountant(epsilon=4.0, delta=1e-5),
    )
    return search.fit(HOLED if missing == "mean" else X)


@pytest.mark.parametrize("scale", [None, "private"])
@pytest.mark.parametrize("missing", ["error", "mean"])
def test_the_winner_has_error_bars(missing, scale):
    search = searched(missing, scale)
    display = ScreeDisplay.from_estimator(search.best_estimator_, ax=Figure().subplots())
    low, high = display.interval[0]
    assert low < search.best_estimator_.explained_variance_[0] < high
    told = ReleaseReport(search).dict()["results"]["components"][0]
    assert told["range"][0] < told["variance"] < told["range"][1]


def test_they_count_all_that_the_candidate_asked():
    search = searched()
    told = search.privacy_.details["search"]
    epsilon, delta = budget_of(told["mu_fit"], 1e-6)
    alone = DPGauss(2, missing="mean", epsilon=epsilon, delta=delta, random_state=0).fit(HOLED)
    asked = {query.name: query.noise_sd for query in alone.privacy_.spendings}
    for name in ("number of records", "present values"):
        assert told["noise_sds"][name] == pytest.approx(asked[name], rel=1e-6)


def test_without_the_noise_of_an_answer_no_bar_is_drawn():
    pca = searched().best_estimator_
    del pca.privacy_.details["search"]["noise_sds"]
    display = ScreeDisplay.from_estimator(pca, ax=Figure().subplots())
    assert np.isnan(display.interval).all()
