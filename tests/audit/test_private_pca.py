"""PrivatePCA keeps the promise that it was charged for; copies that do not are convicted.

Whole fits are audited, so that the choice of the method and the charge are in the game too: what
is held is the event on the accountant's receipt, whatever the mechanism says.

Error rate: every bound holds with probability at least 1 - 1e-4; the seeds are fixed, so each test
passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skdppca import PrivacyAccountant, PrivatePCA
from skdppca.decomposition import METHODS, private_pca
from skdppca.decomposition.base import BasePrivatePCA
from skdppca.privacy import PrivacyFilter, epsilon_of
from skdppca.private_data import PrivateData

from ..covering import pairwise
from .audit import ADJACENCIES, Pair, bounds, number_bound, on_both_adjacencies
from .cases import ALONG, BESIDE, RADIUS, RIGHT, UP, neighbours

ALPHA = 1e-4
RUNS = {2.0: 150, 3.0: 100}
CHOICES = 100
DELTA = 1e-6

# Records along the first axis and one off it; for the signs of pairs, one far to the side.
NEIGHBOURS = neighbours(ALONG, 1e7 * UP, 1e7 * RIGHT)

TOLD = {"center": False, "norm_bound": RADIUS}
# What leads to a method: it, parameters, how the rows are given, neighbours, what a path shows.
BARE = {"method_params": {"variance_share": 0.0}}
GROUPED = {"unit": "user", **BARE}
LEADS = {
    "rows": ("ResidualGauss", BARE, None, NEIGHBOURS, 0.9),
    "spectrum": ("DPGauss", {"n_components": 0.9}, None, NEIGHBOURS, 0.98),
    "heavy": ("DPGauss", {"tails": "heavy"}, None, NEIGHBOURS, 0.7),
    "heavy groups": ("GDPPCA", {"tails": "heavy", "unit": "user"}, "groups", BESIDE, 0.7),
    "groups": ("ResidualGauss", GROUPED, "groups", NEIGHBOURS, 0.4),
    "wide": ("DPPowerMethod", {}, "sparse", NEIGHBOURS, 0.7),
}

on_all_leads = pytest.mark.parametrize("lead", LEADS)


@dataclass
class AsFitted:
    """A whole fit in the place of a mechanism; `receipt` is of the last."""

    pca: PrivatePCA
    given: str | None = None
    receipt: Any = None

    def __call__(self, X, noise):
        groups = None
        if self.given == "sparse":
            X = sparse.csr_array(X)
        if self.given == "groups":
            groups = np.arange(len(X))
        accountant = PrivacyAccountant(1e4, 1e-3, adjacency=self.pca.adjacency, unit=self.pca.unit)
        pca = clone(self.pca).set_params(accountant=accountant)
        pca._noise = lambda: noise
        pca.fit(X, groups=groups)
        (self.receipt,) = accountant.receipts
        shown = {k: v for k, v in vars(pca).items() if k.endswith("_") and k != "privacy_"}
        told = {**pca.privacy_.parameters, "accountant": None}
        shown["report"] = replace(pca.privacy_, receipts=(), releases=(), parameters=told).to_dict()
        method = pca.privacy_.details["method"]
        return SimpleNamespace(components=pca.components_, method=method, shown=shown), ()


def fitted(mu, adjacency, factory=PrivatePCA, given=None, **parameters):
    epsilon = epsilon_of(mu, DELTA)
    told = {"n_components": 1, "epsilon": epsilon, "delta": DELTA, **parameters}
    return AsFitted(factory(adjacency=adjacency, **told), given)


def assert_paid(audited, mu):
    """What the accountant saw is no more than was asked for, and hardly less."""
    assert mu * (1 - 1e-9) < audited.receipt.event.mu <= mu * (1 + 1e-9)


def shown(mu, adjacency, factory=PrivatePCA, runs=None, **parameters):
    """What the answers of whole fits prove of mu."""
    audited = fitted(mu, adjacency, factory, **TOLD, **parameters)
    found = bounds(audited, *NEIGHBOURS[adjacency], runs or RUNS[mu], ALPHA)
    assert_paid(audited, mu)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lead", "adjacency", "mu"), pairwise(["rows", "spectrum"], ADJACENCIES, [2.0, 3.0])
)
def test_it_holds_what_was_charged(mu, adjacency, lead):
    found = shown(mu, adjacency, runs=2 * RUNS[mu], **LEADS[lead][1])
    assert max(found.values()) <= mu
    assert found["transcript"] > 0.4 * mu


@on_all_leads
@on_both_adjacencies
def test_what_a_path_tells_was_paid_whatever_method_it_led_to(monkeypatch, lead, adjacency):
    monkeypatch.setattr(private_pca, "MANY_SPARSE_FEATURES", 1)
    method, parameters, given, neighbours, least = LEADS[lead]
    audited = fitted(2.0, adjacency, given=given, **TOLD, **parameters)
    pairs = [Pair(audited, *neighbours[adjacency], bool(seed % 2), seed) for seed in range(8)]
    assert_paid(audited, 2.0)
    assert {pair.actual.release.method for pair in pairs} == {method}
    for pair in pairs:  # all that can be seen of a fit, its report too
        np.testing.assert_equal(pair.actual.release.shown, pair.other.release.shown)
    paths = [pair.path_mu for pair in pairs]
    assert max(paths) <= 2.0
    assert np.median(paths) > 2.0 * least


@dataclass(frozen=True)
class Disguised:
    """A mechanism that holds other private data than it was given."""

    inner: Any
    change: Callable[[PrivateData], PrivateData]

    def __call__(self, data):
        return self.inner(self.change(data))


class HalfTheNoise(PrivatePCA):
    """Declares KDPPCA's cost, and runs the method of its choice at twice the mu."""

    def _event(self, public):
        declared = clone(self).set_params(method="KDPPCA")
        return super(HalfTheNoise, declared)._event(public)

    def _mechanism(self, public):
        def twice(data):
            return replace(data, budget=PrivacyFilter(2 * data.budget.mu))

        return Disguised(super()._mechanism(public), twice)


class TwoBudgets(PrivatePCA):
    """Lets method_params set the budget of the noise, and charges its own."""

    def _chosen(self, public):
        params = dict(self.method_params)
        epsilon = params.pop("epsilon")
        ours = clone(self).set_params(method_params=params)
        return super(TwoBudgets, ours)._chosen(public).set_params(epsilon=epsilon)

    def _event(self, public):
        return BasePrivatePCA._event(self, public)

    def _mechanism(self, public):
        event = self._chosen(public)._event(public)
        return Disguised(
            super()._mechanism(public), lambda data: replace(data, budget=PrivacyFilter.of(event))
        )


class OtherNeighbours(PrivatePCA):
    """Noise for a record more or less, charged as for a record exchanged."""

    def _mechanism(self, public):
        others = replace(public, adjacency="add-remove", n_records=None)
        return Disguised(super()._mechanism(others), lambda data: replace(data, public=others))


class BetterOfTwo(PrivatePCA):
    """Runs two methods and keeps one, for the price of one."""

    def _mechanism(self, public):
        def anew(data):
            return replace(data, budget=PrivacyFilter(data.budget.mu))

        return Better(Disguised(super()._mechanism(public), anew))


@dataclass(frozen=True)
class Better:
    """Of two runs."""

    inner: Any

    def __call__(self, data):
        return max(self.inner(data), self.inner(data), key=lambda r: r.explained_variance[0])


LARGER = {"method_params": {"epsilon": epsilon_of(4.0, DELTA)}}


@pytest.mark.parametrize(
    ("weakened", "parameters", "adjacency"),
    [
        (OtherNeighbours, {}, "replace-one"),
        *((HalfTheNoise, {}, adjacency) for adjacency in ADJACENCIES),
        *((TwoBudgets, LARGER, adjacency) for adjacency in ADJACENCIES),
        *((BetterOfTwo, {}, adjacency) for adjacency in ADJACENCIES),
    ],
)
def test_a_path_shows_what_was_not_paid(weakened, parameters, adjacency):
    audited = fitted(2.0, adjacency, weakened, **TOLD, **parameters)
    pair = Pair(audited, *NEIGHBOURS[adjacency], True, 0)
    assert_paid(audited, 2.0)
    assert pair.path_mu > 2.0 * 1.3


class ByExactCount(PrivatePCA):
    """Chooses the method by the exact number of records."""

    def fit(self, X, y=None, *, groups=None):
        self._facts = "light" if len(X) <= len(ALONG) else "heavy"
        return super().fit(X, groups=groups)

    def _choice(self, public):
        return private_pca.choose(public.n_features, tails=self._facts)


class ByLargestNorm(ByExactCount):
    """Looks whether there are outliers."""

    def fit(self, X, y=None, *, groups=None):
        self._facts = "heavy" if np.abs(X[:, 1]).max() > 10 * RADIUS else "light"
        return PrivatePCA.fit(self, X, groups=groups)


def choice_shown(adjacency, factory):
    audited = fitted(2.0, adjacency, factory, **TOLD)
    bound = number_bound(
        audited, NEIGHBOURS[adjacency], lambda r: r.method == "DPGauss", CHOICES, ALPHA, 0.5
    )
    assert_paid(audited, 2.0)
    return bound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weakened", "adjacency"),
    [
        (ByExactCount, "add-remove"),
        (ByLargestNorm, "add-remove"),
        (ByLargestNorm, "replace-one"),
    ],
)
def test_a_choice_by_the_data_is_caught(weakened, adjacency):
    assert choice_shown(adjacency, weakened) > 2.0


@pytest.mark.slow
@on_both_adjacencies
def test_the_choice_shows_nothing(adjacency):
    assert choice_shown(adjacency, PrivatePCA) <= 2.0


def test_every_choice_of_rows_or_groups_is_audited():
    widths, flags = (2, 3000, 20_000), (False, True)
    chosen = {
        private_pca.choose(d, is_sparse=s, grouped=g, sees_spectrum=k, tails=tails)[0]
        for d in widths
        for s in flags
        for g in flags
        for k in flags
        for tails in ("light", "heavy")
    }
    # Audited by themselves are the methods that want a wide matrix of groups, or a declared gap.
    assert chosen - {lead[0] for lead in LEADS.values()} == {"KDPPCA"} <= set(METHODS)
