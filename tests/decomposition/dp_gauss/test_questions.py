"""What DPGauss asks, and of whom."""

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.records import Records


@pytest.mark.parametrize(
    ("told", "asks"),
    [
        ({}, True),
        ({"norm_bound": 4.0}, True),
        ({"center": False}, True),
        ({"norm_bound": 4.0, "center": False, "clip": "spherical"}, True),
        ({"norm_bound": 4.0, "center": False}, False),
    ],
)
def test_a_random_part_is_drawn_only_if_norms_are_asked_of_it(told, asks, monkeypatch):
    drawn, sample = [], Records.sample
    monkeypatch.setattr(Records, "sample", lambda *a: drawn.append(a) or sample(*a))
    X = np.random.default_rng(0).standard_normal((100_000, 2))
    DPGauss(1, random_state=0, **told).fit(X)
    assert bool(drawn) is asks


def test_a_centre_that_a_part_told_is_corrected_by_the_matrix():
    """Errors of `mean_` over the rows' spread; the part's centre alone is off by .006 or more.

    Ten fixed seeds; 200 gave .0015 at most.
    """
    X = np.random.default_rng(0).normal(size=(20_000, 5)) + 3.0
    spread, errors = np.sqrt(5), []
    for seed in range(10):
        pca = DPGauss(1, epsilon=8.0, delta=1e-6, random_state=seed).fit(X)
        errors.append(np.linalg.norm(pca.mean_ - X.mean(axis=0)) / spread)
    assert max(errors) < 0.003
