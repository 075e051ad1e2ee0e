"""KDPOjas: all directions at once or one after the other, steps, and a learning rate."""

import numpy as np
import pytest

from skdppca import KDPPCA, KDPOjas
from skdppca.decomposition import OjasOracle
from skdppca.decomposition.iterative.iteration import ITERATION

from ..spiked_fits import BARE, fitted, names, share_spent

on_both_strategies = pytest.mark.parametrize("strategy", ["block", "deflation"])


@on_both_strategies
@pytest.mark.parametrize("n_iter", [1, 7])
def test_passes_are_as_many_as_asked_for_and_spend_all_there_is(strategy, n_iter):
    pca = fitted(KDPOjas, 2, strategy=strategy, n_iter=n_iter, **BARE)
    rounds = 2 if strategy == "deflation" else 1
    assert names(pca).count("gradient") == rounds * n_iter
    assert set(names(pca)) == {"length of the records", "gradient", "radius of the gradient"}
    assert names(pca).count("radius of the gradient") == rounds * min(
        n_iter, ITERATION.ojas_searches
    )
    assert share_spent(pca) == pytest.approx(1)


def test_deflation_is_that_of_kdppca_over_the_oracle():
    for sampling in ("reuse", "split"):
        told = {"strategy": "deflation", "sampling": sampling}
        ours = fitted(KDPOjas, 2, n_iter=4, learning_rate=5.0, **told)
        oracle = OjasOracle(4, 5.0, sampling)
        theirs = fitted(KDPPCA, 2, oracle=oracle, **told)
        np.testing.assert_array_equal(ours.components_, theirs.components_)
        assert ours.privacy_.spendings == theirs.privacy_.spendings
