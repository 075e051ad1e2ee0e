"""Searches over privately scaled candidates: each pays for its scales, and all scores compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skdppca import GDPPCA, DPGauss, PrivacyAccountant
from skdppca.model_selection import PrivateSearchCV, _private_search, price
from skdppca.model_selection._scorer import Scorer, prepare_scorer
from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.privacy.declared import DeclaredScales
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records

from ..private_data_of import on_both_adjacencies
from .neighbouring_tables import D, held, pairs_of_tables

RNG = np.random.default_rng(0)
UNITS = np.array([1e-3, 1.0, 1e4, 10.0, 1e-2])
STANDARD = RNG.normal(size=(3000, 2)) @ RNG.normal(size=(2, D)) + RNG.normal(size=(3000, D))
X = STANDARD * UNITS
EVERY = DeclaredScales.of("private", D)
GRID = {"clip": ["auto", "spherical"]}


def scorer_of(rows, scale, adjacency="add-remove", groups=None, mu=1e8):
    """Scores with noise far below their bound, in units of scales that are known."""
    data = held(rows, adjacency, groups, centre=np.zeros(D), n=1.0)
    return Scorer(data.scaled(scale), 2.0, mu, scale)


@on_both_adjacencies
def test_the_search_is_charged_once_and_finds_what_one_fit_finds(adjacency):
    # two components of the standardised features capture .746 without noise; seeds are fixed
    accountant = PrivacyAccountant(2.0, 1e-6, adjacency=adjacency)
    search = PrivateSearchCV(
        DPGauss(2, scale="private", adjacency=adjacency),
        GRID,
        epsilon=2.0,
        accountant=accountant,
        random_state=0,
    )
    (total,) = price(search, D).totals
    with pytest.warns(match="random_state"):
        search.fit(X)
    assert [receipt.event for receipt in accountant.receipts] == [total]
    assert 1.999 < accountant.spent.epsilon <= 2.0
    winner = search.best_estimator_
    axes = np.linalg.qr((winner.components_ * winner.scale_ / X.std(axis=0)).T)[0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert np.sum((Z @ axes) ** 2) / np.sum(Z**2) > 0.73


def test_every_candidate_pays_for_its_own_scales(monkeypatch):
    found, honest = [], _private_search.best_run

    def keep(candidates, fit, score, fit_all):
        def fitted(candidate):
            (pca,), hits = fit(candidate)
            found.append(pca.privacy_)
            return [pca], hits

        return honest(candidates, fitted, score, fit_all)

    monkeypatch.setattr(_private_search, "best_run", keep)
    search = PrivateSearchCV(DPGauss(2, scale="private"), GRID).fit(X)
    mu_fit = search.privacy_.details["search"]["mu_fit"]
    for report in found:
        assert "octaves" in {spending.name for spending in report.spendings}
        assert report.event.mu <= mu_fit


def test_the_scores_units_are_in_the_report():
    # one search of 300 finds other scales; the seed is fixed
    search = PrivateSearchCV(DPGauss(2, scale="private"), GRID, random_state=0).fit(X)
    details = search.privacy_.details
    assert np.all(np.abs(np.log2(details["search"]["score_scale"] / X.std(axis=0))) < 2)
    details = PrivateSearchCV(DPGauss(2), GRID).fit(X).privacy_.details
    assert "score_scale" not in details["search"]


def test_the_same_directions_have_the_same_score_whatever_the_candidates_scales():
    scorer = scorer_of(X, UNITS)
    directions = RNG.normal(size=(2, D)) * UNITS  # of the features as they are
    scores = []
    for scale in (UNITS, 3.0 * UNITS, np.ones(D), np.geomspace(1e-6, 1e6, D)):
        axes = np.linalg.qr((directions / scale).T)[0].T
        scores.append(scorer(axes, scale))
    np.testing.assert_allclose(scores, scores[0], rtol=1e-6)


def test_a_scale_that_is_far_too_small_wins_nothing():
    """In units of its own it would: one feature has nearly all of the variance then."""
    scorer = scorer_of(X, UNITS)
    wrong = UNITS * np.array([1, 1, 1e-4, 1, 1])
    misled = np.linalg.svd(X / wrong, full_matrices=False)[2][:1]
    good = np.linalg.svd(X / UNITS, full_matrices=False)[2][:1]
    assert np.sum((X / wrong @ misled.T) ** 2) > 1e4 * np.sum((X / UNITS @ good.T) ** 2)
    assert scorer(misled, wrong) < 0.9 * scorer(good, UNITS)


@on_both_adjacencies
@pytest.mark.parametrize("grouped", [False, True])
def test_no_record_moves_a_score_further_than_its_sensitivity(adjacency, grouped):
    """Whatever the scales of the candidate are."""
    rng, moved = np.random.default_rng(1), []
    for tables, axes in pairs_of_tables(adjacency, grouped):
        own = UNITS * 10.0 ** rng.integers(-5, 5, size=D)
        scores = [scorer_of(rows, UNITS, adjacency, groups)(axes, own) for rows, groups in tables]
        moved.append(abs(scores[0] - scores[1]))
    assert 3.9 < max(moved) <= 4.0 + 1e-3


def test_with_few_records_there_are_no_scales_and_still_a_score():
    data = PrivateData(
        source=Records.of(X[:20]),
        public=Public(D, "add-remove"),
        budget=PrivacyFilter(0.1),
        noise=NoiseSource(0),
        centre=np.zeros(D),
    )
    scorer = prepare_scorer(data, centred=True, mu_score=0.1, declared=EVERY)
    np.testing.assert_array_equal(scorer.scale, np.ones(D))
    assert np.isfinite(replace(scorer, mu=1.0)(np.eye(D)[:2], np.ones(D)))


@pytest.mark.parametrize("container", [np.asarray, np.float32])
def test_groups_and_single_precision(container):
    estimator = GDPPCA(2, scale="private", unit="user")
    search = PrivateSearchCV(estimator, {"n_components": [1, 2]}, mean_candidates=2)
    rows = container(X[:600])
    assert search.fit(rows, groups=np.arange(600) // 3).transform(rows).shape[0] == 600


def test_absent_entries_are_read_as_the_candidates_read_them():
    rows = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    search = PrivateSearchCV(DPGauss(2, scale="private", missing="mean"), GRID).fit(rows)
    assert np.isfinite(search.transform(rows)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        PrivateSearchCV(DPGauss(2), GRID).fit(rows)
