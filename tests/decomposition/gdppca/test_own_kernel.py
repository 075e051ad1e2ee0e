"""Kernels of one's own: tried before the charge, bounded, named, and silent whatever they do."""

from __future__ import annotations

import functools
import itertools
import json
import warnings

import numpy as np
import pytest

from skdppca import GDPPCA, PrivacyAccountant
from skdppca.datasets import make_gaussian
from skdppca.decomposition.gdppca import name_of
from skdppca.metrics import sin_theta
from skdppca.privacy import PrivacyReport, verify_report

from ...estimators import but_the_first_slow
from ...secret_rows import TEXT, assert_tells_nothing, refused, rows

DRAW = make_gaussian(2000, 6, [9.0, 4.0], 1.0, random_state=0)
X = DRAW.X
FEW = X[:300]


def proportional(t):
    return t


def welsch(t, c=4.0):
    """Differences far longer than c hardly count."""
    return t * np.exp(-((t / c) ** 2) / 2)


def hard(t):
    return np.where(t < 6.0, t, 0.0)


class Soft:
    """A kernel with a parameter."""

    def __init__(self, c):
        self.c = c

    def __call__(self, t):
        return t / (t + self.c)


OWN = [(welsch, 2.5), (hard, 6.0), (np.tanh, 1.0), (Soft(3.0), 1.0)]

on_both_pairs = pytest.mark.parametrize("pairs", ["complete", "incomplete"])


def fit(rows, kernel, kernel_bound=None, **parameters):
    told = {"n_components": 2, "epsilon": 2.0, "random_state": 0}
    return GDPPCA(kernel=kernel, kernel_bound=kernel_bound, **told | parameters).fit(rows)


@on_both_pairs
@pytest.mark.parametrize(("kernel", "bound"), OWN)
@pytest.mark.parametrize("adjacency", but_the_first_slow(["add-remove", "replace-one"]))
def test_components_and_variances_are_found(kernel, bound, pairs, adjacency):
    # None of 40 seeds was off by more than .08 and .2.
    pca = fit(X, kernel, bound, pairs=pairs, adjacency=adjacency)
    assert sin_theta(pca.components_, DRAW.components) < 0.15
    ratios = pca.explained_variance_ratio_
    np.testing.assert_allclose(ratios, np.array([10, 5]) / 19, rtol=0.2)


@on_both_pairs
@pytest.mark.parametrize(
    ("own", "bound", "named"),
    [
        (np.ones_like, 1.0, {"kernel": "spherical"}),
        (np.ones_like, 1e-300, {"kernel": "spherical"}),
        (proportional, 3.0, {"kernel": "winsorized", "norm_bound": 3.0}),
        (lambda t: 1e10 * t, 1e-5, {"kernel": "spherical"}),
    ],
    ids=["spherical", "of any size", "winsorized", "clipped to the bound"],
)
def test_named_kernels_are_special_cases(own, bound, named, pairs):
    ours = fit(FEW, own, bound, pairs=pairs)
    theirs = fit(FEW, pairs=pairs, **named)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-9)
    assert [s.sensitivity for s in ours.privacy_.spendings] == [
        s.sensitivity for s in theirs.privacy_.spendings
    ]


# What a kernel may not be, and what is said about it.


def raising(t):
    raise LookupError(TEXT)


def scalars_only(t):
    return min(t, 3.0)


def normalised(t):
    with np.errstate(all="ignore"):
        return t / np.max(t[np.isfinite(t)], initial=0.0)


def ranked(t):
    return np.argsort(np.argsort(t)) / len(t)


CALLS = itertools.count()


def counting(t):
    return t * 0 + next(CALLS)


REFUSED = [
    (raising, "raised LookupError for made-up lengths.*call it on"),
    (scalars_only, r"raised ValueError for .* as lambda t: np\.minimum\(t, 3\.0\) does"),
    (lambda t: 1.0, r"returned float64 of shape \(\)"),
    (lambda t: t[:-1], r"returned float64 of shape"),
    (lambda t: t.reshape(-1, 1), r"returned float64 of shape"),
    (lambda t: t + 0j, "returned complex128"),
    (lambda t: t.astype(object), "returned object"),
    (lambda t: None, "returned object"),
    (normalised, "another value among others"),
    (ranked, "another value among others"),
    (np.cumsum, "another value among others"),
    (np.vectorize(lambda t: 1 if t < 1 else min(t, 9.5)), "another value among others"),
    (lambda t: np.random.default_rng().random(t.shape), "another value among others"),
    (counting, "another value among others"),
]


@pytest.mark.parametrize(("kernel", "message"), REFUSED)
def test_what_is_no_function_of_each_length_is_refused_for_nothing(kernel, message):
    accountant = PrivacyAccountant(10.0, 1e-5)
    estimator = GDPPCA(2, kernel=kernel, kernel_bound=1.0, accountant=accountant)
    assert_tells_nothing(refused(estimator, rows(), message))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": welsch}, r"kernel=.*welsch .* set kernel_bound"),
        ({"kernel": welsch, "kernel_bound": 1.0, "centering": "private"}, "set centering='pairs'"),
        ({"kernel": welsch, "kernel_bound": 0.0}, "'kernel_bound' parameter"),
        ({"kernel": welsch, "kernel_bound": np.inf}, "'kernel_bound' parameter"),
        ({"kernel": "welsch"}, "'kernel' parameter"),
        (
            {"kernel": welsch, "kernel_bound": 1.0, "n_components": 0.5, "variance_share": 0.0},
            r"n_components=0\.5 .* kernel=.*welsch needs a scale .*variance_share=0\.05",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_for_nothing(parameters, message):
    pca = GDPPCA(**parameters, accountant=PrivacyAccountant(10.0, 1e-5))
    refused(pca, FEW, message, kinds=ValueError)


def fails_between(low, high, how):
    """No made-up length lies there, but many of the data's do."""

    def kernel(t):
        odd = (t > low) & (t < high)
        if odd.any():
            return how(t, odd)
        return np.minimum(t, 3.0)

    return kernel


def raises(t, odd):
    raise ValueError(f"look at {t[odd][0]}")


def lacks_memory(t, odd):
    raise MemoryError


FAILURES = [
    raises,
    lacks_memory,
    lambda t, odd: t[~odd],
    lambda t, odd: t.astype(object),
    lambda t, odd: np.where(odd, np.nan, np.minimum(t, 3.0)),
    lambda t, odd: "nothing",
]


@on_both_pairs
@pytest.mark.parametrize("how", FAILURES)
def test_what_fails_on_the_data_counts_as_nothing(how, pairs):
    # between two of the steps that are tried, without an ordinary number in between
    low, high = 4.2, 4.23
    said = lambda t: np.where((t > low) & (t < high), 0.0, np.minimum(t, 3.0))  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        ours = fit(FEW[:120], fails_between(low, high, how), 3.0, pairs=pairs)
    theirs = fit(FEW[:120], said, 3.0, pairs=pairs)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    untouched = fit(FEW[:120], proportional, 3.0, pairs=pairs)
    assert not np.array_equal(ours.components_, untouched.components_)


@pytest.mark.parametrize("kernel", [np.zeros_like, lambda t: t * np.nan, lambda t: -t])
@pytest.mark.parametrize("epsilon", [1.0, np.inf])
def test_a_kernel_that_keeps_nothing_gives_a_finite_release(kernel, epsilon):
    pca = fit(FEW, kernel, 1.0, epsilon=epsilon)
    for name in ("components_", "explained_variance_", "explained_variance_ratio_"):
        assert np.isfinite(getattr(pca, name)).all()


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (welsch, ".welsch"),
        (functools.partial(welsch, c=2.0), ".welsch"),
        (Soft(2.0), ".Soft"),
        (np.tanh, "numpy.tanh"),
        (lambda t: t, "<lambda>"),
    ],
)
def test_a_report_names_the_kernel_and_its_bound(kernel, name):
    told = fit(FEW, kernel, 2.0).privacy_
    assert told.details["clip"] == name_of(kernel)
    assert told.details["clip"].endswith(name)
    assert told.details["norm_bound"] == told.parameters["kernel_bound"] == 2.0
    assert "0x" not in told.to_json()
    assert not verify_report(json.loads(told.to_json()))
    assert PrivacyReport.from_json(told.to_json()).release_id == told.release_id
