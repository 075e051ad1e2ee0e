"""A method knows no unit: X * u gives the fit of X, in units u.

Each claim compares medians of seeded fits, so a test passes always or never. The bounds hold for
all seeds that were tried (70 for every method): the errors of the medians are a third of them.
"""

import warnings
from functools import cache

import numpy as np
import pytest

from skdppca import KDPPCA, DPGauss
from skdppca.exceptions import CentreNotSeenWarning
from skdppca.neighbors import PrivateNearestCentroid

from ..covering import pairwise
from ..estimators import ESTIMATORS, on_all_estimators

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
        *(estimator, unit, grouped),
        id=f"{name}-{unit:g}-{'groups' if grouped else 'rows'}",
        marks=() if i % 8 == 0 else pytest.mark.slow,
    )
    for i, ((name, estimator), unit, grouped) in enumerate(
        pairwise(ESTIMATORS, UNITS, (False, True))
    )
]


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
@pytest.mark.parametrize(
    ("factory", "i", "unit"),
    [
        pytest.param(
            *(factory, i, unit),
            id=f"{name}-{', '.join(WAYS[i])}-{unit:g}",
            marks=() if j % 6 == 0 else pytest.mark.slow,
        )
        for j, ((name, factory), i, unit) in enumerate(
            pairwise(ESTIMATORS, range(len(WAYS)), (1e20, 1e-20))
        )
    ],
)
def test_so_it_is_whatever_is_looked_for_first(factory, i, unit):
    assert loss_of(factory, unit, i) < 3 * loss_of(factory, 1.0, i)


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


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_a_classifier_says_that_nothing_was_seen(size):
    y = np.arange(N) % 2
    with pytest.warns(CentreNotSeenWarning, match="no lengths of rows were seen"):
        PrivateNearestCentroid(classes=(0, 1), random_state=0).fit(ROWS * size, y)


@pytest.mark.parametrize("size", [1e-60, 1e60])
@pytest.mark.parametrize(
    ("center", "says"),
    [(True, "shorter than 1e-42 or longer than 1e42"), (False, "no lengths of rows were seen")],
)
@on_all_estimators
def test_where_nothing_is_seen_a_warning_names_units(factory, center, says, size):
    with warnings.catch_warnings(), pytest.warns(CentreNotSeenWarning, match=says):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CentreNotSeenWarning)
        pca = factory(2, center=center, random_state=0).fit(ROWS * size)
    assert ("no centre was seen" in str(pca.privacy_)) == center
