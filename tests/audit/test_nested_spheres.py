"""Nested spheres keep DPGauss's promise, and the replay convicts copies that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skdppca import DPGauss
from skdppca.linalg import symmetric_from_upper
from skdppca.noise import GaussianQuery
from skdppca.privacy import epsilon_of
from skdppca.private_data import PrivateData
from skdppca.records import _records
from skdppca.records._dense import DenseRows
from skdppca.records._sums import rows_dots
from skdppca.statistics import ClippedGram

from ..nested import nested
from ..private_data_of import private_data
from .audit import ADJACENCIES, mostly_slow
from .replay import Data, Leak, Run, audit

# Replays of whole fits. The first visits two or three subspaces, the second four.

KINDS = ("dense", "float32", "csr", "groups", "csr groups")
WAYS = {
    "two stages": (30, 2.0, {}),
    "four stages": (47, 0.9, {}),
    "a public mean": (30, 0.8, {"mean": 2.0}),
    "private scales": (30, 1.0, {"scale": "private"}),
    "as many as are seen": (30, 0.6, {"n_components": "auto", "center": False}),
}


def fitting(adjacency, grouped, mu, **parameters):
    told = {"n_components": 2, "epsilon": epsilon_of(mu, 1e-6), "adjacency": adjacency}
    more = {"unit": "person"} if grouped else {}

    def fit(X, groups):
        return DPGauss(random_state=0, **told | more | parameters).fit(X, groups=groups)

    return fit


def records(d, grouped, n=150):
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 4, n) if grouped else np.ones(n, int)
    found = [rng.normal(size=(m, d)) * np.exp(-0.2 * np.arange(d)) + 2 for m in sizes]
    found[3:40] = [found[3]] * 37
    return found


def odd_ones(d, grouped, others):
    mean = np.mean([record[0] for record in others], axis=0, keepdims=True)
    rows = [
        np.zeros((1, d)),
        others[3][:1] * (1 + 2**-52),
        mean,
        np.full((1, d), 5e-324),
        np.full((1, d), -1.7e308),
        1e160 * np.eye(d)[:1],
        1e-160 * np.eye(d)[1:2] + 2,
        -1e4 * mean,
    ]
    return [*rows, np.repeat(rows[-1], 50, axis=0), 9 * np.eye(d)] if grouped else rows


@mostly_slow(
    "way, kind, adjacency",
    WAYS,
    KINDS,
    ADJACENCIES,
    quick=[("four stages", "dense", "add-remove"), ("two stages", "csr groups", "replace-one")],
)
def test_a_fit_is_a_function_of_its_answers(way, kind, adjacency, monkeypatch):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 512)
    monkeypatch.setattr(_records, "SPAN_ROWS", 32)
    (d, seen, parameters), grouped = WAYS[way], "groups" in kind
    if "mean" in parameters:
        parameters = {"mean": np.full(d, 2.0)}
    others = records(d, grouped)
    mu = seen * d / len(others) * (1 if adjacency == "add-remove" else np.sqrt(2))
    odds = odd_ones(d, grouped, others)
    container = kind.removesuffix("groups").strip() or "dense"
    first = Data(others, None if adjacency == "add-remove" else odds[2], container, grouped)
    method = fitting(adjacency, grouped, mu, **parameters)
    run: Run = audit(method, first, [replace(first, odd=odd) for odd in odds])
    assert run.error is None
    names = [query.name for query in run.queries]
    assert names.count("Gram matrix") > 1


def test_every_question_is_asked_somewhere():
    names = set()
    for grouped in (False, True):
        first = Data(records(47, grouped), None, grouped=grouped)
        run = audit(fitting("add-remove", grouped, 0.28), first, [])
        names |= {query.name for query in run.queries}
    assert names >= {"Gram matrix", "centre in the subspace", "length in the subspace"}
    assert names >= {"distances from the centre", "centre", "rows of a group", "number of rows"}


# Records that are orthogonal to a subspace: all that they have there is rounding.


def sums_in_subspaces(X, basis, groups, monkeypatch):
    """The queries and exact sums, where all answers lead into the subspaces of this basis."""
    seen = []

    def answer(query, total, noise):
        if not query.symmetric:
            return np.zeros(total.shape)
        p = query.size
        seen.append((query, symmetric_from_upper(total[np.triu_indices(p)], p)))
        axes = basis if p == len(basis) else np.eye(p)
        return (axes.T * np.arange(p, 0, -1.0)) @ axes

    monkeypatch.setattr(GaussianQuery, "release", answer)
    radius = 1.0 if groups is None else None
    nested(private_data(X, 0.01, groups=groups, n=400.0), 1, 0.01, radius)
    return seen


def moves(sizes, place, monkeypatch, d=60, kind=np.asarray, rows=1):
    """How far one record more moves every sum, over how far it may."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0].T
    one = np.outer(sizes, basis[-1])
    other = np.insert(one, place, one[:1], axis=0)
    sums = []
    for x in (one, other):
        groups = None if rows == 1 else np.repeat(np.arange(len(x)), rows)
        sums.append(sums_in_subspaces(kind(np.repeat(x, rows, axis=0)), basis, groups, monkeypatch))
    return [
        np.linalg.norm(a - b) / query.widened_sensitivity
        for (query, a), (_, b) in zip(*sums, strict=True)
    ]


@pytest.mark.parametrize("n", [1, 7, 396, pytest.param(4097, marks=pytest.mark.slow)])
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize(
    ("kind", "rows"), [(np.asarray, 1), (sparse.csr_array, 1), (np.asarray, 3)]
)
def test_identical_records_orthogonal_to_a_subspace_move_nothing_further(
    n, place, kind, rows, monkeypatch
):
    found = moves(np.ones(n), place, monkeypatch, kind=kind, rows=rows)
    assert len(found) == 4
    assert max(found) <= 1
    assert min(found) > 0.99  # rounding has a direction, and it counts


@pytest.mark.parametrize("sizes", [np.full(9, 1e-300), np.full(9, 1e160), [1e-150, 1.0, 5e-324]])
def test_tiny_and_huge_orthogonal_records_move_nothing_further(sizes, monkeypatch):
    assert max(moves(sizes, 0, monkeypatch)) <= 1


@pytest.mark.parametrize("d", [4, pytest.param(600, marks=pytest.mark.slow)])
def test_orthogonal_records_of_few_or_many_features_move_nothing_further(d, monkeypatch):
    found = moves(np.ones(3), 0, monkeypatch, d=d)
    assert len(found) > 1
    assert max(found) <= 1


@pytest.mark.parametrize("rows", [1, 3])
def test_scores_that_other_records_round_otherwise_are_caught(rows, monkeypatch):
    """As those of a matrix product: BLAS adds terms in one order or another, by where a row is."""

    def scores(block, directions, centre, out):
        step = 1 if len(block.rows) % 2 else -1
        rows, axes = block.centred(centre)[:, ::step], directions[:, ::step]
        out[...] = rows_dots(rows.copy(), axes.copy())

    monkeypatch.setattr(_records, "rounded_directions", np.ascontiguousarray)
    monkeypatch.setattr(DenseRows, "rounded_scores", scores)
    assert max(moves(np.ones(396), 0, monkeypatch, rows=rows)) > 10


def test_directions_that_are_not_scaled_to_norm_1_are_caught(monkeypatch):
    monkeypatch.setattr(ClippedGram, "sensitivity", lambda self, adjacency: 0.7)
    others = records(30, False)
    first = Data(others, None)
    with pytest.raises(Leak, match="moved"):
        audit(fitting("add-remove", False, 0.4), first, [replace(first, odd=-1e4 * others[0])])


def test_exact_centres_in_subspaces_are_caught(monkeypatch):
    honest = PrivateData.projected

    def centred(data, directions):
        scores = honest(data, directions)
        return scores.centred_at(
            scores.source.map(lambda block: block.rows, width=len(directions)).mean(0)
        )

    monkeypatch.setattr(PrivateData, "projected", centred)
    others = records(30, False)
    first = Data(others, None)
    with pytest.raises(Leak, match="asked"):
        audit(fitting("add-remove", False, 0.4), first, [replace(first, odd=others[0])])
