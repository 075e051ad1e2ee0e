"""With epsilon=inf DPGauss is `sklearn.decomposition.PCA`, to 1e-8 of the largest entry."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.decomposition import PCA

from skdppca import DPGauss

TOLERANCE = 1e-8

# Directions whose variances differ by less than this share of the largest one are one subspace:
# the gap amplifies the rounding errors of both implementations, and a gap of 0 leaves the
# directions arbitrary.
GAP = 1e-7


def wide():
    scales = np.linspace(1, 3, 100)
    return 5 + scales * np.random.default_rng(0).standard_normal((40, 100))


DATA = {
    "digits": lambda: load_digits().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "iris": lambda: load_iris().data,
    "wide": wide,
}
# scikit-learn refuses "mle" on wide data; on breast cancer it leaves a noise variance of 1e-12
# of the largest one, and scikit-learn's own score is then good to 1e-4 only.
REGULAR = [
    ("digits", 2),
    ("digits", 0.9),
    ("breast cancer", None),
    ("breast cancer", 2),
    ("breast cancer", 0.9),
    ("iris", None),
    ("iris", 2),
    ("iris", 0.9),
    ("iris", "mle"),
    ("wide", 2),
    ("wide", 0.9),
]
# Models with a singular covariance: three pixels of the digits are constant, 40 rows span 39
# directions.
SINGULAR = [("digits", None), ("digits", "mle"), ("wide", None)]
CASES = [*REGULAR, ("breast cancer", "mle"), *SINGULAR]

on_all = pytest.mark.parametrize(("name", "n_components"), CASES)
on_regular = pytest.mark.parametrize(("name", "n_components"), REGULAR)


@cache
def fitted(name, n_components, whiten=False):
    X = DATA[name]()
    ours = DPGauss(n_components, epsilon=math.inf, whiten=whiten).fit(X)
    theirs = PCA(n_components, whiten=whiten, svd_solver="full").fit(X)
    return X, ours, theirs


def assert_close(actual, expected, tolerance=TOLERANCE):
    largest = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * largest)


def distinct_groups(variances):
    """Slices of variances without a `GAP` inside; those of no variance at all are left out."""
    floor = GAP * variances[0]
    positive = variances[variances > floor]
    edges = [0, *(np.flatnonzero(-np.diff(positive) > floor) + 1), len(positive)]
    return [slice(a, b) for a, b in pairwise(edges)]


def assert_same_subspaces(ours, theirs):
    for group in distinct_groups(theirs.explained_variance_):
        mine, other = ours.components_[group], theirs.components_[group]
        assert_close(mine.T @ mine, other.T @ other)


def assert_same_scores(scores, others, variances):
    """Columns of distinct directions agree up to sign, others in their distances."""
    for group in distinct_groups(variances):
        mine, other = scores[:50, group], others[:50, group]
        assert_close(mine @ mine.T, other @ other.T)


@on_all
def test_the_fitted_attributes_agree(name, n_components):
    _, ours, theirs = fitted(name, n_components)
    for attribute in ("n_components_", "n_samples_", "n_features_in_"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    for attribute in ("mean_", "explained_variance_", "explained_variance_ratio_"):
        assert_close(getattr(ours, attribute), getattr(theirs, attribute))
    # Squared: a variance of 0 is known to 1e-16, and its root to 1e-8.
    assert_close(ours.singular_values_**2, theirs.singular_values_**2)
    tolerance = {"rel": TOLERANCE, "abs": TOLERANCE * theirs.explained_variance_[0]}
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, **tolerance)
    assert_same_subspaces(ours, theirs)
    V = ours.components_
    np.testing.assert_allclose(V @ V.T, np.eye(ours.n_components_), atol=1e-12)
    assert_close(ours.get_covariance(), theirs.get_covariance())


@pytest.mark.parametrize("name", DATA)
def test_signs_are_scikit_learns(name):
    _, ours, theirs = fitted(name, 2)
    assert_close(ours.components_, theirs.components_)


@on_all
@pytest.mark.parametrize("whiten", [False, True])
def test_scores_and_rows_from_scores_agree(name, n_components, whiten):
    X, ours, theirs = fitted(name, n_components, whiten)
    scores, others = ours.transform(X), theirs.transform(X)
    assert scores.shape == others.shape
    assert_same_scores(scores, others, theirs.explained_variance_)
    if not whiten or (name, n_components) in REGULAR:
        assert_close(ours.inverse_transform(scores), theirs.inverse_transform(others))


@on_regular
def test_precision_and_likelihood_agree(name, n_components):
    X, ours, theirs = fitted(name, n_components)
    assert_close(ours.get_precision(), theirs.get_precision())
    for method in ("score_samples", "score"):
        assert_close(getattr(ours, method)(X), getattr(theirs, method)(X))


@pytest.mark.parametrize(("name", "n_components"), [("digits", None), ("wide", None)])
def test_precision_of_a_singular_model_is_the_inverse_on_its_span(name, n_components):
    # scikit-learn inverts the singular matrix there, so there is nothing to agree with.
    _, ours, _ = fitted(name, n_components)
    covariance = ours.get_covariance()
    assert_close(covariance @ ours.get_precision() @ covariance, covariance)


def test_whitening_leaves_the_model_alone():
    # In scikit-learn get_covariance multiplies the variances with themselves there.
    _, plain, _ = fitted("iris", 2)
    X, whitened, _ = fitted("iris", 2, True)
    np.testing.assert_array_equal(whitened.get_covariance(), plain.get_covariance())
    assert whitened.score(X) == plain.score(X)


SPARSE = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]


@pytest.mark.parametrize("container", SPARSE)
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n_components", [2, 0.9, None])
def test_sparse_input_agrees_with_dense(container, whiten, n_components):
    X, _, theirs = fitted("digits", n_components, whiten)
    ours = DPGauss(n_components, epsilon=math.inf, whiten=whiten).fit(container(X))
    assert_close(ours.mean_, theirs.mean_)
    assert_close(ours.explained_variance_, theirs.explained_variance_)
    assert_close(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    assert_same_subspaces(ours, theirs)
    scores = ours.transform(container(X))
    assert isinstance(scores, np.ndarray)
    assert_same_scores(scores, theirs.transform(X), theirs.explained_variance_)
    if n_components == 2 and not whiten:
        assert_close(ours.score_samples(container(X)), theirs.score_samples(X))


@pytest.mark.parametrize("n_components", [None, 2, 0.9, "mle"])
def test_float32_agrees_and_stays_float32(n_components):
    X, _, theirs = fitted("iris", n_components)
    single = X.astype(np.float32)
    ours = DPGauss(n_components, epsilon=math.inf).fit(single)
    pairs = [
        (ours.mean_, theirs.mean_),
        (ours.components_, theirs.components_),
        (ours.explained_variance_, theirs.explained_variance_),
        (ours.explained_variance_ratio_, theirs.explained_variance_ratio_),
        (ours.singular_values_, theirs.singular_values_),
        (ours.transform(single), theirs.transform(X)),
        (
            ours.inverse_transform(ours.transform(single)),
            theirs.inverse_transform(theirs.transform(X)),
        ),
    ]
    for mine, other in pairs:
        assert mine.dtype == np.float32
        assert_close(mine, other, tolerance=1e-5)


def rows_along_axes(lengths):
    """Rows whose covariance is diagonal, with variances in proportion to the squared lengths."""
    axes = np.diag(np.asarray(lengths, dtype=float))
    return np.vstack([axes, -axes])


@pytest.mark.parametrize("n_components", [2, 4, None])
def test_equal_variances_give_the_same_subspaces(n_components):
    X = rows_along_axes([3, 3, 2, 2, 1])
    ours = DPGauss(n_components, epsilon=math.inf).fit(X)
    theirs = PCA(n_components, svd_solver="full").fit(X)
    assert_same_subspaces(ours, theirs)
    assert_close(ours.get_covariance(), theirs.get_covariance())
    assert_close(ours.get_precision(), theirs.get_precision())
    assert_close(ours.score_samples(X), theirs.score_samples(X))


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_precision_inverts_the_covariance_when_all_variances_are_equal(n_components):
    # scikit-learn divides by the zero difference of variance and noise variance there.
    ours = DPGauss(n_components, epsilon=math.inf).fit(rows_along_axes([2, 2, 2]))
    np.testing.assert_allclose(ours.get_covariance() @ ours.get_precision(), np.eye(3), atol=1e-12)
