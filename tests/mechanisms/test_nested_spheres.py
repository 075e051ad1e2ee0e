"""Nested spheres: their subspaces, what they cost, what they find, and what they say of it.

Error rate: seeds are fixed, so each test passes or fails for good.
"""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skdppca import DPGauss, PrivatePCA
from skdppca.exceptions import NoiseOnlyWarning, NotReleasedError
from skdppca.mechanisms.clipping import Clip
from skdppca.mechanisms.nested_spheres import release_nested, shows_more, sphere_costs
from skdppca.mechanisms.noisy_covariance import release_gram
from skdppca.metrics import captured_variance

from ..nested import nested
from ..private_data_of import cost, names, on_both_adjacencies, private_data

DIGITS = load_digits().data
N, D = 3000, 60
VARIANCES = 1 / np.arange(1.0, D + 1)


def rows(seed, n=N, variances=VARIANCES):
    """Normal rows of these variances along random directions; the covariance."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(len(variances),) * 2))[0]
    return rng.normal(size=(n, len(variances))) * np.sqrt(variances) @ basis, (
        basis.T * variances
    ) @ basis


def counted(X, mu, **more):
    return private_data(X, mu, n=float(len(X)), **more)


# Subspaces


@on_both_adjacencies
@pytest.mark.parametrize("wanted", [2, np.int64(2), "auto"])
def test_they_show_more_where_little_is_visible(wanted, adjacency):
    unit = 1.0 if adjacency == "add-remove" else math.sqrt(2)
    for mu, expected in ((2.9, True), (3.1, False)):
        data = counted(np.zeros((20, 20)), unit * mu, adjacency=adjacency)
        assert shows_more(data, wanted) == expected


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [
        pytest.param(8, 1500, [1500, 30], id="few of many columns"),
        pytest.param(8, 1499, [1499, 1050, 735, 515], id="fewer columns"),
        pytest.param(100, 1500, [1500, 1050, 735, 515], id="more records"),
    ],
)
def test_there_are_few_where_not_even_equal_records_would_be_seen(n, d, expected):
    data = counted(np.zeros((n, d)), 0.2)
    assert sphere_costs(data, 1, 0.2)[0] == expected


@on_both_adjacencies
def test_few_of_them_cost_the_budget_and_no_more(adjacency):
    data = counted(np.ones((8, 1500)), 0.2, adjacency=adjacency)
    dimensions, gram, centre = sphere_costs(data, 1, 0.2, 1.0)
    assert len(dimensions) == 2
    assert 0.2**2 * (1 - 1e-9) < 2 * gram**2 + centre**2 <= 0.2**2


def test_of_few_records_of_a_wide_table_nothing_is_said_to_be_seen():
    X = np.random.default_rng(0).normal(size=(8, 1500))
    with pytest.warns(NoiseOnlyWarning):
        pca = PrivatePCA(1, random_state=0).fit(X)
    assert tuple(pca.privacy_.details["subspaces"]) == (1500, 30)
    assert pca.privacy_.details["alignments"].tolist() == [0.0]
    assert np.linalg.norm(pca.components_) == pytest.approx(1)


# Costs


@on_both_adjacencies
@pytest.mark.parametrize("mu", [1e-4, 0.01, 0.05])
@pytest.mark.parametrize("d", [4, 7, 60])
@pytest.mark.parametrize("radius", [None, 1e-9, 1.0])
def test_all_stages_together_cost_the_budget_and_no_more(mu, d, radius, adjacency):
    data = counted(rows(0, 300)[0][:, :d], mu, adjacency=adjacency)
    found = nested(data, 1, mu, radius)
    assert mu**2 * (1 - 1e-9) < cost(data) <= mu**2
    assert len(data.budget.queries) == (
        2 * len(found.dimensions) - 1 if radius else len(found.dimensions)
    )


@pytest.mark.parametrize("d", [1, 2, 60])
def test_a_matrix_that_is_there_already_is_not_paid_again(d):
    data = counted(rows(0)[0][:, :d], 0.06)
    start = release_gram(data, Clip(1.0, spherical=True), mu=0.03)
    left = data.remaining
    found = nested(data, 1, left, 1.0, start)
    assert found.spectrum.noise_sd <= start.noise_sd
    assert cost(data) <= 0.06**2 * (1 + 1e-12)
    assert names(data).count("Gram matrix") == len(found.dimensions)


@pytest.mark.parametrize("length", [None, 1.0])
@pytest.mark.parametrize("variances", [True, False])
def test_a_release_costs_all_that_is_left(length, variances):
    data = counted(rows(0)[0], 0.06)
    release = release_nested(data, 2, float(N), typical_norm=length, variances=variances)
    assert 0.999 * 0.06**2 < cost(data) <= 0.06**2
    asked = names(data)
    assert ("length in the subspace" in asked) == variances
    assert (release.explained_variance is not None) == variances


# What is found


def test_they_capture_more_than_one_matrix_does():
    """The digits, medians of 20 fits: about .58 and .47."""

    def share(**told):
        pcas = [DPGauss(2, epsilon=0.15, random_state=s, **told).fit(DIGITS) for s in range(20)]
        return np.median([captured_variance(pca.components_, DIGITS) for pca in pcas])

    assert share() > share(whiten=True) + 0.05


@pytest.mark.parametrize("size", [1e-50, 1.0, 1e50])
def test_groups_have_their_components_and_variances_found(size):
    rng = np.random.default_rng(0)
    X = size * (rng.normal(size=(6000, D)) * np.sqrt([30.0, 20.0, *np.ones(D - 2)]))
    groups = np.arange(6000) // 3
    pca = DPGauss(2, epsilon=0.3, unit="person", random_state=0).fit(X, groups=groups)
    assert pca.privacy_.details["clip"] == "nested"
    assert captured_variance(pca.components_, X) > 0.9
    if size == 1:
        np.testing.assert_allclose(pca.explained_variance_, [30.0, 20.0], rtol=0.4)


# Variances


def test_variances_are_those_of_the_rows():
    X = 1e3 * rows(0)[0]
    pca = DPGauss(2, epsilon=0.2, random_state=1).fit(X + 7e3)
    assert pca.privacy_.details["clip"] == "nested"
    np.testing.assert_allclose(pca.explained_variance_, 1e6 * VARIANCES[:2], rtol=0.5)
    total = pca.explained_variance_[0] / pca.explained_variance_ratio_[0]
    assert total == pytest.approx(1e6 * VARIANCES.sum(), rel=0.4)
    assert pca.get_covariance().trace() == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("told", [{}, {"center": False}, {"norm_bound": 1e6}])
@pytest.mark.parametrize("kind", [DPGauss, PrivatePCA])
def test_there_are_no_variances_where_noise_hides_the_length_of_the_records(kind, told):
    pca = kind(2, epsilon=0.02, random_state=0, **told).fit(rows(0, 500)[0])
    for ask in (
        lambda: pca.explained_variance_,
        lambda: pca.noise_variance_,
        pca.get_covariance,
        lambda: pca.score(DIGITS[:, :D]),
    ):
        with pytest.raises(NotReleasedError, match="the noise hides how long the records are"):
            ask()
    assert "no variances: the noise hides" in str(pca.privacy_)
    assert "No variances: the noise hides" in pca.privacy_._repr_html_()
    assert "spectrum" not in pca.privacy_.details
    assert pca.transform(DIGITS[:, :D]).shape == (len(DIGITS), 2)


@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("center", [True, False])
def test_variances_never_run_off(epsilon, center):
    """Those that are released: before, in two of five fits by a factor of up to 1e23."""
    for seed in range(5):
        pca = DPGauss(2, epsilon=epsilon, center=center, random_state=seed).fit(rows(seed)[0])
        if hasattr(pca, "noise_variance_"):
            assert 0.05 < pca.noise_variance_ / VARIANCES[2:].mean() < 20


def test_the_report_says_what_was_done():
    report = DPGauss(2, epsilon=0.1, random_state=0).fit(DIGITS).privacy_
    assert "in nested subspaces of 64, 45, 32, 23 dimensions" in str(report)
    assert "In nested subspaces of 64, 45, 32, 23 dimensions" in report._repr_html_()
    assert type(report).from_json(report.to_json()).details["subspaces"] == [64, 45, 32, 23]
