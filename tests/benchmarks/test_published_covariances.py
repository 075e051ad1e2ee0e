"""SeparateCov, AdaptiveCov and CoinPress of benchmarks/baselines: as printed, at their price."""

from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from skdppca.datasets import make_gaussian
from skdppca.metrics import captured_variance
from skdppca.privacy import mu_of

from ..benchmark_modules import Recorder, load

BASELINES = load("baselines")
PRINTED = load("baselines.dong_liang_yi")
COINPRESS = load("baselines.coinpress")
SENSITIVITY = {"replace-one": sqrt(2), "add-remove": 1.0}
N, D, DELTA = 400, 6, 1e-6


class Recorded(Recorder):
    """It remembers the scales of Laplace draws, too."""

    def __init__(self):
        super().__init__()
        self.laplace_scales = []

    def laplace(self, scale):
        self.laplace_scales.append(scale)
        return self.rng.laplace(scale=scale)


class Quiet:
    """No noise: everything drawn is 0."""

    def normal(self, scale=1.0, size=None):
        return np.zeros(size) if size else 0.0

    def laplace(self, scale):
        return 0.0


def rows(n=N):
    return make_gaussian(n, D, [9, 4], 0.5, random_state=0).X


def radius_of(X):
    return float(np.linalg.norm(X, axis=1).max())


def variance_of(X):
    return float(np.linalg.eigvalsh(X.T @ X / len(X))[-1])


# Every method, and what it is told of the data.
METHODS = {
    "separate_cov": lambda X: {"radius": radius_of(X)},
    "adaptive_cov": lambda X: {"radius": radius_of(X)},
    "coinpress": lambda X: {"upper": variance_of(X)},
}


@pytest.mark.parametrize("name", METHODS)
def test_without_noise_the_components_are_found(name):
    X = rows(4000)
    found = getattr(BASELINES, name)(X, 2, 1.0, DELTA, Quiet(), **METHODS[name](X))
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-10)
    assert captured_variance(found, covariance=X.T @ X) > 0.998


@pytest.mark.parametrize("adjacency", SENSITIVITY)
@pytest.mark.parametrize("name", METHODS)
def test_at_a_large_epsilon_they_are_found_with_noise(name, adjacency):
    X = rows(4000)
    rng = np.random.default_rng(0)
    told = METHODS[name](X) | {"adjacency": adjacency}
    found = getattr(BASELINES, name)(X, 2, 20.0, DELTA, rng, **told)
    assert captured_variance(found, covariance=X.T @ X) > 0.99


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_gaussian_mechanisms_get_the_whole_budget(epsilon):
    assert sqrt(2 * PRINTED.gauss_rho(epsilon, DELTA)) == pytest.approx(mu_of(epsilon, DELTA))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_the_parts_of_adaptive_cov_cost_the_budget_together(epsilon):
    rho = PRINTED.adaptive_rho(epsilon, DELTA)
    pure = sqrt(rho) / 2
    squares = 2 * (1 / 8 + 3 / 4) * rho + PRINTED.gdp_of_pure(pure) ** 2
    assert sqrt(squares) == pytest.approx(mu_of(epsilon, DELTA))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_randomised_response_has_the_price_of_a_pure_mechanism(epsilon):
    # its trade-off function touches that of mu-GDP at false alarms of 1 / (1 + e^epsilon)
    alarms = 1 / (1 + exp(epsilon))
    mu = PRINTED.gdp_of_pure(epsilon)
    assert norm.cdf(norm.isf(alarms) - mu) == pytest.approx(alarms)
    # and lies above it elsewhere: no epsilon-DP mechanism is easier to attack
    a = np.linspace(1e-6, 1 - 1e-6, 2001)
    pure = np.maximum.reduce([1 - exp(epsilon) * a, exp(-epsilon) * (1 - a), 0 * a])
    assert np.all(pure >= norm.cdf(norm.isf(a) - mu) - 1e-9)


@pytest.mark.parametrize("adjacency", SENSITIVITY)
def test_the_noise_of_gauss_cov_has_the_printed_scale(adjacency):
    n, rho, radius = 50, 0.1, 3.0
    draws = [
        PRINTED.gauss_cov(np.zeros((n, 2)), radius, rho, np.random.default_rng(i), adjacency)
        for i in range(4000)
    ]
    printed = SENSITIVITY[adjacency] * radius**2 / (n * sqrt(2 * rho))
    # both the diagonal and the rest: 8 standard errors of 4000 draws' standard deviation
    np.testing.assert_allclose(np.std(draws, axis=0), printed, rtol=8 / sqrt(2 * 4000))
    assert all(np.array_equal(draw, draw.T) for draw in draws)


@pytest.mark.parametrize("adjacency", SENSITIVITY)
def test_separate_cov_gives_half_to_vectors_and_half_to_values(adjacency, monkeypatch):
    n, rho, radius, asked = 50, 0.2, 2.0, []
    printed = PRINTED.gauss_cov

    def kept(X, radius, rho, rng, adjacency):
        asked.append(rho)
        return printed(X, radius, rho, rng, adjacency)

    monkeypatch.setattr(PRINTED, "gauss_cov", kept)
    zero = np.zeros((n, 3))
    drawn = [
        np.linalg.eigvalsh(PRINTED.separate(zero, radius, rho, np.random.default_rng(i), adjacency))
        for i in range(4000)
    ]
    assert set(asked) == {rho / 2}
    # the values are the noise alone; 8 standard errors of 12000 draws' standard deviation
    sd = SENSITIVITY[adjacency] * radius**2 / (n * sqrt(2 * rho / 2))
    assert np.sqrt(np.mean(np.square(drawn))) == pytest.approx(sd, rel=8 / sqrt(2 * 12_000))


def test_the_trace_and_the_sparse_vectors_of_adaptive_cov_have_the_printed_noise():
    X, rng, rho = rows(), Recorded(), 0.3
    PRINTED.adaptive(X, radius_of(X), rho, rng, "add-remove")
    assert rng.scales[0] == pytest.approx(2 / (sqrt(rho) * N))
    threshold, *queries = rng.laplace_scales
    assert threshold == pytest.approx(2 / (sqrt(rho) / 2))
    assert queries == pytest.approx([4 / (sqrt(rho) / 2)] * len(queries))


def test_coinpress_gives_most_to_the_last_step(monkeypatch):
    asked = []
    printed = COINPRESS.gauss_cov

    def kept(X, radius, rho, rng, adjacency):
        asked.append((radius, rho, float(np.linalg.norm(X, axis=1).mean())))
        return printed(X, radius, rho, rng, adjacency)

    monkeypatch.setattr(COINPRESS, "gauss_cov", kept)
    X = rows(4000)
    COINPRESS.coinpress(X, 2, 5.0, DELTA, np.random.default_rng(0), variance_of(X))
    radii, rhos, norms = map(np.array, zip(*asked, strict=True))
    assert rhos.sum() == pytest.approx(mu_of(5.0, DELTA) ** 2 / 2)
    assert rhos / rhos.sum() == pytest.approx([1 / 8, 1 / 8, 3 / 4])
    # the same clipping norm, and rows that fill more of it from step to step
    assert len(set(radii)) == 1
    assert norms[0] < norms[1] < norms[2] < radii[0]


# --- Audits: neighbours that try to move what is asked by more than its sensitivity.


def neighbours(adjacency, trial):
    """Rows of norm 1 at most, and a neighbour: often with a record of norm 1 or just over a bin."""
    rng = np.random.default_rng(trial)
    X = rng.normal(size=(7, 3))
    X *= (rng.random(7) ** rng.choice([0.1, 1, 4]) / np.linalg.norm(X, axis=1))[:, None]
    records = rng.normal(size=(2, 3))
    records *= rng.choice([1.0, 0.5, 0.5 + 1e-9, 0.01, 3.0], 2)[:, None] / np.linalg.norm(
        records, axis=1, keepdims=True
    )
    X = np.vstack([X, records[0]])
    other = X.copy()
    if adjacency == "replace-one":
        other[-1] = records[1]
        return X, other
    other[-1] = 0.0  # n is told: a record that is not there adds nothing
    return X, other


def moves(adjacency, what, trials=400):
    pairs = (neighbours(adjacency, trial) for trial in range(trials))
    return np.array([np.linalg.norm(np.subtract(what(X), what(Y))) for X, Y in pairs])


def matrix(X):
    clipped = PRINTED.clipped(X, 1.0)
    return clipped.T @ clipped


@pytest.mark.parametrize("adjacency", SENSITIVITY)
def test_no_neighbour_moves_the_matrix_by_more_than_its_noise_is_for(adjacency):
    found = moves(adjacency, lambda X: matrix(X)[np.triu_indices(3)])
    whole = moves(adjacency, matrix)
    assert whole.max() <= SENSITIVITY[adjacency] + 1e-12
    assert whole.max() > 0.95 * SENSITIVITY[adjacency]  # attained by rows at right angles
    assert np.all(found <= whole + 1e-12)


@pytest.mark.parametrize("adjacency", SENSITIVITY)
def test_no_neighbour_moves_the_eigenvalues_by_more(adjacency):
    found = moves(adjacency, lambda X: np.linalg.eigvalsh(matrix(X)))
    assert found.max() <= SENSITIVITY[adjacency] + 1e-12


@pytest.mark.parametrize("adjacency", SENSITIVITY)
def test_no_neighbour_moves_the_trace_or_a_query_by_more_than_1(adjacency):
    assert moves(adjacency, lambda X: np.trace(matrix(X))).max() <= 1 + 1e-12

    def queries(X):
        return PRINTED.excess(np.linalg.norm(PRINTED.clipped(X, 1.0), axis=1))

    pairs = [neighbours(adjacency, trial) for trial in range(400)]
    found = [np.abs(queries(X) - queries(Y)).max() for X, Y in pairs]
    assert max(found) <= 1 + 1e-12
    assert max(found) > 0.95


def test_queries_are_what_clipping_takes_away_within_a_factor_of_2_a_norm():
    norms = np.random.default_rng(0).random(500) ** 3
    for i, query in enumerate(PRINTED.excess(norms)):
        tau = 0.5**i
        assert query >= np.sum(np.maximum(norms**2 - tau**2, 0)) - 1e-12
        far = norms[norms > tau]
        assert query <= np.sum(np.minimum(2 * far, 1) ** 2 - tau**2) + 1e-12


@pytest.mark.parametrize("steps", [1, 2])
def test_fewer_steps_of_coinpress_find_the_components_and_cost_the_same(steps):
    X = rows(4000)
    rng = np.random.default_rng(0)
    found = COINPRESS.coinpress(X, 2, 20.0, DELTA, rng, variance_of(X), steps)
    assert captured_variance(found, covariance=X.T @ X) > 0.99


@pytest.mark.parametrize("name", METHODS)
def test_all_that_is_told_scales_with_the_data(name):
    X = rows()
    fits = [
        getattr(BASELINES, name)(
            scale * X, 2, 2.0, DELTA, np.random.default_rng(0), **METHODS[name](scale * X)
        )
        for scale in (1.0, 256.0)
    ]
    np.testing.assert_allclose(np.abs(np.sum(fits[0] * fits[1], axis=1)), 1.0, atol=1e-6)
