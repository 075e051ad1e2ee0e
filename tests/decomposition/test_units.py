"""A method knows no unit: X * u gives the fit of X, in units u.

Each claim compares medians of seeded fits, so a test passes always or never. The bounds hold for
all seeds that were tried (70 for every method): the errors of the medians are a third of them.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from skdppca import GDPPCA, KDPPCA, DPGauss, PrivacyAccountant, ResidualGauss
from skdppca.decomposition import METHODS
from skdppca.exceptions import CentreNotSeenWarning
from skdppca.mechanisms.clipping import with_typical_norm
from skdppca.mechanisms.norm_histogram import HISTOGRAM, seen_norms
from skdppca.mechanisms.scales.octaves import WIDE_EDGES, magnitudes_of
from skdppca.mechanisms.scales.private_scales import private_scales
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.statistics import Distances

from ..estimators import ESTIMATORS, on_all_estimators
from ..private_data_of import private_data

UNITS = (1e-30, 1e-15, 1e-12, 1e-9, 1e9, 1e12, 1e15, 1e30)
D, N = 6, 4000
SPREAD = np.array([8.0, 5.0, 2.0, 1.0, 1.0, 0.5])
TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(D, D)))[0]
ROWS = np.random.default_rng(0).normal(size=(N, D)) * SPREAD @ TURN + 10
SEEDS = 5

pytestmark = pytest.mark.filterwarnings("error::skdppca.exceptions.CentreNotSeenWarning")


@cache
def errors(estimator, unit, grouped=False, **parameters):
    """Medians of the loss, the mean's error, and the first variance, of fits in that unit."""
    groups = np.arange(N) // 2 if grouped else None
    covariance = np.cov(ROWS.T)
    optimal = np.linalg.eigvalsh(covariance)[::-1][:2]
    found = []
    for seed in range(SEEDS):
        pca = estimator(
            2, epsilon=3.0, unit="pair" if grouped else "row", random_state=seed, **parameters
        ).fit(ROWS * unit, groups=groups)
        W = pca.components_
        loss = 1 - np.trace(W @ covariance @ W.T) / optimal.sum()
        mean = np.linalg.norm(pca.mean_ / unit - ROWS.mean(axis=0))
        found.append((loss, mean, pca.explained_variance_[0] / unit**2 / optimal[0]))
    return np.median(found, axis=0)


CASES = [
    pytest.param(
        estimator, unit, grouped,
        id=f"{name}-{unit:g}-{'groups' if grouped else 'rows'}",
        marks=() if (i + j) % 9 == 0 else pytest.mark.slow,
    )
    for i, (name, estimator) in enumerate(ESTIMATORS)
    for j, (unit, grouped) in enumerate((u, g) for u in UNITS for g in (False, True))
]  # fmt: skip


@pytest.mark.parametrize(("estimator", "unit", "grouped"), CASES)
def test_a_fit_in_other_units_is_as_good(estimator, unit, grouped):
    loss, mean, variance = errors(estimator, unit, grouped)
    usual_loss, usual_mean, usual_variance = errors(estimator, 1.0, grouped)
    assert loss < 3 * usual_loss
    assert mean < 2 * usual_mean
    assert 0.8 < variance / usual_variance < 1.25


WAYS = (
    {"center": False},
    {"mean": np.zeros(D)},
    {"scale": "private"},
    {"missing": "mean"},
    {"adjacency": "replace-one"},
)


@cache
def loss_of(factory, unit, i):
    """Median loss of the second moments' directions, in a way; of a method that sees no mean."""
    way = {name: value * unit if name == "mean" else value for name, value in WAYS[i].items()}
    moments = np.corrcoef(ROWS.T) if "scale" in way else np.cov(ROWS.T)
    if way.keys() & {"center", "mean"} and "kernel" not in factory().get_params():
        moments = ROWS.T @ ROWS / N
    optimal = np.linalg.eigvalsh(moments)[::-1][:2].sum()
    losses = []
    for seed in range(SEEDS):
        W = factory(2, epsilon=10.0, random_state=seed, **way).fit(ROWS * unit).components_
        losses.append(1 - np.trace(W @ moments @ W.T) / optimal)
    return np.median(losses)


@pytest.mark.filterwarnings("ignore::skdppca.exceptions.NoiseOnlyWarning")
@pytest.mark.parametrize("unit", [1e-20, 1e20])
@pytest.mark.parametrize("i", range(len(WAYS)), ids=[", ".join(way) for way in WAYS])
@on_all_estimators
def test_so_it_is_whatever_is_looked_for_first(factory, i, unit):
    assert loss_of(factory, unit, i) < 3 * loss_of(factory, 1.0, i)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.sums_only])
def test_rows_of_a_public_norm_have_variances(name, unit):
    loss, mean, variance = errors(METHODS[name].estimator, unit, norm_bound=40 * unit)
    assert loss < 0.01
    assert mean < 0.5
    assert 0.8 < variance < 1.25


def test_wide_sparse_rows_have_variances():
    # PrivatePCA takes DPPowerMethod for these
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 2500), density=0.002, rng=rng, format="csr")
    X = sparse.csr_array(X + sparse.csr_array(np.outer(rng.normal(size=3000), np.eye(2500)[3])))
    pca = dict(ESTIMATORS)["PrivatePCA"](1, epsilon=5.0, random_state=0)
    usual = pca.fit(X).explained_variance_
    assert 0.5 < (pca.fit(X * 1e8).explained_variance_ / 1e16 / usual)[0] < 2


def far_apart(column, unit):
    X = ROWS.copy()
    X[:, column] = X[:, column] * unit
    return X


@pytest.mark.parametrize("unit", [1e-25, 1e-15, 1e15, 1e25])
@pytest.mark.parametrize("estimator", [DPGauss, KDPPCA])
def test_a_column_in_another_unit_ruins_no_scale(estimator, unit):
    X = far_apart(2, unit)
    found = [estimator(2, scale="private", epsilon=3.0, random_state=s).fit(X) for s in range(3)]
    ratio = np.median([pca.scale_ for pca in found], axis=0) / X.std(axis=0)
    assert (0.8 < ratio).all() and (ratio < 1.25).all()


def test_times_in_nanoseconds_are_scaled():
    X = ROWS.copy()
    X[:, 0] = 1.7e18 + 1e15 * np.random.default_rng(3).normal(size=N)
    scale = DPGauss(2, scale="private", epsilon=3.0, random_state=0).fit(X).scale_
    ratio = scale / X.std(axis=0)
    assert (0.7 < ratio).all() and (ratio < 1.4).all()


@pytest.mark.parametrize("unit", [1e-42, 1e40])
@on_all_estimators
def test_all_is_finite_up_to_the_last_unit_that_is_looked_for(factory, unit):
    pca = factory(2, epsilon=3.0, random_state=0).fit(ROWS * unit)
    for name in ("explained_variance_", "explained_variance_ratio_", "mean_", "noise_variance_"):
        assert np.isfinite(getattr(pca, name)).all(), name
    assert (pca.explained_variance_ > 0).all()


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_variances_that_single_precision_does_not_hold_are_in_double(unit):
    X = (ROWS * unit).astype(np.float32)
    pca = DPGauss(2, epsilon=3.0, whiten=True, random_state=0).fit(X)
    assert pca.explained_variance_.dtype == np.float64
    np.testing.assert_allclose(pca.transform(X).std(axis=0), 1.0, rtol=0.2)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_corrections_on_the_unit_sphere_have_no_unit(unit):
    # nested spheres are left after the first one: products of unit rows are at most 1/2
    rng = np.random.default_rng(0)
    components = np.eye(100)[0]
    signs = rng.choice([-1.0, 1.0], 1000)
    X = np.outer(signs, components) + 0.005 * rng.normal(size=(1000, 100))
    found = [
        ResidualGauss(1, epsilon=0.4, random_state=s).fit(u * X)
        for u in (1.0, unit)
        for s in range(5)
    ]
    losses = [1 - (pca.components_[0] @ components) ** 2 for pca in found]
    assert np.median(losses[5:]) < 2 * np.median(losses[:5])


def test_a_loose_norm_bound_moves_no_variance_that_it_does_not_bound():
    pca = GDPPCA(2, epsilon=3.0, norm_bound=1e15, random_state=0).fit(ROWS)
    ratio = pca.explained_variance_[0] / np.linalg.eigvalsh(np.cov(ROWS.T))[-1]
    assert 0.7 < ratio < 1.4


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_a_classifier_says_that_nothing_was_seen(size):
    y = np.arange(N) % 2
    with pytest.warns(CentreNotSeenWarning, match="no lengths of rows were seen"):
        PrivateNearestCentroid(classes=(0, 1), random_state=0).fit(ROWS * size, y)


@pytest.mark.parametrize("size", [1e-60, 1e60])
@on_all_estimators
def test_where_nothing_is_seen_a_warning_names_units(factory, size):
    accountant = PrivacyAccountant(10.0, 1e-5)
    with (
        warnings.catch_warnings(),
        pytest.warns(CentreNotSeenWarning, match="shorter than 1e-42 or longer than 1e42"),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CentreNotSeenWarning)
        pca = factory(2, accountant=accountant, random_state=0).fit(ROWS * size)
    assert "no centre was seen" in str(pca.privacy_)


@pytest.mark.parametrize("size", [1e-60, 1e60])
@on_all_estimators
def test_so_it_does_without_a_private_centre(factory, size):
    with (
        warnings.catch_warnings(),
        pytest.warns(CentreNotSeenWarning, match="no lengths of rows were seen"),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CentreNotSeenWarning)
        factory(2, center=False, random_state=0).fit(ROWS * size)


# The steps.


@pytest.mark.parametrize("unit", UNITS)
def test_a_first_look_costs_two_more_questions(unit):
    data = private_data(ROWS * unit, 10.0, n=float(N))
    found, histogram = seen_norms(data, Distances(np.zeros(D)), 1.0, "norms")
    names = [query.name for query in data.budget.queries]
    elsewhere = not 2.0**-40 < 20 * unit < 2.0**40
    assert names == ["norms", "magnitude of the norms", "norms"][: 3 if elsewhere else 1]
    assert [query.mu for query in data.budget.queries] == [1.0] * len(names)
    assert 1 / 32 < found.magnitude / (20 * unit) < 2**20 if elsewhere else found is data
    assert 0.8 < histogram.median / np.median(np.linalg.norm(ROWS, axis=1)) / unit < 1.25


def test_nothing_more_is_asked_where_nothing_could_be_seen():
    mu = HISTOGRAM.seen / N / 1.01
    data = private_data(ROWS * 1e20, 10.0, n=float(N))
    found, _ = seen_norms(data, Distances(np.zeros(D)), mu, "norms")
    assert found.unseen and len(data.budget.queries) == 1


@pytest.mark.parametrize(("exponent", "about"), [(11.9, 0), (12.1, 12), (-20.2, -20), (130, 99)])
def test_norms_are_looked_for_near_a_power_of_2(exponent, about):
    data = private_data(ROWS)
    assert data.near(2.0**exponent).magnitude == 2.0**about


def test_a_typical_norm_moves_the_edges():
    data = with_typical_norm(private_data(ROWS * 1e8, 10.0, n=float(N)))
    assert 0.5 < data.magnitude / data.typical_norm < 2


def test_magnitudes_are_read_off_one_side_or_both():
    middles = np.log2(WIDE_EDGES[15:-1]) + 10
    counts = np.zeros((5, 29))
    counts[0, 15 + 10] = 100.0  # above 0
    counts[1, 13 - 3] = 100.0  # below 0
    counts[2, [13 - 2, 15 + 2, 13 - 3, 15 + 3]] = 50.0  # both sides, two cells
    counts[3, 15 + 7] = 100.0  # near to 1
    counts[4, 14] = 100.0  # zeros
    found = np.log2(magnitudes_of(counts, 1.0))
    np.testing.assert_array_equal(found, [middles[10], middles[3], middles[2] + 10, 0.0, 0.0])


def test_octaves_that_are_seen_cost_no_look_at_magnitudes():
    data = private_data(ROWS, 3.0)
    private_scales(data, located=True)
    assert "magnitudes" not in {query.name for query in data.budget.queries}
    data = private_data(far_apart(1, 1e20), 3.0)
    private_scales(data, located=True)
    asked = [query.name for query in data.budget.queries]
    assert asked.count("magnitudes") == 1
