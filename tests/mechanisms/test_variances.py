"""Variances along released directions: what they are, what they cost, and that none is absurd."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.variances import release_variances

from ..private_data_of import private_data

RNG = np.random.default_rng(0)
N, D, K = 20_000, 6, 2
CENTRE = np.full(D, 1.0)
ROWS = RNG.normal(size=(N, D)) * np.r_[4.0, 3.0, np.ones(D - 2)] + CENTRE
TURNED = np.linalg.qr(RNG.normal(size=(K, K)))[0] @ np.eye(K, D)
COVARIANCE = (ROWS - CENTRE).T @ (ROWS - CENTRE) / (N - 1)
SEARCHES = {"radius of the variances", "radius of the total"}
KINDS = [np.asarray, sparse.csr_array]


def released(X, mu, n=float(N), core=None, **more):
    data = private_data(X, mu, centre=CENTRE, n=n, **more)
    return release_variances(data, TURNED, np.zeros((K, K)) if core is None else core), data


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_they_are_those_of_the_records(kind):
    found, _ = released(kind(ROWS), math.inf)
    values = np.linalg.eigvalsh(COVARIANCE[:K, :K])[::-1]
    np.testing.assert_allclose(found.explained, values, rtol=1e-9)
    assert found.rest == pytest.approx((np.trace(COVARIANCE) - values.sum()) / (D - K))
    assert found.n_rows == N
    turned = found.rotation @ TURNED @ COVARIANCE @ TURNED.T @ found.rotation.T
    np.testing.assert_allclose(turned, np.diag(values), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("core", [None, TURNED @ COVARIANCE @ TURNED.T])
def test_they_are_found_through_the_noise_whatever_is_predicted(kind, adjacency, core):
    found, data = released(kind(ROWS), 1.0, adjacency=adjacency, core=core)
    np.testing.assert_allclose(found.explained, [16.0, 9.0], rtol=0.1)
    assert found.rest == pytest.approx(1.0, rel=0.3)
    np.testing.assert_allclose(np.abs(found.rotation @ TURNED)[:, :K], np.eye(K), atol=0.1)
    names = {query.name for query in data.budget.queries}
    assert names == SEARCHES | {"variances", "total variance"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("typical_norm", [None, 6.0])
def test_few_records_have_no_wild_variances(seed, typical_norm):
    """Whose norms are not seen in the noise: a false radius of 2^30 would square to 1e18."""
    found, _ = released(ROWS[:200], 0.1, n=200.0, seed=seed, typical_norm=typical_norm)
    assert found.explained[0] < 1e3
    assert found.rest < 1e3
