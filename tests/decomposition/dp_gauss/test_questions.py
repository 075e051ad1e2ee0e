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
