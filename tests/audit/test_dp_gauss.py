"""DPGauss keeps its promise, and the same audit convicts copies that do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two signs, two rates); the seeds
are fixed, so each test passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.decomposition import _dp_gauss_mechanism
from skdppca.decomposition._dp_gauss_mechanism import DPGaussMechanism
from skdppca.mechanisms import gram
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.noise import NoiseSource
from skdppca.records import Records

from .audit import build as build_any
from .audit import collect, mu_lower_bound

ALPHA = 1e-4
RUNS = 4000
RADIUS = 3.0
BASE = np.zeros((20, 2))
FAR = np.array([[10 * RADIUS, 0.0]])
OTHER = np.array([[0.0, 10 * RADIUS]])
NEIGHBOURS = {
    "add-remove": (BASE, np.vstack([BASE, FAR])),
    "replace-one": (np.vstack([BASE, OTHER]), np.vstack([BASE, FAR])),
}


def build(mu: float, adjacency: str, **parameters: object) -> DPGaussMechanism:
    n_records = 21 if adjacency == "replace-one" else None
    return build_any(DPGauss(adjacency=adjacency, **parameters), mu, n_records)


@pytest.fixture
def released_gram(monkeypatch):
    """The last noisy Gram matrix that a mechanism released."""
    seen = {}

    release = gram.release_gram

    def recording(*args, **kwargs):
        result = release(*args, **kwargs)
        seen["gram"] = result.matrix
        return result

    monkeypatch.setattr(_dp_gauss_mechanism, "release_gram", recording)
    return seen


def bound_of(mechanism, adjacency: str, statistic, runs: int = RUNS) -> float:
    def show(X, offset):
        def once(seed):
            return statistic(mechanism, Records(X), NoiseSource(2 * seed + offset))

        return once

    without, with_record = NEIGHBOURS[adjacency]
    return mu_lower_bound(
        collect(show(without, 0), runs), collect(show(with_record, 1), runs), ALPHA
    )


def gram_statistic(seen, adjacency):
    """<M, f(D') - f(D)>: the entry that FAR fills, less the one that OTHER leaves."""

    def statistic(mechanism, records, noise):
        mechanism(records, noise)
        matrix = seen["gram"]
        return matrix[0, 0] - (matrix[1, 1] if adjacency == "replace-one" else 0.0)

    return statistic


@pytest.mark.parametrize("adjacency", NEIGHBOURS)
@pytest.mark.parametrize("mu", [2.0, 3.0])
@pytest.mark.parametrize(
    "parameters", [{"norm_bound": RADIUS, "center": False}, {"norm_bound": RADIUS}]
)
def test_gram_matrix_holds_its_mu(released_gram, adjacency, mu, parameters):
    mechanism = build(mu, adjacency, **parameters)
    bound = bound_of(mechanism, adjacency, gram_statistic(released_gram, adjacency))
    assert 0.6 * mu < bound <= mu


@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_told_nothing_it_holds_its_mu(released_gram, mu):
    mechanism = build(mu, "add-remove")
    statistic = gram_statistic(released_gram, "add-remove")
    assert bound_of(mechanism, "add-remove", statistic, RUNS // 4) <= mu


@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_number_of_records_holds_its_mu(mu):
    mechanism = build(mu, "add-remove", norm_bound=RADIUS)
    bound = bound_of(mechanism, "add-remove", lambda m, r, noise: m(r, noise).n_samples)
    assert bound <= mu


@pytest.mark.parametrize("adjacency", NEIGHBOURS)
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_noise_too_small_by_sqrt2_is_caught(released_gram, monkeypatch, adjacency, mu):
    honest = GaussianQuery.noise_sd.fget
    monkeypatch.setattr(GaussianQuery, "noise_sd", property(lambda q: honest(q) / math.sqrt(2)))
    mechanism = build(mu, adjacency, norm_bound=RADIUS, center=False)
    assert bound_of(mechanism, adjacency, gram_statistic(released_gram, adjacency)) > mu


@pytest.mark.parametrize("adjacency", NEIGHBOURS)
def test_missing_clipping_is_caught(released_gram, monkeypatch, adjacency):
    monkeypatch.setattr(gram, "clip_weights", lambda distances, radius: np.ones_like(distances))
    mechanism = build(3.0, adjacency, norm_bound=RADIUS, center=False)
    statistic = gram_statistic(released_gram, adjacency)
    assert bound_of(mechanism, adjacency, statistic, RUNS // 4) > 3.0


class ExactCount(DPGaussMechanism):
    """Leaks n as the attribute."""

    def __call__(self, records, noise):
        return replace(super().__call__(records, noise), n_samples=records.private_n)


class ExactBranch(DPGaussMechanism):
    """Leaks n by the branch it takes."""

    def __call__(self, records, noise):
        clip = "spherical" if records.private_n > len(BASE) else "auto"
        return super(ExactBranch, replace(self, clip=clip)).__call__(records, noise)


class ExactShape(DPGaussMechanism):
    """Leaks n by the number of components."""

    def __call__(self, records, noise):
        release = super().__call__(records, noise)
        return replace(release, components=release.components[: 1 + records.private_n % 2])


class ExactError(DPGaussMechanism):
    """Leaks n by an error."""

    def __call__(self, records, noise):
        if records.private_n <= len(BASE):
            raise ValueError("too few records")
        return super().__call__(records, noise)


def n_samples_shown(mechanism, records, noise):
    return mechanism(records, noise).n_samples


def clip_shown(mechanism, records, noise):
    return float(mechanism(records, noise).details["clip"] == "spherical")


def shape_shown(mechanism, records, noise):
    return float(len(mechanism(records, noise).components))


def error_shown(mechanism, records, noise):
    try:
        mechanism(records, noise)
    except ValueError:
        return 1.0
    return 0.0


LEAKS = [
    (ExactCount, n_samples_shown),
    (ExactBranch, clip_shown),
    (ExactShape, shape_shown),
    (ExactError, error_shown),
]


def jittered_statistic(statistic):
    """Ties broken by a coin, so that a threshold separates discrete outcomes too."""

    def jittered(mechanism, records, noise):
        return statistic(mechanism, records, noise) + 1e-9 * float(noise.words(1)[0] % 1000)

    return jittered


@pytest.mark.parametrize(("weakened", "statistic"), LEAKS)
def test_exact_n_is_caught(weakened, statistic):
    mechanism = build(3.0, "add-remove", norm_bound=RADIUS, center=False)
    mechanism = weakened(**vars(mechanism))
    bound = bound_of(mechanism, "add-remove", jittered_statistic(statistic), RUNS // 4)
    assert bound > 3.0


@pytest.mark.parametrize("statistic", [n_samples_shown, clip_shown, shape_shown, error_shown])
def test_honest_release_shows_no_exact_n(statistic):
    mechanism = build(3.0, "add-remove", norm_bound=RADIUS, center=False)
    jittered = jittered_statistic(statistic)
    assert bound_of(mechanism, "add-remove", jittered, RUNS // 4) <= 3.0
