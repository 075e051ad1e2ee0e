"""A release that grows keeps its promise to people of either cohort; weakened copies do not."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from unittest.mock import Mock, patch
from uuid import UUID

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca.decomposition import dp_gauss
from skdppca.decomposition.dp_gauss import NextCohort
from skdppca.noise import GaussianQuery
from skdppca.privacy import chain

from .audit import ADJACENCIES, mostly_slow, on_both_adjacencies
from .replay import Data, Leak, audit

D = 4
RNG = np.random.default_rng(0)
RECORDS = [RNG.normal(size=(1, D)) * [4.0, 2.0, 1.0, 1.0] + 3.0 for _ in range(60)]
GROUPS = [RNG.normal(size=(2, D)) * [4.0, 2.0, 1.0, 1.0] + 3.0 for _ in range(60)]
LATER = np.vstack([record + 0.5 for record in RECORDS[:40]])
ODD = {
    "long": np.full((1, D), 1e9),
    "at the centre": np.full((1, D), 3.0),
    "zero": np.zeros((1, D)),
}
WAYS = {
    "told nothing": {},
    "spherical": {"clip": "spherical"},
    "told all": {"mean": np.full(D, 3.0), "norm_bound": 9.0},
    "private scales": {"scale": "private"},
    "scales by column": {"scale": [2.0, "private", "private", 1.0]},
    "missing": {"missing": "mean"},
    "scales, missing": {"scale": "private", "missing": "mean"},
    "drift": {"forget": "auto"},
    "no centre": {"center": False},
}


@contextmanager
def same_receipts():
    """Receipts have no chance and no time of their own, so that those of two runs are the same."""
    moment, numbers = datetime(2026, 1, 1, tzinfo=UTC), count()
    with (
        patch.object(chain, "datetime", Mock(now=lambda _: moment)),
        patch("uuid.uuid4", lambda: UUID(int=next(numbers))),
    ):
        yield


def growing(first, adjacency, **parameters):
    """What is audited: two accounts, of which the audited records pay the first or the second."""

    def grow(X, groups):
        told = {"epsilon": 20.0, "adjacency": adjacency, "random_state": 0}
        if groups is None:
            other, names = LATER, None
        else:
            other, names = np.vstack(GROUPS[:40]), np.repeat(np.arange(40), 2)
            told["unit"] = "person"
        terms = {"adjacency": adjacency, "unit": told.get("unit", "row")}
        pca = DPGauss(2, **told | parameters)
        order = [(X, groups), (other, names)]
        with same_receipts():
            for rows, who in order if first else order[::-1]:
                own = PrivacyAccountant(100.0, 1e-5, **terms)
                pca.partial_fit(rows, groups=who, accountant=own)
        return pca

    return grow


def neighbours(adjacency, odd, others=RECORDS, **more):
    """A data set with an odd record; and without, or with another one."""
    data = Data(others, odd, **more)
    other = None if adjacency == "add-remove" else others[0] * 2.0
    return data, [replace(data, odd=other)]


@mostly_slow(
    "way, adjacency, first",
    WAYS,
    ADJACENCIES,
    (True, False),
    quick=[
        ("told nothing", "add-remove", True),
        ("told nothing", "add-remove", False),
        ("scales, missing", "add-remove", False),
        ("drift", "replace-one", False),
    ],
)
def test_neighbours_in_either_cohort_look_alike(way, adjacency, first):
    for odd in ODD.values():
        run = audit(growing(first, adjacency, **WAYS[way]), *neighbours(adjacency, odd))
        assert run.error is None
        assert run.queries


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
@on_both_adjacencies
def test_groups_in_either_cohort_look_alike(adjacency, first):
    odd = np.full((3, D), 1e9)
    run = audit(growing(first, adjacency), *neighbours(adjacency, odd, GROUPS, grouped=True))
    assert run.error is None


@pytest.mark.parametrize("container", ["csr", "float32", "list", "fortran"])
def test_containers_of_the_second_cohort_look_alike(container):
    run = audit(
        growing(False, "add-remove"), *neighbours("add-remove", ODD["long"], container=container)
    )
    assert run.error is None


def spying(monkeypatch, told):
    """A cohort that keeps something of its records."""
    honest = NextCohort.__call__

    def run(self, data):
        release = honest(self, data)
        return replace(release, n_samples=told(data, release))

    monkeypatch.setattr(NextCohort, "__call__", run)


def test_a_cohort_that_tells_its_exact_size_is_convicted(monkeypatch):
    spying(monkeypatch, lambda data, release: float(data.source.private_n))
    with pytest.raises(Leak, match="told"):
        audit(growing(False, "add-remove"), *neighbours("add-remove", ODD["zero"]))


def test_a_cohort_whose_norm_follows_its_records_is_convicted(monkeypatch):
    honest = dp_gauss.release_gram

    def release(data, clip):
        return honest(data, replace(clip, radius=clip.radius * data.source.private_n))

    monkeypatch.setattr(dp_gauss, "release_gram", release)
    with pytest.raises(Leak, match="asked"):
        audit(growing(False, "add-remove"), *neighbours("add-remove", ODD["zero"]))


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_noise_that_is_too_small_is_convicted(monkeypatch, first):
    honest = GaussianQuery.noise_sd.func
    monkeypatch.setattr(GaussianQuery, "noise_sd", property(lambda q: honest(q) / 4))
    with pytest.raises(Leak, match="moved"):
        audit(growing(first, "add-remove"), *neighbours("add-remove", ODD["long"]))
