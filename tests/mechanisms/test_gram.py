"""What the augmented Gram matrix tells besides: how many rows there are, and their mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.clipping import Clip
from skdppca.mechanisms.gram import NoisyGram, release_gram

from ..private_data_of import private_data

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(5000, 4)) + np.array([3.0, 0.0, -1.0, 0.0])
CENTRE = np.full(4, 0.5)
KINDS = [np.asarray, sparse.csr_array]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constant", [0.0, 0.25])
def test_without_noise_it_is_the_scatter_about_the_mean(kind, constant):
    gram = release_gram(private_data(kind(ROWS), math.inf, centre=CENTRE), Clip(math.inf), constant)
    matrix, mean = gram.about_mean(5000)
    if constant:
        np.testing.assert_allclose(mean, ROWS.mean(axis=0) - CENTRE, rtol=1e-9)
        np.testing.assert_allclose(matrix, 4999 * np.cov(ROWS.T), rtol=1e-9)
        assert gram.count() == (pytest.approx(5000), 0.0)
    else:
        np.testing.assert_array_equal(mean, 0.0)
        np.testing.assert_allclose(matrix, (ROWS - CENTRE).T @ (ROWS - CENTRE), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mu", [None, 0.5])
def test_it_costs_what_it_is_told_or_all_that_is_left(kind, mu):
    data = private_data(kind(ROWS), 2.0, centre=CENTRE)
    gram = release_gram(data, Clip(9.0), 1.0, mu)
    (query,) = data.budget.queries
    assert query.mu == (2.0 if mu is None else mu)
    assert gram.noise_sd == query.noise_sd
    assert gram.count()[0] == pytest.approx(5000, abs=6 * gram.count()[1])
    np.testing.assert_allclose(gram.about_mean(5000)[1], ROWS.mean(axis=0) - CENTRE, atol=0.2)


def test_a_mean_that_is_mere_noise_corrects_nothing():
    matrix = np.diag([5.0, 5.0, 100.0])
    matrix[-1, :2] = matrix[:2, -1] = 0.1
    found, mean = NoisyGram(matrix, 1.0, noise_sd=1.0).about_mean(100.0)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_array_equal(found, np.diag([5.0, 5.0]))
