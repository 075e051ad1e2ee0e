"""The reports of true releases agree with themselves, their arrays and their ledger; others not."""

from __future__ import annotations

import errno
import json
import math
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    PrivacyAccountant,
    PrivacyLedger,
    PrivatePCA,
    SmoothSensitivityPCA,
)
from skdppca.exceptions import LedgerError
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy import GaussianEvent, PrivacyReport, verify_report
from skdppca.privacy import ledger as ledger_module
from skdppca.privacy.chain import canonical

from ..estimators import ESTIMATORS, on_all_estimators_slowly

X = np.random.default_rng(0).normal(size=(120, 4)) * [4.0, 2.0, 1.0, 1.0]
FRAME = pd.DataFrame(X, columns=["age", "height", "weight", "pulse"])
ONES = (X > 0).astype(float)
GROUPS = np.arange(len(X)) // 2
COST = {"epsilon": 1.0, "delta": 1e-6}
TOLD = {"norm_bound": 9.0, "center": False}
EXTENT = ((-6.0, 6.0), (-3.0, 3.0))
GRID = {"clip": ["auto", "spherical"]}


def arrays_of(fitted):
    """What was stored, by the names of its report."""
    names = [released.name for released in fitted.privacy_.released]
    return {name: getattr(fitted, f"{name}_") for name in names}


def fit(estimator, rows=X, groups=None, **parameters):
    unit = "patient" if groups is not None else "row"
    pca = estimator(2, **{**COST, "unit": unit, **parameters}).fit(rows, groups=groups)
    return pca.privacy_, arrays_of(pca)


def draw(rows=X, pca=None, **parameters):
    pca = pca or DPGauss(2, **COST).fit(X)
    found = projection_map(pca, rows, extent=EXTENT, bins=(3, 4), **{**COST, **parameters})
    return found.privacy_, {
        "counts": found.counts,
        "outside": found.outside,
        "noise_sd": found.noise_sd,
        "x_edges": found.edges[0],
        "y_edges": found.edges[1],
    }


def search(estimator=None, grid=None, **parameters):
    more = {**COST, "mean_candidates": 2, **parameters}
    found = PrivateSearchCV(estimator or DPGauss(2), grid or GRID, **more).fit(X)
    best = found.best_estimator_
    winner = best if hasattr(best, "components_") else best.named_steps["dpgauss"]
    assert winner.privacy_ is found.privacy_
    searched = {"best_index": found.best_index_, "best_score": found.best_score_}
    names = {released.name for released in found.privacy_.released} - set(searched)
    return found.privacy_, searched | {name: getattr(winner, f"{name}_") for name in names}


RELEASES = {
    **{name: lambda more, e=factory: fit(e, **more) for name, factory in ESTIMATORS},
    **{
        f"{name}, private scales": lambda more, e=factory: fit(e, scale="private", **more)
        for name, factory in ESTIMATORS
    },
    "columns": lambda more: fit(PrivatePCA, FRAME, **more),
    "float32": lambda more: fit(DPGauss, X.astype(np.float32), **more),
    "sparse": lambda more: fit(DPPowerMethod, sparse.csr_array(X), **more),
    "told all": lambda more: fit(
        DPGauss, mean=np.zeros(4), scale=np.ones(4), norm_bound=np.float64(9), **more
    ),
    "whole number": lambda more: fit(DPGauss, **{**more, "epsilon": 1}),
    "no variances": lambda more: fit(KDPPCA, variance_share=0, **more),
    "disjoint parts": lambda more: fit(KDPPCA, sampling="split", strategy="deflation", **more),
    "failure": lambda more: fit(SmoothSensitivityPCA, noise="gap-release", **more),
    "pure": lambda more: fit(SmoothSensitivityPCA, noise="student", **{**TOLD, **more, "delta": 0}),
    "heavy tails": lambda more: fit(
        SmoothSensitivityPCA, noise="cauchy", variance_share=0, **TOLD, **more
    ),
    "approximate": lambda more: fit(
        SmoothSensitivityPCA, noise="gaussian", **{**TOLD, "epsilon": 0.5, **more}
    ),
    "winsorised": lambda more: fit(GDPPCA, kernel="winsorized", centering="private", **more),
    "by PrivatePCA": lambda more: fit(
        PrivatePCA, method="KDPPCA", method_params={"sampling": "split"}, **more
    ),
    "map": lambda more: draw(**more),
    "map of classes": lambda more: draw(y=GROUPS % 2, classes=[0, "none"], **more),
    "search": lambda more: search(**more),
    "search in a pipeline": lambda more: search(
        make_pipeline(Normalizer(), DPGauss(2), FunctionTransformer(np.abs)),
        {"dpgauss__clip": ["auto", "spherical"]},
        **more,
    ),
    "search over whole methods": lambda more: search(
        make_pipeline(Normalizer(), DPGauss(2)), {"dpgauss": [DPGauss(1), DPGauss(3)]}, **more
    ),
}
on_all_releases = pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)


def differing(found, **given):
    return verify_report(found, **given)


# The others are seeded in the same way.
SEEDED = ("DPGauss", "map", "search")


@pytest.mark.parametrize(
    ("release", "seed"),
    [
        *(pytest.param(release, None, id=name) for name, release in RELEASES.items()),
        *(pytest.param(RELEASES[name], 0, id=f"{name}, seeded") for name in SEEDED),
    ],
)
def test_a_true_release_agrees(release, seed):
    accountant = PrivacyAccountant(10.0, 1e-4)
    report, arrays = release({"accountant": accountant, "random_state": seed})
    assert differing(report.to_json(), arrays=arrays, ledger=accountant) == []
    assert report.private == (seed is None)
    (receipt,), (row,) = accountant.receipts, accountant.releases
    assert (report.receipts, report.releases) == ((receipt,), (row,))
    assert row.release == report.release_id
    assert report.parameters["accountant"] == accountant.id
    assert report.parameters["random_state"] == (None if seed is None else "seeded")


@on_all_releases
def test_a_release_without_a_ledger_agrees_and_survives_json(release):
    report, arrays = release({})
    text = report.to_json()
    assert canonical(json.loads(text)["core"]) == canonical(report.core())
    assert PrivacyReport.from_json(text).release_id == report.release_id
    assert differing(text, arrays=arrays) == []
    assert report.receipts == report.releases == ()
    (missing,) = differing(report, ledger=PrivacyAccountant(1.0, 1e-6))
    assert (missing.question, missing.says) == ("ledger", "no ledger was charged for this release")


@on_all_estimators_slowly
@pytest.mark.parametrize(
    "parameters", [{"epsilon": math.inf}, {"groups": GROUPS}, {"adjacency": "replace-one"}], ids=str
)
def test_all_kinds_of_guarantees_agree(factory, parameters):
    report, arrays = fit(factory, **parameters)
    assert differing(report.to_json(), arrays=arrays) == []


@pytest.mark.parametrize(
    ("unit", "given"),
    [
        ("patient", {"estimator": DPGauss, "groups": GROUPS}),
        (
            "interaction",
            {"estimator": DPPowerMethod, "rows": ONES, "protect": "interaction", "center": False},
        ),
    ],
)
def test_groups_and_single_entries_are_charged_as_what_they_are(unit, given):
    accountant = PrivacyAccountant(1.0, 1e-6, unit=unit)
    report, arrays = fit(**given, accountant=accountant)
    assert differing(report, arrays=arrays, ledger=accountant) == []


def test_a_map_on_axes_that_are_not_private_agrees():
    report, arrays = draw(pca=DPGauss(2, random_state=0, **COST).fit(X))
    assert not report.private
    assert differing(report, arrays=arrays) == []


# Ten digits, which no random id in a report holds: 4 digits are in one of 500 reports.
SEED = 3141592653


def test_parameters_are_all_there_and_hold_no_seed():
    ledger = PrivacyAccountant(10.0, 1e-4)
    report, _ = fit(
        PrivatePCA,
        FRAME,
        mean=np.zeros(4),
        random_state=SEED,
        accountant=ledger,
        n_jobs=np.int64(1),
    )
    assert set(report.parameters) == set(PrivatePCA().get_params())
    assert report.parameters["mean"] == [0.0] * 4
    assert report.parameters["accountant"] == ledger.id
    assert str(SEED) not in report.to_json()
    assert report.feature_names == tuple(FRAME)
    assert set(report.software) == {
        *("skdppca", "python", "numpy", "scipy", "scikit-learn", "blas")
    }
    assert all(report.software.values())


def test_parameters_of_a_search_are_those_of_its_parts_by_name():
    report, _ = RELEASES["search in a pipeline"]({})
    assert report.parameters["estimator"] == "Pipeline"
    assert report.parameters["estimator__functiontransformer__func"] == "absolute"
    assert report.parameters["estimator__dpgauss__n_components"] == 2
    assert report.details["best_params"]["dpgauss__clip"] in ("auto", "spherical")


def test_equal_answers_give_equal_hashes_and_another_release_another_id():
    one, two = (fit(DPGauss, random_state=0)[0] for _ in range(2))
    assert (one.released, one.release_id) == (two.released, two.release_id)
    other = fit(DPGauss, random_state=1)[0]
    assert other.release_id != one.release_id


@pytest.mark.parametrize("copied", [deepcopy, lambda pca: pickle.loads(pickle.dumps(pca))])
def test_a_copy_has_the_same_release(copied):
    pca = DPGauss(2, accountant=PrivacyAccountant(1.0, 1e-6), **COST).fit(X)
    twin = copied(pca)
    assert twin.privacy_.release_id == pca.privacy_.release_id
    assert differing(twin.privacy_, arrays=arrays_of(twin), ledger=twin.accountant) == []
    assert not hasattr(clone(pca), "privacy_")


@pytest.mark.parametrize("name", ["components", "mean", "n_samples", "noise_variance"])
def test_another_array_is_named(name):
    report, arrays = fit(DPGauss)
    for changed, says in (
        (arrays | {name: np.nextafter(arrays[name], 9)}, "is not the array that"),
        (arrays | {name: "text"}, "is not the array that"),
        ({key: value for key, value in arrays.items() if key != name}, "is missing"),
    ):
        (found,) = differing(report, arrays=changed)
        assert found.question == "files"
        assert name in found.says and says in found.says


def test_arrays_and_names_that_were_not_released_are_named():
    report, arrays = fit(DPGauss, FRAME)
    (found,) = differing(report, arrays=arrays | {"scores": X})
    assert "scores is not in the report" in found.says
    assert differing(report, arrays=arrays | {"feature_names": np.array(tuple(FRAME))}) == []
    (found,) = differing(report, arrays=arrays | {"feature_names": np.array(list("abcd"))})
    assert "feature_names" in found.says


def test_a_charge_without_its_release_is_named():
    accountant = PrivacyAccountant(1.0, 1e-6)
    receipt = accountant.charge(GaussianEvent(0.1), adjacency="add-remove", unit="row")
    report, _ = fit(DPGauss)
    report = PrivacyReport(**{**vars(report), "receipts": (receipt,)})
    assert "row 1 has no release recorded" in differing(report, ledger=accountant)[-1].says


def test_two_releases_of_one_charge_are_told_apart():
    accountant = PrivacyAccountant(1.0, 1e-6)
    report, _ = fit(DPGauss, accountant=accountant)
    other = PrivacyReport(**{**vars(fit(DPGauss)[0]), "receipts": report.receipts})
    assert "another release for this charge" in differing(other, ledger=accountant)[-1].says


# If the row of the release cannot be written, nothing is released.


def failing(*_):
    raise LedgerError("the disk is full")


def state(fitted):
    return {name: (id(value), pickle.dumps(value)) for name, value in vars(fitted).items()}


def an_estimator(factory, accountant):
    return factory(2, accountant=accountant, **COST)


def a_search(_, accountant):
    return PrivateSearchCV(DPGauss(2), GRID, accountant=accountant, mean_candidates=2, **COST)


KINDS = [pytest.param(an_estimator, factory, id=name) for name, factory in ESTIMATORS]
KINDS.append(pytest.param(a_search, None, id="PrivateSearchCV"))


@pytest.mark.parametrize(("make", "factory"), KINDS)
def test_without_the_row_of_the_release_nothing_is_stored(make, factory, monkeypatch):
    accountant = PrivacyAccountant(10.0, 1e-4)
    fresh, fitted = (make(factory, accountant) for _ in range(2))
    fitted.fit(FRAME)
    old = state(fitted)
    monkeypatch.setattr(PrivacyAccountant, "record", failing)
    for estimator in (fresh, fitted):
        with pytest.raises(LedgerError, match="the disk is full"):
            estimator.fit(X[:, :3])
    assert set(vars(fresh)) == set(fresh.get_params(deep=False))
    monkeypatch.undo()
    assert state(fitted) == old
    assert len(accountant.receipts) == 3 and len(accountant.releases) == 1


def test_without_the_row_of_the_release_there_is_no_map(monkeypatch):
    accountant = PrivacyAccountant(10.0, 1e-4)
    monkeypatch.setattr(PrivacyAccountant, "record", failing)
    with pytest.raises(LedgerError, match="the disk is full"):
        draw(accountant=accountant)
    assert len(accountant.receipts) == 1 and accountant.releases == ()


def test_a_ledger_that_became_read_only_after_the_charge_releases_nothing(tmp_path, monkeypatch):
    ledger = PrivacyLedger.create(tmp_path / "study.ledger", 10.0, 1e-4)
    pca = DPGauss(2, accountant=ledger, **COST).fit(X)
    old, record = state(pca), PrivacyLedger.record

    def locked(ledger, *given):
        monkeypatch.setattr(ledger_module, "_write_at", read_only)
        return record(ledger, *given)

    def read_only(*given):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(PrivacyLedger, "record", locked)
    with pytest.raises(LedgerError, match=r"Read-only .* row 3 stands, and nothing was released"):
        pca.fit(X)
    monkeypatch.undo()
    assert state(pca)["privacy_"] == old["privacy_"]
    assert state(pca)["components_"] == old["components_"]
    assert (len(ledger.receipts), len(ledger.releases)) == (2, 1)
