"""What LAPACK returns for clustered eigenvalues, and where it returns nothing."""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.decomposition.smooth_sensitivity import eigensolver
from skdppca.decomposition.smooth_sensitivity.eigensolver import top_span
from skdppca.noise import NoiseSource
from skdppca.records import Records

from ...spectra_and_distances import clusters, distance


@pytest.mark.parametrize("seed", [324, 2061, 7761])
def test_directions_are_orthonormal_where_eigenvalues_cluster(seed):
    # Divide and conquer left these orthogonal to 1e-8 (OpenBLAS 0.3, x86-64).
    q, values = clusters(seed)
    X, d = np.sqrt(values)[:, None] * q.T, len(q)
    found = top_span(Records.of(X), np.zeros(d), 1.0, d - 1, NoiseSource(0), exact=True)
    error = found.directions @ found.directions.T - np.eye(d - 1)
    assert np.linalg.norm(error) <= 4 * (d - 1) * d * 2.0**-53


def test_no_convergence_of_lapack_is_no_outcome(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20)) * np.r_[3.0, 2.5, np.full(18, 0.3)]
    expected = top_span(Records.of(X), np.zeros(20), 4.0, 2, NoiseSource(0))
    honest = eigensolver.linalg.eigh

    def fails(gram, driver, **options):
        if driver == "evd":
            gram[...] = 0.0  # it may be written to
            raise np.linalg.LinAlgError("did not converge")
        return honest(gram, driver=driver, **options)

    monkeypatch.setattr(eigensolver.linalg, "eigh", fails)
    found = top_span(Records.of(X), np.zeros(20), 4.0, 2, NoiseSource(0))
    assert found.gap == pytest.approx(expected.gap)
    assert distance(found.directions, expected.directions) < 1e-12
