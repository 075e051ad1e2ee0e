"""Tables in pieces: the same releases, and no method that needs more than sums."""

import numpy as np
import pytest
from scipy import sparse

from skdppca import (
    GDPPCA,
    DPGauss,
    DPPowerMethod,
    PrivacyAccountant,
    PrivatePCA,
    SmoothSensitivityPCA,
)
from skdppca.decomposition import METHODS
from skdppca.out_of_core.pieces import Part, Question
from skdppca.statistics import Count

from ..estimators import SUMS
from .chunked_tables import fit_chunked

N, D = 900, 6
GENERATOR = np.random.default_rng(3)
X = GENERATOR.normal(size=(N, D)) * np.arange(D, 0, -1) + 5.0
GROUPS = np.sort(GENERATOR.integers(0, 300, N))
# Where the group changes: a record is in one piece.
EDGES = [int(np.flatnonzero(GROUPS >= k)[0]) for k in (40, 41, 170)]
SPARSE = sparse.random_array((N, D), density=0.3, rng=GENERATOR, format="csr")

CASES = {
    "rows": (X, None, {}),
    "sparse": (SPARSE, None, {}),
    "groups": (X, GROUPS, {"unit": "patient"}),
    "private scales": (X, None, {"scale": "private"}),
    "scales by column": (X, None, {"scale": ["private", 2.5, *["private"] * (D - 2)]}),
    "missing": (np.where(GENERATOR.random(X.shape) < 0.1, np.nan, X), None, {"missing": "mean"}),
    "single precision": (X.astype(np.float32), None, {}),
    "no noise": (X, None, {"epsilon": np.inf}),
}


def assert_same_release(one, other, atol=1e-9):
    np.testing.assert_allclose(one.components_, other.components_, rtol=0, atol=atol)
    np.testing.assert_allclose(one.mean_, other.mean_, rtol=0, atol=100 * atol)
    assert one.components_.dtype == other.components_.dtype
    assert one.privacy_.spendings == other.privacy_.spendings


def assert_cut_is_whole(estimator, X, groups=None, edges=EDGES):
    """Assert that the rows in pieces give the release of the whole table."""
    whole = type(estimator)(**estimator.get_params()).fit(X, groups=groups)
    assert_same_release(fit_chunked(estimator, X, groups, edges), whole)


# What differs is how a table is read, by all methods alike.
QUICK = {(name, "rows") for name in SUMS} | {("DPGauss", case) for case in CASES}


on_methods_and_cases = pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, marks=() if (name, case) in QUICK else pytest.mark.slow)
        for name in SUMS
        for case in CASES
    ],
)


@on_methods_and_cases
def test_a_table_in_pieces_gives_the_release_of_the_whole(name, case):
    rows, groups, parameters = CASES[case]
    estimator = METHODS[name].estimator(2, **{"epsilon": 5.0, "random_state": 0, **parameters})
    assert_cut_is_whole(estimator, rows, groups)


@pytest.mark.parametrize("name", ["KDPPCA", "KDPOjas"])
def test_random_parts_do_not_depend_on_how_the_table_is_cut(name):
    method = METHODS[name].estimator
    assert_cut_is_whole(method(2, epsilon=9.0, random_state=0, sampling="split"), X)


def test_an_empty_piece_changes_nothing():
    assert_cut_is_whole(DPGauss(2, random_state=0), X, edges=[0, 7, 7, N])


@pytest.mark.parametrize(
    "estimator",
    [
        GDPPCA(2),
        SmoothSensitivityPCA(2),
        PrivatePCA(2, method="GDPPCA"),
        DPGauss(2, scale="private", epsilon=np.inf),
    ],
    ids=["pairs", "gap", "chosen", "exact scales"],
)
def test_more_than_sums_is_refused_before_the_charge(estimator):
    accountant = PrivacyAccountant(10.0, 1e-3)
    if np.isfinite(estimator.epsilon):
        estimator.set_params(accountant=accountant)
    with pytest.raises(TypeError, match="needs all of them in one place"):
        fit_chunked(estimator, X, edges=EDGES)
    assert accountant.receipts == ()


def test_interactions_are_protected_in_pieces_too():
    ones = (SPARSE.toarray() > 0).astype(float)
    estimator = DPPowerMethod(2, epsilon=5.0, random_state=0, protect="interaction", center=False)
    assert_cut_is_whole(estimator, ones)


def test_the_key_of_random_parts_is_in_no_representation():
    key = bytes(range(200, 232))
    part = Part(key, (1, 1), 0)
    for shown in (part, Question((part,), Count())):
        assert str(key)[2:-1] not in repr(shown) and key.hex() not in repr(shown)
