"""KDPOjas: passes over all records, and a learning rate."""

import numpy as np
import pytest

from skdppca import KDPOjas
from skdppca.decomposition.kdpojas.mechanism import RATE
from skdppca.metrics import sin_theta

from ..easy import BARE, fitted, names, share_spent, spiked


@pytest.mark.parametrize("n_iter", [1, 7])
def test_passes_are_as_many_as_asked_for_and_spend_all_there_is(n_iter):
    pca = fitted(KDPOjas, 2, n_iter=n_iter, **BARE)
    assert names(pca).count("gradient") == n_iter
    assert set(names(pca)) == {"gradient", "radius of the gradient"}
    assert 0.97 < share_spent(pca) <= 1


def test_with_hardly_any_noise_more_passes_come_closer():
    # A seed fixes the random start, and epsilon=inf takes none. From 20 starts all came closer
    # from 2 to 10 passes, and 19 from there to 50.
    angles = [
        sin_theta(fitted(KDPOjas, 2, n_iter=n, epsilon=1e4), spiked(2).components)
        for n in (2, 10, 50)
    ]
    assert angles[0] > 2 * angles[1] > 4 * angles[2]


def test_auto_stands_for_a_learning_rate():
    auto, given = (fitted(KDPOjas, 2, learning_rate=rate) for rate in ("auto", RATE))
    np.testing.assert_array_equal(auto.components_, given.components_)
