"""`partial_fit` charges the account of each cohort, and joins it with those before."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skdppca import (
    KDPPCA,
    DPGauss,
    PrivacyAccountant,
    PrivacyLedger,
    PrivatePCA,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from skdppca.decomposition.base import MATRIX
from skdppca.exceptions import BudgetExceeded, LedgerError, UnaccountedFitsWarning
from skdppca.privacy import PrivacyReport
from skdppca.privacy.gdp import epsilon_of
from skdppca.report import ReleaseReport, verify

from .test_fit import run_to, state

D = 6
G = np.random.default_rng(0)
ROWS = G.normal(size=(1200, D)) * [6.0, 4.0, 2.0, 1.0, 1.0, 1.0] + [9.0, 0, 0, -4.0, 0, 0]
FIRST, SECOND, THIRD = np.array_split(ROWS, 3)
HOLES = np.where(G.random(ROWS.shape) < 0.2, np.nan, ROWS)
GROUPS = np.arange(1200) // 3
UNITS = np.array([1.0, 1e3, 1e-3, 1.0, 10.0, 1.0])

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdppca.exceptions.SeededNoiseWarning",
    "ignore::skdppca.exceptions.UnaccountedFitsWarning",
)
on_both = pytest.mark.parametrize("factory", [DPGauss, PrivatePCA])


def grown(factory=DPGauss, parts=(FIRST, SECOND, THIRD), groups=None, paying=(), **parameters):
    """A PCA of these parts, each charged to the account in its place."""
    pca = factory(**{"n_components": 2, "epsilon": 8.0, "random_state": 0} | parameters)
    start = 0
    for number, part in enumerate(parts):
        stop = start + part.shape[0]
        own = None if groups is None else groups[start:stop]
        pca.partial_fit(part, groups=own, accountant=paying[number] if paying else None)
        start = stop
    return pca


def parts_of(X):
    return [X[start : start + 400] for start in (0, 400, 800)]


def same_numbers(one, other):
    """Whether two fits released the same, but for receipts."""
    names = {name for name in vars(one) if name.endswith("_")} - {"privacy_"}
    assert names == {name for name in vars(other) if name.endswith("_")} - {"privacy_"}
    return all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in names)


def accounts(**more):
    return PrivacyAccountant(10.0, 1e-5, **more)


# What it computes.


@on_both
def test_without_noise_it_is_the_pca_of_all_rows(factory):
    pca = grown(factory, epsilon=math.inf)
    joint = DPGauss(2, epsilon=math.inf).fit(ROWS)
    assert np.allclose(pca.components_, joint.components_)
    assert np.allclose(pca.explained_variance_, joint.explained_variance_)
    assert np.allclose(pca.mean_, joint.mean_)
    assert pca.n_samples_seen_ == len(ROWS)


def test_later_cohorts_search_nothing():
    spendings = [one.name for one in grown().privacy_.spendings]
    assert spendings == ["number of records", "centre", "Gram matrix"]


def test_noise_of_a_seed_is_not_repeated():
    pca = grown(parts=[FIRST, FIRST, FIRST], epsilon=1.0)
    sizes = [fit["n_samples"] for fit in pca.privacy_.details["joined"]]
    assert len(set(sizes)) == 3


MODES = {
    "replace-one": ({"adjacency": "replace-one"}, ROWS, None),
    "groups": ({"unit": "person"}, ROWS, GROUPS),
    "groups, replace-one": ({"unit": "person", "adjacency": "replace-one"}, ROWS, GROUPS),
    "missing": ({"missing": "mean"}, HOLES, None),
    "missing groups": ({"missing": "mean", "unit": "person"}, HOLES, GROUPS),
    "private scales": ({"scale": "private"}, ROWS * UNITS, None),
    "private scales, missing": ({"scale": "private", "missing": "mean"}, HOLES * UNITS, None),
    "public scales": ({"scale": UNITS}, ROWS * UNITS, None),
    "spherical": ({"clip": "spherical"}, ROWS, None),
    "public mean": ({"mean": ROWS.mean(axis=0), "norm_bound": 30.0}, ROWS, None),
    "no centre": ({"center": False}, ROWS - ROWS.mean(axis=0), None),
    "sparse": ({}, sparse.csr_array(ROWS), None),
    "float32": ({}, ROWS.astype(np.float32), None),
}


@pytest.mark.parametrize("mode", MODES)
def test_three_cohorts_find_what_one_fit_of_all_finds(mode):
    parameters, X, groups = MODES[mode]
    pca = grown(parts=parts_of(X), groups=groups, epsilon=30.0, **parameters)
    joint = DPGauss(2, epsilon=math.inf, **parameters).fit(X, groups=groups)
    if "scales" in mode and "public" not in mode:  # all variances are 1: no direction stands out
        assert np.allclose(pca.scale_, joint.scale_, rtol=0.15)
    else:
        # epsilon 30 turns the span by less than this in all of 200 seeds that were tried
        overlap = np.linalg.norm(pca.components_ @ joint.components_.T) ** 2 / 2
        assert overlap > 0.97
    spread = np.nanstd(X.toarray() if sparse.issparse(X) else X, axis=0)
    assert np.abs((pca.mean_ - joint.mean_) / spread).max() < 0.3


def test_drift_is_told_and_forgotten():
    turned = THIRD[:, [2, 1, 0, 3, 4, 5]] * [1.0, 1, 1, 1, 1, 1]
    still, auto = (grown(parts=[FIRST, SECOND, turned], forget=f) for f in (1.0, "auto"))
    assert still.privacy_.details["joined"][-1]["drift"] > 10
    assert still.privacy_.details["joined"][1]["drift"] < 3
    assert auto.privacy_.details["joined"][-1]["kept"] < 0.5
    assert abs(auto.components_[0, 2]) > abs(still.components_[0, 2])
    assert any("the population changed" in remark for remark in still.privacy_.remarks())


def test_fit_starts_afresh():
    pca = grown().fit(FIRST)
    assert not hasattr(pca, "n_samples_seen_")
    assert "joined" not in pca.privacy_.details
    assert same_numbers(pca, DPGauss(2, epsilon=8.0, random_state=0).fit(FIRST))


# What it charges, and states.


@on_both
def test_everybody_pays_for_their_own_cohort_only(factory):
    paying = [accounts() for _ in range(3)]
    pca = grown(factory, epsilon=2.0, paying=paying, random_state=None)
    assert [len(one.receipts) for one in paying] == [1, 1, 1]
    assert pca.privacy_.epsilon == 2.0


def test_the_guarantee_is_that_of_whoever_paid_most():
    pca = DPGauss(2, epsilon=3.0, delta=1e-6)
    pca.partial_fit(FIRST, accountant=accounts()).set_params(epsilon=1.0, delta=1e-7)
    pca.partial_fit(SECOND, accountant=accounts())
    report = pca.privacy_
    assert (report.epsilon, report.delta) == (3.0, 1e-6)
    assert [fit["epsilon"] for fit in report.details["joined"]] == [3.0, 1.0]
    assert report.event.mu < report.cost.mu == report.details["joined"][0]["mu"]


OWN, OTHER = PrivacyAccountant(1e3, 1e-5), PrivacyAccountant(1e3, 1e-5)


@pytest.mark.parametrize(
    ("paying", "dearest", "in_all"),
    [
        ((None, None), 2, None),  # anybody may be in both
        ((OWN, OWN), 2, None),  # people who came back
        ((OWN, OTHER), 1, 2),
        ((None, OTHER), 2, None),
        ((OWN, OTHER, OWN), 2, 3),
        ((OWN, None, OTHER), 2, 3),
        (([OWN, OTHER], OTHER), 2, None),  # a joint fit
        (([OWN, OTHER], OWN, OTHER), 2, 3),
    ],
)
def test_a_person_pays_for_the_fits_of_one_account_and_for_those_of_none(paying, dearest, in_all):
    parts = parts_of(ROWS)[: len(paying)]
    report = grown(parts=parts, epsilon=3.0, paying=paying, random_state=None).privacy_
    mu = report.details["joined"][0]["mu"]
    costs = [epsilon_of(mu * math.sqrt(n), 1e-6) for n in (dearest, in_all or 0)]
    assert math.isclose(report.epsilon, costs[0], rel_tol=1e-6)
    if in_all is None:
        assert report.in_all() is None
    else:
        assert math.isclose(report.in_all()["epsilon"], costs[1], rel_tol=1e-6)


def test_the_account_of_the_estimator_is_the_default():
    own, other = accounts(), accounts()
    pca = DPGauss(2, epsilon=1.0, accountant=own).partial_fit(FIRST)
    pca.partial_fit(SECOND, accountant=other)
    assert (len(own.receipts), len(other.receipts)) == (1, 1)
    assert pca.accountant is own


def test_a_second_cohort_without_an_account_warns():
    pca = DPGauss(2, epsilon=1.0).partial_fit(FIRST)
    with pytest.warns(UnaccountedFitsWarning, match=r"everybody pays.*partial_fit\(X, accountant="):
        pca.partial_fit(SECOND)


def test_fits_are_listed_with_receipts_and_hashes():
    paying, reports = [accounts() for _ in range(3)], []
    pca = DPGauss(2, epsilon=1.0)
    for own, part in zip(paying, parts_of(ROWS), strict=True):
        reports.append(pca.partial_fit(part, accountant=own).privacy_)
    *earlier, last = pca.privacy_.details["joined"]
    assert [fit["release_id"] for fit in earlier] == [one.release_id for one in reports[:2]]
    ids = [receipt["accountant"] for fit in earlier for receipt in fit["receipts"]]
    assert ids == [one.id for one in paying[:2]]
    assert "receipts" not in last
    assert [receipt.accountant for receipt in pca.privacy_.receipts] == [paying[2].id]


@pytest.mark.slow
def test_a_grown_release_verifies_from_its_files(tmp_path):
    paying = [PrivacyLedger.create(tmp_path / f"q{n}", 5.0, 1e-6) for n in range(3)]
    ReleaseReport(grown(epsilon=1.0, paying=paying, random_state=None)).write(tmp_path / "out")
    assert verify(tmp_path / "out", ledger=tmp_path / "q0").status == "unchecked"
    assert verify(tmp_path / "out", ledger=[tmp_path / f"q{n}" for n in range(3)]).agrees
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "different accounts are of different people" in text


# What is refused, before the charge.


FRAMES = [pd.DataFrame(part, columns=list("abcdef")) for part in parts_of(ROWS)]

# What is set before the second cohort, its rows, and how it is refused.
REFUSED = {
    "center": ({"center": False}, FRAMES[1], "center"),
    "mean": ({"mean": np.zeros(D)}, FRAMES[1], "mean"),
    "scale": ({"scale": np.ones(D)}, FRAMES[1], "scale"),
    "norm_bound": ({"norm_bound": 50.0}, FRAMES[1], "norm_bound"),
    "missing": ({"missing": "mean"}, FRAMES[1], "missing"),
    "clip": ({"clip": "spherical"}, FRAMES[1], "clip"),
    "keep_matrix": ({"keep_matrix": False}, FRAMES[1], "keep_matrix"),
    "epsilon": ({"epsilon": math.inf, "accountant": None}, FRAMES[1], "epsilon=inf"),
    "order": ({}, FRAMES[1][list("bacdef")], "same order"),
    "names": ({}, FRAMES[1].rename(columns={"a": "z"}), "unseen at fit time"),
    "fewer": ({}, FRAMES[1][list("abcde")], "yet now missing"),
    "fewer, without names": ({}, SECOND[:, :5], "expecting 6 features"),
}


@pytest.mark.parametrize(("parameters", "X", "match"), REFUSED.values(), ids=REFUSED)
def test_what_would_not_join_is_refused_before_the_charge(parameters, X, match):
    accountant = accounts()
    pca = DPGauss(2, epsilon=1.0, accountant=accountant).partial_fit(FRAMES[0])
    before = state(pca)
    with pytest.raises(ValueError, match=match):
        pca.set_params(**parameters).partial_fit(X)
    assert len(accountant.receipts) == 1
    assert state(pca) == before


@pytest.mark.parametrize("change", [{"unit": "person"}, {"adjacency": "replace-one"}])
def test_other_neighbours_are_refused(change):
    pca = grown(parts=[FIRST])
    groups = np.arange(400) if "unit" in change else None
    with pytest.raises(ValueError, match=next(iter(change))):
        pca.set_params(**change).partial_fit(SECOND, groups=groups)


def test_rows_without_names_keep_those_before():
    pca = DPGauss(2, epsilon=8.0).partial_fit(FRAMES[0])
    assert list(pca.partial_fit(SECOND).feature_names_in_) == list("abcdef")
    assert pca.privacy_.feature_names == tuple("abcdef")


@pytest.mark.parametrize("account", [3, "q2.ledger", [3], []])
def test_what_is_no_account_is_refused(account):
    own = accounts()
    pca = DPGauss(2, accountant=own)
    with pytest.raises((ValueError, TypeError), match="account"):
        pca.partial_fit(FIRST, accountant=account)
    assert not own.receipts


def test_an_older_copy_of_an_account_is_refused_before_the_charge(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "q1.ledger", 5.0, 1e-6)
    shutil.copy(ledger.path, tmp_path / "copy.ledger")
    pca = DPGauss(2, epsilon=1.0).partial_fit(FIRST, accountant=ledger)
    copied = PrivacyLedger(tmp_path / "copy.ledger")
    with pytest.raises(LedgerError, match=r"row 1 of the receipt is missing"):
        pca.partial_fit(SECOND, accountant=copied)
    assert not copied.receipts


def test_nested_spheres_cannot_be_continued():
    pca = DPGauss(2, epsilon=0.05, random_state=0).fit(FIRST[:60])
    with pytest.warns(UserWarning, match=r"not joined.*nested spheres.*skdppca\.merge"):
        pca.partial_fit(SECOND)
    assert len(pca.privacy_.details["joined"]) == 1


def test_cohorts_whose_matrix_is_lost_are_not_forgotten():
    pca = grown(parts=[FIRST])
    for name in [name for name in vars(pca) if name.startswith(MATRIX)]:
        delattr(pca, name)
    with pytest.raises(ValueError, match="not there any more"):
        pca.partial_fit(SECOND)


def test_partial_fit_never_uses_nested_spheres():
    pca = grown(parts=[FIRST[:60], SECOND[:60]], epsilon=0.05)
    assert pca.privacy_.details["clip"] != "nested"


def test_a_damaged_state_is_refused():
    pca = grown(parts=[FIRST])
    pca.matrix_numbers_ = pca.matrix_numbers_[:-1]
    with pytest.raises(ValueError, match="no matrix that skdppca released"):
        pca.partial_fit(SECOND)


@pytest.mark.parametrize("factory", [KDPPCA, ResidualGauss, SmoothSensitivityPCA])
def test_methods_without_a_matrix_refuse_by_name(factory):
    assert not hasattr(factory(), "partial_fit")
    with pytest.raises(AttributeError, match=rf"{factory.__name__}.*skdppca\.merge"):
        _ = factory().partial_fit


def test_private_pca_takes_the_method_with_a_matrix():
    report = grown(PrivatePCA).privacy_
    assert report.details["method"] == "DPGauss"
    assert report.details["why"].startswith("partial_fit")
    assert not hasattr(PrivatePCA(method="KDPPCA"), "partial_fit")
    with pytest.raises(AttributeError, match=r"skdppca\.merge"):
        _ = PrivatePCA(method="KDPPCA").partial_fit


# Errors and resuming.


@pytest.mark.parametrize("line", [1, 20, 60, 150, 400, 800])
def test_an_interrupted_cohort_leaves_those_before(line, monkeypatch):
    accountant = accounts()
    pca = grown(parts=[FIRST], epsilon=1.0, accountant=accountant, random_state=None)
    before = state(pca)
    assert run_to(line, lambda: pca.partial_fit(SECOND), monkeypatch) == line
    assert state(pca) == before
    assert len(accountant.receipts) == 2


def test_what_the_budget_does_not_cover_leaves_those_before():
    accountant = PrivacyAccountant(1.5, 1e-6)
    pca = grown(parts=[FIRST], epsilon=1.0, accountant=accountant, random_state=None)
    before = state(pca)
    with pytest.raises(BudgetExceeded):
        pca.set_params(epsilon=2.0).partial_fit(SECOND)
    assert state(pca) == before


def test_it_resumes_from_stored_arrays_and_the_report_alone():
    pca = grown(parts=[FIRST, SECOND])
    stored = {name: value for name, value in vars(pca).items() if name.startswith(MATRIX)}
    assert all(value.dtype == np.float64 for value in stored.values())
    resumed = DPGauss(2, epsilon=8.0, random_state=0)
    vars(resumed).update(stored, privacy_=PrivacyReport.from_json(pca.privacy_.to_json()))
    assert same_numbers(pca.partial_fit(THIRD), resumed.partial_fit(THIRD))
    assert pca.privacy_.release_id == resumed.privacy_.release_id


def test_parameters_that_are_set_meanwhile_do_not_count():
    pca = grown(parts=[FIRST], n_components=2)

    class Meanwhile:
        def __array__(self, *args, **more):
            pca.set_params(n_components=1)
            return SECOND

    pca.partial_fit(Meanwhile())
    assert len(pca.components_) == 2
