"""What GDPPCA finds of pairs: their median difference, and the variances behind its eigenvalues."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.decomposition.gdppca.mechanism import FINE_GRID, _median_difference
from skdppca.decomposition.gdppca.shares import kendall_shares
from skdppca.mechanisms.spectrum import NoisySpectrum
from skdppca.records.kernels import Kernel
from skdppca.records.pairs import cyclic_sum

from ...private_data_of import private_data


@pytest.mark.parametrize("direction", [None, np.array([1.0, 0.0])])
def test_the_median_difference_is_found_within_its_grid(direction):
    X = np.random.default_rng(4).normal(size=(20_000, 2)) * [3.0, 1.0]
    exact, private = (private_data(X, mu, n=2e4).mean_rows().shuffled() for mu in (math.inf, 1.0))
    median = _median_difference(exact, math.inf, "median", direction)
    found = _median_difference(private, 1.0, "median", direction)
    if direction is not None:
        assert median == pytest.approx(3 * 0.6745, rel=0.03)
    assert found == pytest.approx(median, rel=0.06)
    assert found in FINE_GRID
    assert math.fsum(q.mu**2 for q in private.budget.queries) <= 1 + 1e-12
    assert {q.sensitivity for q in private.budget.queries} == {2.0}


KERNELS = [Kernel(), Kernel(3.0), Kernel(3.0, lambda t: t * np.exp(-((t / 6) ** 2)))]


@pytest.mark.parametrize("kernel", KERNELS)
def test_shares_of_the_variance_are_found_behind_the_eigenvalues(kernel):
    variances = np.array([10.0, 5.0, 1.0, 1.0, 1.0])
    X = np.random.default_rng(5).normal(size=(6000, 5)) * np.sqrt(variances)
    matrix = cyclic_sum(X, np.arange(6000), 10, kernel)
    spectrum = NoisySpectrum(np.linalg.eigvalsh(matrix, UPLO="U")[::-1], 0.0)
    shares = kendall_shares(spectrum, kernel, 10.0)
    np.testing.assert_allclose(shares, variances / 18, rtol=0.1)
