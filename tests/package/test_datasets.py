"""Synthetic data: what was promised is in them. Seeds are fixed."""

import math
import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import linalg, stats

from skdppca.datasets import make_contaminated, make_elliptical, make_gaussian, make_spiked

N, D, SPIKES, SIGMA = 20_000, 8, [5.0, 10.0], 0.5

MAKERS = {
    "spiked": lambda n, d, spikes, sigma, **more: make_spiked(
        n, d, np.size(spikes), spikes, sigma, **more
    ),
    "gaussian": make_gaussian,
    "elliptical": partial(make_elliptical, df=1),
    "contaminated": make_contaminated,
}
on_all = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def is_gaussian_with(X, covariance):
    """Whether X has that second moment, if it is Gaussian: error below 1e-7.

    After whitening the singular values lie in sqrt(n) +- (sqrt(d) + 6), but with probability
    2 exp(-18) (Davidson & Szarek 2001, Theorem II.13).
    """
    n, d = X.shape
    white = linalg.solve_triangular(linalg.cholesky(covariance, lower=True), X.T, lower=True)
    return bool(np.all(np.abs(linalg.svdvals(white) - math.sqrt(n)) < math.sqrt(d) + 6))


@on_all
def test_components_are_the_top_eigenvectors_of_the_covariance(make):
    draw = make(10, D, SPIKES, SIGMA, random_state=0)
    values, vectors = linalg.eigh(draw.covariance)
    assert values[::-1] == pytest.approx([10.25, 5.25] + 6 * [0.25])
    assert np.abs(np.sum(draw.components * vectors.T[:-3:-1], axis=1)) == pytest.approx(1)
    assert np.array_equal(draw.covariance, draw.covariance.T)


@on_all
def test_a_seed_repeats_a_draw_and_a_generator_moves_on(make):
    make = partial(make, 10, D, SPIKES, SIGMA)
    assert np.array_equal(make(random_state=3).X, make(random_state=3).X)
    generator = np.random.default_rng(3)
    assert np.array_equal(make(random_state=generator).X, make(random_state=3).X)
    assert not np.array_equal(make(random_state=generator).X, make(random_state=3).X)


@on_all
def test_the_global_random_state_is_not_used(make):
    before = np.random.mtrand._rand.get_state()[1].copy()
    assert not np.array_equal(*(make(10, D, SPIKES, SIGMA).X for _ in range(2)))
    assert np.array_equal(np.random.mtrand._rand.get_state()[1], before)


@on_all
def test_single_precision_is_the_same_draw(make):
    double = make(50, D, SPIKES, SIGMA, random_state=0)
    single = make(50, D, SPIKES, SIGMA, random_state=0, dtype=np.float32)
    assert single.X.dtype == np.float32
    assert single.X == pytest.approx(double.X, rel=1e-6, abs=1e-6)


@on_all
def test_a_draw_does_not_depend_on_the_size_of_the_batches(make, monkeypatch):
    whole = make(100, D, SPIKES, SIGMA, random_state=0).X
    monkeypatch.setattr("skdppca.datasets.BATCH_ROWS", 7)
    assert make(100, D, SPIKES, SIGMA, random_state=0).X == pytest.approx(whole, rel=1e-12)


@on_all
def test_no_copy_of_the_rows_is_held(make, monkeypatch):
    monkeypatch.setattr("skdppca.datasets.BATCH_ROWS", 64)
    tracemalloc.start()
    X = make(5000, 100, SPIKES, SIGMA, random_state=0).X
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * X.nbytes


@on_all
def test_without_noise_there_is_only_signal(make):
    draw = make(50, D, SPIKES, 0.0, random_state=0)
    clean = draw.X if make is not make_contaminated else draw.X[linalg.norm(draw.X, axis=1) < 20]
    outside = clean - (clean @ draw.components.T) @ draw.components
    assert np.abs(outside).max() < 1e-12 * np.abs(clean).max()


def test_every_record_of_a_spiked_draw_has_the_same_signal():
    X, groups, components, _ = make_spiked(N, D, 2, SPIKES, SIGMA, random_state=0)
    records = X.reshape(N, 3, D)
    assert np.array_equal(groups, np.repeat(np.arange(N), 3))
    signal = (components.T * [10.0, 5.0]) @ components
    assert records[0, :2].T @ records[0, :2] == pytest.approx(signal)
    assert np.array_equal(records[:, :2], np.broadcast_to(records[0, :2], (N, 2, D)))
    assert is_gaussian_with(records[:, 2], SIGMA**2 * np.eye(D))


def test_one_spike_gives_rows_of_two_signs():
    # Signs: 6 sd of a fair coin, error 2e-9.
    X, groups, components, covariance = make_spiked(N, D, 1, 4.0, 0.1, random_state=0)
    assert groups is None and X.shape == (N, D)
    signs = np.sign(X @ components[0])
    assert abs(signs.sum()) < 6 * math.sqrt(N)
    assert is_gaussian_with(X - 2.0 * signs[:, None] * components, 0.01 * np.eye(D))
    assert components[0] @ covariance @ components[0] == pytest.approx(4.01)


def test_gaussian_rows_have_their_covariance():
    draw = make_gaussian(N, D, SPIKES, SIGMA, random_state=0)
    assert is_gaussian_with(draw.X, draw.covariance)


@pytest.mark.parametrize("df", [1, 4.5])
def test_radii_of_elliptical_rows_follow_the_f_law(df):
    # Kolmogorov-Smirnov, error 1e-6.
    draw = make_elliptical(N, D, SPIKES, SIGMA, df=df, random_state=0)
    squared = np.sum(draw.X.T * linalg.solve(draw.covariance, draw.X.T), axis=0)
    assert stats.kstest(squared / D, stats.f(D, df).cdf).pvalue > 1e-6


def test_infinite_degrees_of_freedom_are_gaussian():
    elliptical = make_elliptical(50, D, SPIKES, SIGMA, df=math.inf, random_state=0)
    assert np.array_equal(elliptical.X, make_gaussian(50, D, SPIKES, SIGMA, random_state=0).X)


@pytest.mark.parametrize("fraction", [0, 0.05, 1])
def test_a_fraction_of_the_rows_is_replaced(fraction):
    clean = make_gaussian(N, D, SPIKES, SIGMA, random_state=0)
    draw = make_contaminated(N, D, SPIKES, SIGMA, fraction=fraction, random_state=0)
    replaced = np.any(draw.X != clean.X, axis=1)
    assert replaced.sum() == fraction * N
    assert np.array_equal(draw.covariance, clean.covariance)


def test_outliers_sit_off_the_components():
    clean = make_gaussian(N, D, SPIKES, SIGMA, random_state=0)
    draw = make_contaminated(N, D, SPIKES, SIGMA, random_state=0)
    outliers = draw.X[np.any(draw.X != clean.X, axis=1)]
    centre = outliers.mean(axis=0)
    # Entries of the mean of 1000 rows: 6 sd, error 2e-8 in all.
    bound = 6 * 0.05 / math.sqrt(len(outliers))
    assert np.abs(draw.components @ centre).max() < bound
    assert linalg.norm(centre) == pytest.approx(2.5 * 10.25, abs=bound)
    assert outliers.std() > 0
    direction = centre - (centre @ draw.components.T) @ draw.components
    direction *= 2.5 * 10.25 / linalg.norm(direction)
    # The direction is estimated to within `bound` an entry, which the band has room for.
    assert is_gaussian_with(outliers - direction, 0.05**2 * np.eye(D))


@on_all
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_records": 0}, "n_records=0"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"eigenvalues": [1.0, 0.0]}, "must be positive finite"),
        ({"eigenvalues": [1.0, math.nan]}, "must be positive finite"),
        ({"eigenvalues": [[1.0], [2.0]]}, "must be positive finite"),
        ({"eigenvalues": []}, "eigenvalues must hold"),
        ({"eigenvalues": [1.0] * 9}, "eigenvalues must hold"),
        ({"sigma": -1.0}, "sigma=-1.0"),
        ({"sigma": math.inf}, "sigma=inf"),
        ({"dtype": int}, "float64 or float32"),
    ],
)
def test_invalid_parameters_are_named(make, changed, message):
    given = {"n_records": 5, "n_features": D, "eigenvalues": SPIKES, "sigma": SIGMA} | changed
    positional = [given.pop(key) for key in ("n_records", "n_features", "eigenvalues", "sigma")]
    with pytest.raises(ValueError, match=message):
        make(*positional, **given)


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (partial(make_spiked, 5, D, 3), {}, "n_components=3"),
        *((partial(make_elliptical, 5, D), {"df": df}, "df=") for df in (0, -1.0, math.nan, "1")),
        (partial(make_elliptical, 1000, D), {"df": 0.001}, r"df=0\.001 gives rows too large"),
        *(
            (partial(make_contaminated, 5, D), {"fraction": fraction}, "fraction=")
            for fraction in (-0.1, 1.1, math.nan)
        ),
        (partial(make_contaminated, 5, 2), {}, "fewer than n_features"),
    ],
)
def test_parameters_of_one_maker_are_named(make, given, message):
    with pytest.raises(ValueError, match=message):
        make(SPIKES, SIGMA, random_state=0, **given)
