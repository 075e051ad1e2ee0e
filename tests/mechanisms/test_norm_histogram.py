"""Windows, medians and tails of noisy histograms of norms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.norm_histogram import (
    EDGES,
    HISTOGRAM,
    NormHistogram,
    norm_histogram,
)
from skdppca.statistics import Distances

from ..private_data_of import private_data

CELLS = len(EDGES) - 1
RNG = np.random.default_rng(0)


def histogram(norms, noise_sd=1.0, seed=None):
    """Of these norms, with noise of that sd, or without any that can be seen."""
    counts = np.histogram(norms, EDGES)[0].astype(float)
    if seed is not None:
        counts += np.random.default_rng(seed).normal(size=CELLS) * noise_sd
    return NormHistogram(counts, EDGES, noise_sd, 0, CELLS)


def test_noise_alone_is_hardly_ever_seen():
    # .3 % of the histograms are: of 2000 about 6, and more than 20 but for a chance of 1e-5
    seen = sum(histogram([], 1.0, seed).z > HISTOGRAM.seen for seed in range(2000))
    assert seen < 20


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_a_tail_holds_about_the_excess(share):
    norms = np.exp(RNG.normal(size=10_000))
    radius = histogram(norms, noise_sd=20.0, seed=2).exceeded_by(share * 10_000)
    assert np.mean(norms > radius) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("excess", [0.0, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(10))
def test_a_tail_does_not_run_off(excess, seed):
    """However little or much is asked for: a binary search would end anywhere."""
    norms = np.exp(0.5 * RNG.normal(size=500))
    radius = histogram(norms, noise_sd=40.0, seed=seed).exceeded_by(excess)
    assert norms.min() / 16 < radius < 16 * norms.max()


def test_records_far_above_count_if_they_stand_out():
    far = np.r_[np.full(900, 1.2), np.full(100, 1.2e6)]
    assert histogram(far, noise_sd=5.0).exceeded_by(50.0) > 1e6
    assert histogram(far, noise_sd=5.0).exceeded_by(150.0) < 2
    # 100 records over noise of 20 may be noise, so they do not set the scale of all others
    assert histogram(far, noise_sd=20.0).exceeded_by(50.0) < 2


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1.0), ("replace-one", 2**0.5)])
def test_a_norm_histogram_is_one_query(adjacency, moved):
    rows = RNG.normal(size=(2000, 3)) + 5
    data = private_data(rows, adjacency=adjacency, centre=np.full(3, 5.0))
    found = norm_histogram(data, Distances(data.centre), 0.2, "distances")
    (query,) = data.budget.queries
    assert (query.name, query.mu, query.sensitivity) == ("distances", 0.2, moved)
    assert found.noise_sd == query.noise_sd
    assert found.median == pytest.approx(np.median(np.linalg.norm(rows - 5, axis=1)), rel=0.1)


def test_what_is_near_an_earlier_norm_is_seen_through_more_noise():
    """A larger window elsewhere does not draw the eye away."""
    norms = np.r_[np.full(100, 1.2), np.full(150, 1e6)]
    found = histogram(norms, noise_sd=30.0)
    assert found.median > 1e5
    near = found.near(2.0)
    assert near.z == pytest.approx(100 / 30)
    assert 1 < near.median < math.sqrt(2)
    assert found.up_to(10.0).median == near.median


@pytest.mark.parametrize("norm", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_at_least_one_cell_is_read(norm):
    near, below = histogram([]).near(norm), histogram([]).up_to(norm)
    for found in (near, below):
        assert 0 <= found.start < found.stop <= CELLS
        assert EDGES[0] <= found.median <= EDGES[-1]
    if 1e-9 <= norm <= 1e9:
        assert (
            HISTOGRAM.near_from * norm <= EDGES[near.start]
            and EDGES[near.stop] <= HISTOGRAM.near_to * norm
        )
