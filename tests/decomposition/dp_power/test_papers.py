"""The sensitivities of the papers, kept in benchmarks/: larger than ours, whatever is known."""

from __future__ import annotations

import pytest

from skdppca import DPPowerMethod

from ...benchmark_modules import load
from .test_dp_power import USERS, K, X

PAPERS = load("experiments_power._papers")
FACTORIES = (DPPowerMethod, PAPERS.NicolasPowerMethod, PAPERS.BalcanPowerMethod)


def sensitivity(factory, rows, **parameters):
    """Of the first product."""
    pca = factory(K, epsilon=4.0, n_iter=1, random_state=0, **parameters).fit(rows)
    return next(s.sensitivity for s in pca.privacy_.spendings if s.name == "product")


def test_prior_sensitivities_are_larger():
    found = [sensitivity(factory, X, norm_bound=20.0) for factory in FACTORIES]
    assert found == sorted(found)
    assert found[2] > 1.3 * found[1] > 1.3 * found[0]


@pytest.mark.parametrize(
    "parameters", [{"max_nonzero": 12, "norm_bound": 4.0}, {"protect": "interaction"}], ids=str
)
def test_prior_sensitivities_are_larger_of_sparse_rows(parameters):
    given = {"center": False, **parameters}
    found = [sensitivity(factory, USERS, **given) for factory in FACTORIES]
    assert found[0] < found[1] <= found[2]


@pytest.mark.parametrize("factory", FACTORIES[1:])
def test_products_that_are_clipped_have_no_such_bound(factory):
    with pytest.raises(ValueError, match="set clip='norm'"):
        factory(K).fit(X)
