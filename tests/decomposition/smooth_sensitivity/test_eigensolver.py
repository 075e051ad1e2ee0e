"""The solver of the gap release: exact spans and gaps, and no outcome of failure."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skdppca import SmoothSensitivityPCA
from skdppca.decomposition.smooth_sensitivity import eigensolver
from skdppca.decomposition.smooth_sensitivity.eigensolver import EIGENSOLVER, ritz_pairs, top_span
from skdppca.decomposition.smooth_sensitivity.gap import span_sensitivity
from skdppca.noise import NoiseSource
from skdppca.records import Records
from skdppca.statistics import Spreads

from ...private_data_of import filled, on_both_adjacencies
from ...spectra_and_distances import clusters, distance

D = 60


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * np.r_[3.0, 2.5, np.full(D - 2, 0.3)]
    return X * (rng.random((n, D)) < 0.5)


ROUTES = {
    "LAPACK": (10**6, np.asarray, None),
    "LAPACK, sparse": (10**6, sparse.csr_array, None),
    "Lanczos": (1, np.asarray, None),
    "Lanczos, sparse": (1, sparse.csr_array, None),
    "Lanczos, groups": (1, np.asarray, 2),
}
on_all_routes = pytest.mark.parametrize(("limit", "container", "size"), ROUTES.values(), ids=ROUTES)
ZERO = np.zeros(D)
CENTRES = {"zero": ZERO, "near": np.full(D, 0.1), "far": np.full(D, 1e4)}


def set_constants(monkeypatch, **numbers):
    monkeypatch.setattr(eigensolver, "EIGENSOLVER", replace(eigensolver.EIGENSOLVER, **numbers))


def solve(X, limit, container, size, centre, monkeypatch, radius=4.0, k=2, may_miss=False):
    set_constants(monkeypatch, dense_features=limit, few=1)
    groups = None if size is None else np.arange(len(X)) // size
    records = Records.of(container(X), groups, may_miss=may_miss)
    return top_span(records, centre, radius, k, NoiseSource(0)), records


def norm_error(records):
    return Spreads(ZERO).error(records.layout)


def exact(X, centre, size, radius=4.0, k=2):
    """The same from the definition: the span, and the gap."""
    Y = (X - centre).reshape(-1, size or 1, X.shape[1])
    spreads = np.sqrt((Y**2).sum(axis=(1, 2)))
    Y = Y * np.minimum(1, radius / spreads)[:, None, None] / radius
    values, vectors = np.linalg.eigh(np.einsum("gij,gil->jl", Y, Y))
    return vectors.T[::-1][:k], values[-k] - values[-k - 1]


@on_all_routes
@pytest.mark.parametrize("centre", CENTRES.values(), ids=CENTRES)
def test_every_solver_finds_the_span_and_its_gap(limit, container, size, centre, monkeypatch):
    X = rows() + centre
    found, _ = solve(X, limit, container, size, centre, monkeypatch)
    span, gap = exact(X, centre, size)
    assert gap > 5
    assert found.error < 0.1
    # clipped rows of far data have as many digits less
    assert abs(found.gap - gap) <= found.gap_error
    assert distance(found.directions, span) <= 4 * found.error / gap
    np.testing.assert_allclose(found.directions @ found.directions.T, np.eye(2), atol=1e-12)


@on_all_routes
@pytest.mark.parametrize("centre", [ZERO, np.full(D, 0.1)], ids=["zero", "near"])
def test_an_absent_entry_is_read_as_the_centres(limit, container, size, centre, monkeypatch):
    X = rows()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    X[0] = np.nan
    expected, _ = solve(filled(X, centre), limit, container, size, centre, monkeypatch)
    found, _ = solve(X, limit, container, size, centre, monkeypatch, may_miss=True)
    assert (found.error, found.gap_error) == (expected.error, expected.gap_error)
    assert found.gap == pytest.approx(expected.gap, rel=1e-6)
    assert distance(found.directions, expected.directions) < 1e-3


@on_all_routes
@on_both_adjacencies
def test_no_record_moves_what_is_computed_further(limit, container, size, adjacency, monkeypatch):
    X = rows(80)
    unit = size or 1
    extreme = [
        np.zeros((unit, D)),
        np.eye(D)[[1] * unit] * 1e200,
        np.eye(D)[[2] * unit] * 9,
        np.tile((np.eye(D)[1] + np.eye(D)[2]) * 7, (unit, 1)),
        np.tile((np.eye(D)[1] - np.eye(D)[2]) * 7, (unit, 1)),
    ]
    spectra = []
    for record in extreme:
        found, records = solve(
            np.vstack([X, record]), limit, container, size, ZERO, monkeypatch, k=2
        )
        spectra.append(found)
    if adjacency == "add-remove":
        spectra = [solve(X, limit, container, size, ZERO, monkeypatch)[0], *spectra]
    errors = spectra[0].error, spectra[0].gap_error, norm_error(records)
    s = span_sensitivity(2, D, adjacency, *errors)
    firsts = spectra[:1] if adjacency == "add-remove" else spectra
    assert min(spectrum.gap for spectrum in spectra) > 3
    for one in firsts:
        for other in spectra:
            assert abs(one.gap - other.gap) <= s.step
            moved = distance(one.directions, other.directions)
            assert moved <= min(s.local(one.gap), s.local(other.gap))


# Data sets whose neighbours once had another outcome: k, and how many rows of each unit vector.
DEGENERATE = {
    "all rows equal": (1, [50]),
    "all rows equal, 2 of 1": (2, [50]),
    "rank k": (2, [50, 30]),
    "k equal": (3, [40, 40, 40]),
    "k equal, bulk": (3, [40, 40, 40, *[1] * 20]),
    "k + 1 equal": (2, [40, 40, 40]),
    "k + 1 equal, bulk": (2, [40, 40, 40, *[2] * 30]),
    "one row": (1, [1]),
    "one row, k = 3": (3, [1]),
    "all equal": (2, [1] * D),
    "two long": (1, [1000, 1]),
}
RECORDS = [0.0, 1.0, 1e-170, 1e200]


def units(counts):
    return np.repeat(np.eye(D)[: len(counts)], counts, axis=0)


@pytest.mark.parametrize(("k", "counts"), DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize(
    "route",
    [
        "LAPACK",
        "Lanczos",
        *(pytest.param(f"{way}, sparse", marks=pytest.mark.slow) for way in ("LAPACK", "Lanczos")),
    ],
)
@on_both_adjacencies
def test_the_gap_moves_by_no_more_than_its_sensitivity(k, counts, route, adjacency, monkeypatch):
    X = units(counts)
    rng = np.random.default_rng(0)
    ends = [np.eye(D)[0], np.eye(D)[min(k, D - 1)], np.eye(D)[-1], rng.normal(size=D)]
    others = [np.vstack([X, size * end]) for end in ends for size in RECORDS]
    others += [np.vstack([X[:-1], end]) for end in ends] if adjacency == "replace-one" else []
    if adjacency == "replace-one":
        X = np.vstack([X, np.eye(D)[1]])
    found, records = solve(X, *ROUTES[route], ZERO, monkeypatch, radius=1.0, k=k)
    assert abs(found.gap - exact(X, ZERO, None, 1.0, k)[1]) <= found.gap_error + 2 * found.error
    s = span_sensitivity(k, D, adjacency, found.error, found.gap_error, norm_error(records))
    for Y in others:
        if len(Y) != len(X) and adjacency == "replace-one":
            continue
        other, _ = solve(Y, *ROUTES[route], ZERO, monkeypatch, radius=1.0, k=k)
        assert abs(other.gap - found.gap) <= s.step
        moved = distance(other.directions, found.directions)
        assert moved <= min(s.local(other.gap), s.local(found.gap))


def hard(n=500):
    """No gap below any of the variances: an iteration needs all of the space."""
    return np.random.default_rng(0).normal(size=(n, D))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fits", [True, False])
def test_a_tiny_limit_is_no_failure(container, fits, monkeypatch):
    set_constants(monkeypatch, most_products=1)
    monkeypatch.setattr(eigensolver, "dense_fits", lambda d: fits)
    called = []
    honest = eigensolver._by_lapack
    monkeypatch.setattr(eigensolver, "_by_lapack", lambda *a: called.append(1) or honest(*a))
    found, _ = solve(hard(), 1, container, None, ZERO, monkeypatch, k=3)
    span, gap = exact(hard(), ZERO, None, k=3)
    assert bool(called) == fits
    assert abs(found.gap - gap) <= found.gap_error
    assert distance(found.directions, span) <= 4 * found.error / gap


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_errors_are_the_same_whoever_answers(container, monkeypatch):
    errors = set()
    for most, X in itertools.product([0, 400], [rows(), hard(), 0 * hard()]):
        set_constants(monkeypatch, most_products=most)
        found, _ = solve(X, 1, container, None, ZERO, monkeypatch)
        errors.add((found.error, found.gap_error))
    assert len(errors) == 1


def test_a_check_that_the_precise_products_fail_goes_on(monkeypatch):
    """With quick products that are wrong, and no LAPACK to help."""
    monkeypatch.setattr(eigensolver, "dense_fits", lambda d: False)
    honest = eigensolver.SparseProducts.quick
    wrong = np.random.default_rng(0).normal(size=(D, D))
    wrong += wrong.T
    monkeypatch.setattr(
        eigensolver.SparseProducts, "quick", lambda self, v: honest(self, v) + v @ wrong
    )
    found, _ = solve(rows(), 1, sparse.csr_array, None, ZERO, monkeypatch)
    span, gap = exact(rows(), ZERO, None)
    assert abs(found.gap - gap) <= found.gap_error
    assert distance(found.directions, span) <= 4 * found.error / gap


@pytest.mark.parametrize("few", [True, False])
def test_a_subspace_that_is_full_starts_again_and_grows(few, monkeypatch):
    rng = np.random.default_rng(0)
    d = 90
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = np.r_[3.0, 2.0, np.linspace(1.999, 0, d - 2)]
    H = (basis * values) @ basis.T
    if few:
        monkeypatch.setattr(eigensolver, "MOST_BLOCKS", 2)
        monkeypatch.setattr(eigensolver, "MOST_ENTRIES", 0)
        monkeypatch.setattr(eigensolver, "FEWEST_BLOCKS", 2)
    start = rng.normal(size=(8, d))
    for pairs in ritz_pairs(lambda rows: rows @ H, start, 3, NoiseSource(0)):
        measured = np.linalg.norm(pairs.rows() @ H - pairs.values[:, None] * pairs.rows(), axis=1)
        np.testing.assert_allclose(measured, pairs.residuals, atol=1e-12)
        if pairs.residuals.max() < 1e-11:
            break
    np.testing.assert_allclose(pairs.values, values[:3], atol=1e-11)


@pytest.mark.parametrize("limit", [1, 10**6])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("noise", ["gap-release", "student", "cauchy", "gaussian"])
def test_sums_that_are_no_numbers_are_a_finite_release(limit, container, noise, monkeypatch):
    """No clipped record has such a sum; if one had, it should not tell."""
    set_constants(monkeypatch, dense_features=limit)
    honest = Records.fold

    def fold(self, *args, **kwargs):
        return honest(self, *args, **kwargs) * math.nan

    monkeypatch.setattr(Records, "fold", fold)
    told = {"norm_bound": 1.0, "center": False, "epsilon": 0.5, "noise": noise}
    pca = SmoothSensitivityPCA(2, **told).fit(container(rows()))
    for name in ("components_", "explained_variance_", "noise_variance_"):
        assert np.isfinite(getattr(pca, name)).all()


def thin(d, more):
    """Equal variances but for one, a little larger: random rows have next to nothing of it."""
    columns = np.r_[np.arange(d), 0]
    values = np.r_[np.ones(d), math.sqrt(more)]
    return sparse.csr_array((values, (np.arange(d + 1), columns)), (d + 1, d))


@pytest.mark.parametrize("weakened", [False, True])
def test_a_variance_that_hardly_stands_out_is_not_missed(weakened, monkeypatch):
    if weakened:  # residuals that are only as small as the error that is stated
        set_constants(monkeypatch, residual=EIGENSOLVER.miss, shortness=1e-9)
    missed = []
    for more in (0.05, 0.1, 0.15, 0.5, 1.0):
        found = top_span(Records.of(thin(5000, more)), np.zeros(5000), 1.0, 1, NoiseSource(0))
        missed.append(more - found.gap)
    assert (max(missed) > 0.04) == weakened
    assert weakened or max(np.abs(missed)) < EIGENSOLVER.miss / 10


@pytest.mark.parametrize("second", [0.7, pytest.param(0.0, marks=pytest.mark.slow)])
def test_wide_sparse_rows_need_no_square_matrix(second):
    """With a second variance that is seen at once, or in a bulk of many."""
    rng = np.random.default_rng(0)
    n, d = 2000, 20_000
    columns = np.c_[rng.integers(2, d, (n, 10)), np.zeros(n, int), np.ones(n, int)]
    values = np.c_[np.full((n, 10), 0.1), np.ones(n), second * rng.choice([-1, 1], n)]
    X = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, 12 * n + 1, 12)), (n, d))
    tracemalloc.start()
    found = top_span(Records.of(X), np.zeros(d), 2.0, 1, NoiseSource(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.gap > 100
    assert abs(found.directions[0, 0]) > 0.99
    assert peak < 8 * d**2 / 50


@pytest.mark.parametrize("copies", [1, 10])
def test_equal_eigenvalues_up_to_rounding_are_all_found(copies):
    # Asked for the largest few, LAPACK's MRRR returns fewer for about one of these in a hundred.
    rng = np.random.default_rng(1)
    for _ in range(300):
        d = int(rng.integers(2, 60))
        k = int(rng.integers(1, d))
        X = np.tile(np.linalg.qr(rng.normal(size=(d, d)))[0], (copies, 1))
        found = top_span(Records.of(X), np.zeros(d), 1.0, k, NoiseSource(0))
        assert found.directions.shape == (k, d)
        assert found.values.shape == (k,)
        assert 0 <= found.gap <= found.gap_error


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
