"""Metrics against closed forms and 60 digits."""

import math

import mpmath
import numpy as np
import pytest
from scipy import linalg
from sklearn.exceptions import NotFittedError

from skdppca import DPGauss
from skdppca.metrics import captured_variance, sin_theta, subspace_distance, zeta_squared

D = 6
SPECTRUM = np.array([10.0, 5.0, 3.0, 1.0, 0.5, 0.1])
BASIS = linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0].T
COVARIANCE = (BASIS.T * SPECTRUM) @ BASIS
COVARIANCE = (COVARIANCE + COVARIANCE.T) / 2


def tilted(angle, k=2):
    """The top k eigenvectors, the i-th turned by angle / i towards the i-th of the others."""
    rows = BASIS[:k].copy()
    for i in range(k):
        rows[i] = np.cos(angle / (i + 1)) * BASIS[i] + np.sin(angle / (i + 1)) * BASIS[k + i]
    return rows


def exact_zeta_squared(rows, covariance):
    """The definition, in 60 digits, of the float64 numbers given."""
    with mpmath.workdps(60):
        sigma = mpmath.matrix(covariance.tolist())
        U = mpmath.qr(mpmath.matrix(rows.T.tolist()), mode="skinny")[0]
        values = sorted(mpmath.eigsy(sigma, eigvals_only=True), reverse=True)
        kept = (U.T * sigma * U)[:, :]
        captured = sum(kept[i, i] for i in range(len(rows)))
        return float(1 - captured / sum(values[: len(rows)]))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("angle", [1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_zeta_squared_agrees_with_60_digits(k, angle):
    rows = tilted(angle, k)
    exact = exact_zeta_squared(rows, COVARIANCE)
    # The square of an angle that float64 rows and eigenvectors hold to some 1e-15.
    assert zeta_squared(rows, COVARIANCE) == pytest.approx(exact, rel=1e-13 + 2e-14 / angle, abs=0)


# All alike, a tie at k, nothing captured, the best, and all directions.
@pytest.mark.parametrize(
    ("rows", "covariance", "expected"),
    [
        (BASIS[:2], 3.0 * np.eye(D), 0.0),
        ([[0.0, 0.0, 1.0]], np.diag([1.0, 2.0, 2.0]), 0.0),
        ([[0.0, 1.0]], np.diag([1.0, 0.0]), 1.0),
        (BASIS[:2], COVARIANCE, 0.0),
        (BASIS, COVARIANCE, 0.0),
    ],
)
def test_zeta_squared_is_exact_where_it_is_known(rows, covariance, expected):
    atol = 1e-28 if covariance is COVARIANCE else 1e-15
    assert zeta_squared(rows, covariance) == pytest.approx(expected, abs=atol)
    assert zeta_squared(rows, covariance) >= 0


def test_zeta_squared_depends_on_the_span_alone():
    rows = tilted(1e-6)
    turned = np.array([[0.6, 0.8], [-0.8, 0.6]]) @ rows
    assert zeta_squared(turned, COVARIANCE) == pytest.approx(zeta_squared(rows, COVARIANCE), 1e-7)


def test_captured_variance_of_a_covariance_is_that_of_its_data():
    X = np.random.default_rng(1).normal(size=(50, D)) @ COVARIANCE
    rows = tilted(0.3)
    covariance = np.cov(X.T)
    assert captured_variance(rows, covariance=covariance) == pytest.approx(
        captured_variance(rows, X), rel=1e-12
    )


def test_captured_variance_judges_the_first_components():
    rows = BASIS[[0, 5]]
    assert captured_variance(rows, n_components=1, covariance=COVARIANCE) == pytest.approx(1)
    assert captured_variance(rows, covariance=COVARIANCE) == pytest.approx(10.1 / 15)


@pytest.mark.parametrize("angle", [1.5, 1e-3, 1e-9, 1e-13])
def test_sines_of_known_angles(angle):
    # The angles are `angle` and half of it.
    sines = np.sin([angle, angle / 2])
    tolerance = {"rel": 1e-13, "abs": 1e-15}
    assert sin_theta(tilted(angle), BASIS[:2]) == pytest.approx(sines[0], **tolerance)
    both = sin_theta(tilted(angle), BASIS[:2], norm="frobenius")
    assert both == pytest.approx(linalg.norm(sines), **tolerance)


def test_sines_of_a_wide_and_a_narrow_angle():
    angles = np.array([1e-9, math.pi / 2 - 1e-7])
    rows = np.cos(angles)[:, np.newaxis] * BASIS[:2] + np.sin(angles)[:, np.newaxis] * BASIS[2:4]
    assert sin_theta(rows, BASIS[:2]) == pytest.approx(np.sin(angles[1]), rel=1e-15)
    both = sin_theta(rows, BASIS[:2], norm="frobenius")
    assert both == pytest.approx(linalg.norm(np.sin(angles)), rel=1e-15)


@pytest.mark.parametrize(("norm", "order"), [("frobenius", "fro"), ("spectral", 2)])
def test_the_subspace_distance_is_that_of_the_projectors(norm, order):
    one, other = tilted(0.7), BASIS[[0, 4]]
    expected = linalg.norm(one.T @ one - other.T @ other, order)
    assert subspace_distance(one, other, norm) == pytest.approx(expected, rel=1e-13)


def test_float32_rows_are_accepted_and_keep_their_precision():
    rows = BASIS[:2].astype(np.float32)
    assert zeta_squared(rows, COVARIANCE) < 1e-14
    assert sin_theta(rows, BASIS[:2]) < 1e-6


def test_lengths_that_were_rounded_do_not_count():
    rows = tilted(1e-9)
    rounded = rows * np.array([[1 + 1e-6], [1 - 1e-6]])
    assert zeta_squared(rounded, COVARIANCE) == pytest.approx(zeta_squared(rows, COVARIANCE), 1e-4)
    assert sin_theta(rounded, BASIS[:2]) == pytest.approx(1e-9, rel=1e-4)


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(2).normal(size=(2000, D)) @ COVARIANCE
    return DPGauss(2, epsilon=5.0, random_state=0).fit(X)


@pytest.mark.parametrize(
    "judge",
    [
        lambda one: zeta_squared(one, COVARIANCE),
        lambda one: captured_variance(one, covariance=COVARIANCE),
        lambda one: captured_variance(one, np.diag(SPECTRUM)),
        lambda one: sin_theta(one, BASIS[:2]),
        lambda one: sin_theta(BASIS[:2], one),
        lambda one: subspace_distance(one, BASIS[:2]),
    ],
)
class TestEveryMetric:
    def test_takes_a_fitted_estimator_for_its_components(self, judge, fitted):
        assert judge(fitted) == judge(fitted.components_)

    def test_refuses_an_estimator_that_is_not_fitted(self, judge):
        with pytest.raises(NotFittedError):
            judge(DPGauss(2))

    def test_refuses_rows_that_are_not_orthonormal(self, judge):
        with pytest.raises(ValueError, match="not orthonormal"):
            judge(BASIS[:2] * 1.001)
        with pytest.raises(ValueError, match="not orthonormal"):
            judge(np.vstack([BASIS[0], BASIS[0]]))

    def test_refuses_other_features(self, judge):
        with pytest.raises(ValueError, match="features"):
            judge(np.eye(D + 1)[:2])


@pytest.mark.parametrize(
    ("judge", "given", "message"),
    [
        (zeta_squared, {"covariance": np.triu(np.ones((D, D)))}, "not symmetric"),
        (zeta_squared, {"covariance": np.ones((D - 1, D))}, "not symmetric"),
        (zeta_squared, {"covariance": np.diag([1.0, 1, 1, 1, 1, -1])}, "negative eigenvalues"),
        (zeta_squared, {"covariance": np.zeros((D, D))}, "covariance is 0"),
        (zeta_squared, {"covariance": np.full((D, D), math.nan)}, "NaN"),
        (captured_variance, {}, "one of the two"),
        (captured_variance, {"X": np.eye(D), "covariance": COVARIANCE}, "one of the two"),
        *((captured_variance, {"X": np.full((n, D), 0.1)}, "X has no variance") for n in (1, 5)),
        *(
            (captured_variance, {"X": COVARIANCE, "n_components": k}, "whole number of at least 1")
            for k in (0, -1, 1.5)
        ),
        (sin_theta, {"reference": BASIS[:3]}, "one dimension"),
        *(
            (judge, {"reference": BASIS[:2], "norm": "nuclear"}, "norm='nuclear'")
            for judge in (sin_theta, subspace_distance)
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(judge, given, message):
    with pytest.raises(ValueError, match=message):
        judge(BASIS[:2], **given)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
def test_captured_variance_does_not_depend_on_the_unit(unit):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with np.errstate(all="raise"):
        assert captured_variance(np.eye(3)[:1], X * unit) == pytest.approx(
            captured_variance(np.eye(3)[:1], X), rel=1e-12
        )


def test_captured_variance_is_never_above_1():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert max(captured_variance(np.eye(3), X[i:]) for i in range(15)) == 1
