"""What the noise that is drawn costs is what the accountant is charged: no more, and no less.

The cost is computed anew from what reaches the sampler: the standard deviation of the noise that a
query draws, over how far one record can move the query.
"""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from scipy import sparse

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    PrivacyAccountant,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from skdppca.noise import GaussianQuery, NoiseSource
from skdppca.privacy import PrivacyFilter, mu_of

from ..record_costs import largest_cost

RNG = np.random.default_rng(0)
N, D = 60, 5
ROWS = RNG.normal(size=(N, D)) * [5, 3, 1, 1, 1] + 2.0
GROUPS = np.arange(N) // 2

DEFLATION = {"strategy": "deflation", "n_iter": 2}
SPLIT = {"sampling": "split"}
CASES = {
    "DPGauss": (DPGauss, {}),
    "DPGauss spherical": (DPGauss, {"clip": "spherical"}),
    "KDPPCA": (KDPPCA, {}),
    "KDPPCA split": (KDPPCA, SPLIT),
    "KDPPCA deflation": (KDPPCA, DEFLATION),
    "KDPPCA deflation split": (KDPPCA, {**DEFLATION, **SPLIT}),
    "KDPPCA slow": (KDPPCA, {"learning_rate": 0.5, "range_share": 0.4, "n_iter": 3}),
    "KDPOjas": (KDPOjas, {}),
    "KDPOjas deflation split": (KDPOjas, {**DEFLATION, **SPLIT}),
    "ResidualGauss": (ResidualGauss, {}),
    "ResidualGauss long": (ResidualGauss, {"n_iter": 7, "learning_rate": 2.0}),
    "SmoothSensitivityPCA": (SmoothSensitivityPCA, {}),
    "GDPPCA": (GDPPCA, {}),
    "GDPPCA incomplete": (GDPPCA, {"pairs": "incomplete", "kernel": "winsorized"}),
    "DPPowerMethod": (DPPowerMethod, {}),
    "DPPowerMethod norms": (DPPowerMethod, {"clip": "norm"}),
}
SETTINGS = {
    "default": {},
    "no centre": {"center": False},
    "mean": {"mean": np.full(D, 2.0)},
    "norm bound": {"norm_bound": 10.0},
    "groups": {"unit": "person"},
    "groups, norm bound": {"unit": "person", "norm_bound": 10.0},
    "no variances": {"variance_share": 0.0},
    "large budget": {"epsilon": 50.0},
    "CSR": {"center": False},
    "private scales": {"scale": "private"},
    "private scales, large budget": {"scale": "private", "epsilon": 50.0},
    "private scales, groups": {"scale": "private", "epsilon": 50.0, "unit": "person"},
}

Drawn = namedtuple("Drawn", ["name", "part", "cost"])


@dataclass
class Bill:
    """The squared mu of every query, from the noise that its answer drew."""

    drawn: list[Drawn] = field(default_factory=list)

    @property
    def paid(self):
        return largest_cost([(one.part, one.cost) for one in self.drawn])


@pytest.fixture
def bill(monkeypatch):
    seen, asked = Bill(), []
    release, sample = GaussianQuery.release, NoiseSource.rounded_gaussian

    def releasing(query, total, noise):
        asked.append(query)
        answer = release(query, total, noise)
        asked.pop()
        return answer

    def sampling(noise, sd, size):
        if asked:  # and no random start
            query = asked[-1]
            seen.drawn.append(Drawn(query.name, query.part, cost_of(query, sd)))
        return sample(noise, sd, size)

    monkeypatch.setattr(GaussianQuery, "release", releasing)
    monkeypatch.setattr(NoiseSource, "rounded_gaussian", sampling)
    return seen


def cost_of(query, steps):
    """(Sensitivity / sd)^2; off the diagonal of a symmetric matrix an entry counts twice."""
    sd = np.array(steps * query.grid)
    if query.symmetric:
        rows, columns = np.triu_indices(query.size)
        sd = np.where(rows == columns, sd, np.sqrt(2) * sd)
    return (query.widened_sensitivity / sd.min()) ** 2


def can(case, setting):
    """DPGauss has no query for variances, and scales single rows only to norm 1."""
    estimator, parameters = CASES[case]
    if "variance_share" in SETTINGS[setting]:
        return estimator is not DPGauss
    return "clip" not in parameters or "unit" not in SETTINGS[setting]


on_all = pytest.mark.parametrize(
    ("case", "setting"),
    [(case, setting) for case in CASES for setting in SETTINGS if can(case, setting)],
)


def fit(case, setting, adjacency):
    estimator, parameters = CASES[case]
    given = {"adjacency": adjacency, "delta": 1e-5, **parameters, **SETTINGS[setting]}
    unit = given.get("unit", "row")
    accountant = PrivacyAccountant(100.0, 1e-5, adjacency=adjacency, unit=unit)
    pca = estimator(2, accountant=accountant, random_state=0, **given)
    rows = sparse.csr_array(ROWS) if setting == "CSR" else ROWS
    return pca.fit(rows, groups=None if unit == "row" else GROUPS)


@on_all
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_noise_costs_what_was_charged_and_the_report_lists_it(bill, case, setting, adjacency):
    pca = fit(case, setting, adjacency)
    charged = mu_of(pca.epsilon, pca.delta, pca.privacy_.event.failure) ** 2
    assert pca.privacy_.event.mu**2 == pytest.approx(charged, rel=1e-12)
    assert bill.paid <= charged * (1 + 1e-14)  # as floating point adds them
    assert bill.paid >= 0.999 * charged
    assert len(pca.accountant.receipts) == 1
    spendings = pca.privacy_.spendings
    assert listed(bill.drawn, lambda one: one.cost) == listed(spendings, lambda one: one.mu**2)


def listed(ones, cost):
    return sorted((one.name, one.part, round(math.log(cost(one)), 9)) for one in ones)


def test_noise_too_small_would_be_seen(bill, monkeypatch):
    honest = PrivacyFilter.pay

    def too_cheap(*given, **more):
        query = honest(*given, **more)
        return replace(query, mu=query.mu / 0.999)

    monkeypatch.setattr(PrivacyFilter, "pay", too_cheap)
    charged = fit("KDPPCA", "default", "add-remove").privacy_.event.mu ** 2
    assert bill.paid > charged
