"""The theorems behind the gap release."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from skdppca.decomposition.smooth_sensitivity import gap
from skdppca.decomposition.smooth_sensitivity.eigensolver import Spectrum
from skdppca.decomposition.smooth_sensitivity.gap import (
    exact_span,
    release_span,
    rotated,
    rotation_mu,
    span_sensitivity,
)
from skdppca.noise import NoiseSource
from skdppca.privacy import delta_of, mu_of
from skdppca.statistics import Spreads

from ...private_data_of import on_both_adjacencies, private_data
from ...spectra_and_distances import distance


def top(H, k):
    return np.linalg.eigh(H)[1].T[::-1][:k]


def largest_ratio(k, d, gap, adjacency, rng):
    """An optimiser over spectra and records: how far a span moves, over what is claimed."""
    claimed = span_sensitivity(k, d, adjacency).local(gap)
    above = np.sort(rng.exponential(size=k) * rng.choice([0.0, 1.0, 5.0]))[::-1]
    below = np.sort(rng.exponential(size=d - k) * rng.choice([0.0, 1.0, 5.0]))[::-1]
    H = np.diag(np.r_[above - above[-1] + gap, below - below[0]])

    def row(z):
        return z / max(1.0, np.linalg.norm(z))

    def shortfall(z):
        P = np.outer(row(z[:d]), row(z[:d])) * (1 if z[-1] > 0 else -1)
        if adjacency == "replace-one":
            P = np.outer(row(z[:d]), row(z[:d])) - np.outer(row(z[d : 2 * d]), row(z[d : 2 * d]))
        return -distance(np.eye(d)[:k], top(H + P, k)) / claimed

    def search(start, evaluations):
        options = {"maxfev": evaluations, "adaptive": True}
        return -minimize(shortfall, start, method="Nelder-Mead", options=options).fun

    # from anywhere, and from near where the proof says that it is attained
    angle = math.acos(-1 / gap) / 2
    if adjacency == "replace-one":
        angle = math.pi / 4 + math.asin(2 / gap) / 4
    near = 0.02 * rng.normal(size=2 * d + 1)
    near[[k - 1, k]] += 1.2 * np.array([math.cos(angle), math.sin(angle)])
    near[[d + k - 1, d + k]] += 1.2 * np.array([-math.sin(angle), math.cos(angle)])
    near[-1] = 1.0
    anywhere = 2 * rng.normal(size=2 * d + 1)
    return search(anywhere, 400), search(near, 1500)


@pytest.mark.slow
@on_both_adjacencies
@pytest.mark.parametrize(("k", "d"), [(1, 2), (1, 5), (2, 3), (2, 6), (3, 8), (4, 8)])
@pytest.mark.parametrize("gap", [1.03, 3.0, 40.0])
def test_no_record_moves_a_span_further_and_some_move_it_as_far(k, d, gap, adjacency):
    rng = np.random.default_rng([k, d])
    scaled = gap * (1 if adjacency == "add-remove" else 2)
    found = largest_ratio(k, d, scaled, adjacency, rng)
    assert max(found) <= 1 + 1e-9
    assert max(found) >= 0.999


@pytest.mark.parametrize(("k", "d"), [(1, 4), (2, 5), (3, 4)])
def test_a_group_moves_a_span_no_further(k, d):
    rng = np.random.default_rng(0)
    for _ in range(200):
        gap = rng.uniform(1.01, 6)
        H = np.diag(np.r_[np.full(k, gap), np.zeros(d - k)])
        rows = rng.normal(size=(3, d)) * rng.exponential(size=d)
        P = rows.T @ rows
        P /= np.trace(P)
        assert distance(np.eye(d)[:k], top(H + P, k)) <= span_sensitivity(k, d, "add-remove").local(
            gap
        )


@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 3), (3, 6), (5, 6)])
def test_no_spans_are_further_apart_than_the_cap(k, d):
    rng = np.random.default_rng(0)
    pairs = [np.linalg.qr(rng.normal(size=(2, d, d)))[0][:, :k] for _ in range(200)]
    cap = span_sensitivity(k, d, "add-remove").cap
    assert max(distance(V, W) for V, W in pairs) <= cap
    m = min(k, d - k)
    apart = distance(np.eye(d)[:k], np.eye(d)[d - k :])
    assert apart == pytest.approx(cap) == math.sqrt(2 * m)


@on_both_adjacencies
@pytest.mark.parametrize("beta", [0.001, 0.1, 2.0])
def test_the_smooth_bound_is_smooth_and_no_larger_than_it_must_be(adjacency, beta):
    s = span_sensitivity(2, 9, adjacency, error=1e-3, gap_error=1e-2)
    gaps = np.linspace(0, 60, 1501)
    smooth = np.array([s.smooth(g, beta) for g in gaps])
    local = np.array([s.local(g) for g in gaps])
    assert (smooth >= local).all()
    neighbours = np.array([s.smooth(g + s.step, beta) for g in gaps])
    assert (smooth <= neighbours * math.exp(beta) * (1 + 1e-12)).all()
    far = np.exp(-beta * np.maximum(gaps[:, None] - gaps, 0) / s.step) * local
    assert (far.max(axis=1) <= smooth * (1 + 1e-12)).all()
    assert (smooth <= far.max(axis=1) * math.exp(beta * 0.04 / s.step) * (1 + 1e-12)).all()


def test_a_rotation_is_orthogonal_and_centred():
    V = np.eye(3, 5)
    drawn = np.array([rotated(V, NoiseSource(s)) for s in range(2000)])
    assert np.abs(drawn @ drawn.transpose(0, 2, 1) - np.eye(3)).max() < 1e-12
    # 15 means of 2000 draws of variance 1/3 each; 5 sds
    assert np.abs(drawn[:, :, :3].mean(axis=0)).max() < 5 / math.sqrt(3 * 2000)
    assert np.abs((drawn[:, :, :3] ** 2).mean(axis=0) - 1 / 3).max() < 5 * 0.3 / math.sqrt(2000)


def divergence(m, e):
    """The hockey-stick divergence of m-GDP at any e; at a negative one by symmetry."""
    return delta_of(m, e) if e >= 0 else 1 - math.exp(e) * (1 - delta_of(m, -e))


@pytest.mark.parametrize(("m", "lost"), [(0.01, 0.001), (0.5, 1 / 16), (3.0, 1 / 16), (30.0, 0.01)])
def test_densities_that_are_a_little_off_cost_twice_their_logarithm(m, lost, monkeypatch):
    monkeypatch.setattr(gap, "ROTATION_LOSS", lost / 2**1.5)
    mu = m + rotation_mu(2)
    needed = []
    for e in np.r_[0.0, m**2 / 2, mu**2 / 2 + lost, np.linspace(0, mu**2 + 9 * mu, 60)]:
        shifted = math.exp(lost / 2) * divergence(m, e - lost)
        scaled = 1 - math.exp(-lost / 2) * (1 - divergence(m, e))
        assert min(shifted, scaled) <= delta_of(mu, e) + 1e-15, e
        needed.append(min(shifted, scaled) > delta_of(m + lost / 4, e))
    assert any(needed)  # an eighth of it would not do


@pytest.mark.parametrize("k", [1, 3])
def test_the_rotation_is_paid_from_the_budget(k, monkeypatch):
    monkeypatch.setattr(gap, "ROTATION_LOSS", 0.001 / 3**1.5)
    spectrum = Spectrum(np.eye(k, 9), np.ones(k), 50.0, 0.0, 0.0)
    data = private_data(np.zeros((1, 9)))
    release_span(data, spectrum, span_sensitivity(k, 9, "add-remove"), 1e-6)
    first, second = (query.mu for query in data.budget.queries)
    assert math.hypot(first, second + rotation_mu(k)) == pytest.approx(1.0, rel=1e-12)


@on_both_adjacencies
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_sensitivity_is_that_of_what_is_computed(form, adjacency):
    X = np.random.default_rng(0).normal(size=(300, 9)) * np.r_[9.0, np.ones(8)]
    data = private_data(form(X), adjacency=adjacency)
    spectrum, sensitivity = exact_span(data, 3.0, 1)
    error = Spreads(data.centre).error(data.source.layout)
    expected = span_sensitivity(1, 9, adjacency, spectrum.error, spectrum.gap_error, error)
    assert sensitivity == expected
    # with what rounding adds, and no less than in exact arithmetic
    exact = span_sensitivity(1, 9, adjacency)
    assert exact.step < sensitivity.step < 1.01 * exact.step
    assert exact.reach < sensitivity.reach < 1.01 * exact.reach


def test_a_gap_that_is_no_number_is_the_cap_and_a_finite_release():
    s = span_sensitivity(2, 9, "add-remove")
    assert s.local(math.nan) == s.smooth(math.nan, 0.1) == s.cap + s.rounding
    nothing = Spectrum(np.full((2, 9), math.nan), np.zeros(2), math.nan, 0.0, 0.0)
    data = private_data(np.zeros((1, 9)), mu_of(1.0, 1e-6))
    with np.errstate(all="ignore"):
        rows, _ = release_span(data, nothing, s, 1e-7)
    np.testing.assert_allclose(rows @ rows.T, np.eye(2), atol=1e-12)
    assert data.budget.queries[-1].sensitivity >= s.cap
