"""Records behind a budget, as methods hold them, and the exact sums that they ask for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from skdppca.linalg import symmetric_from_upper
from skdppca.mechanisms.norm_histogram import NormHistogram, norm_histogram
from skdppca.noise import GaussianQuery, NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records
from skdppca.statistics import Measure, Statistic

ADJACENCIES = ["add-remove", "replace-one"]
on_both_adjacencies = pytest.mark.parametrize("adjacency", ADJACENCIES)


def private_data(
    X: Any,
    mu: float = 1.0,
    *,
    groups: np.ndarray | None = None,
    adjacency: str = "add-remove",
    seed: int = 0,
    may_miss: bool = False,
    **more: Any,
) -> PrivateData:
    """Rows or groups of rows; under replace-one their number is public.

    Parameters
    ----------
    X : Records or what they are made of
    mu : float
        The budget.
    **more : Any
        Other fields of `PrivateData`. By default the centre is 0, and n is not known.
    """
    records = X if isinstance(X, Records) else Records.of(X, groups, may_miss=may_miss)
    public = Public(
        n_features=records.n_features,
        adjacency=adjacency,
        unit="row" if groups is None else "person",
        is_sparse=sparse.issparse(records.rows.X),
        n_records=None if adjacency == "add-remove" else records.private_n,
    )
    told = {"budget": PrivacyFilter(mu), "centre": np.zeros(records.n_features)} | more
    return PrivateData(records, public, noise=NoiseSource(seed), **told)


def names(data: PrivateData) -> list[str]:
    """The questions that were paid for, in their order."""
    return [query.name for query in data.budget.queries]


def cost(data: PrivateData) -> float:
    """What they cost together, in mu^2."""
    return math.fsum(query.mu**2 for query in data.budget.queries)


def exact_sums(monkeypatch: Any, answer: float = 0.0) -> list[tuple[GaussianQuery, np.ndarray]]:
    """The queries and exact sums of all that is asked from now on, all of it answered alike."""
    seen: list[tuple[GaussianQuery, np.ndarray]] = []

    def spy(query: GaussianQuery, total: np.ndarray, noise: NoiseSource) -> np.ndarray:
        total = np.asarray(total)
        if query.symmetric:  # the lower triangle is not read
            total = symmetric_from_upper(total[np.triu_indices(query.size)], query.size)
        seen.append((query, total))
        return np.full(total.shape, answer)

    monkeypatch.setattr(GaussianQuery, "release", spy)
    return seen


def asked_sum(
    sums: list[tuple[GaussianQuery, np.ndarray]], statistic: Statistic, X: Any, **more: Any
) -> tuple[GaussianQuery, np.ndarray]:
    """The query and the exact sum of one statistic; see `exact_sums` and `private_data`."""
    private_data(X, **more).ask(statistic)
    return sums.pop()


def hidden(
    data: PrivateData, measure: Measure, mu: float, name: str
) -> tuple[PrivateData, NormHistogram]:
    """Ask as `seen_norms` does, and see nothing, in place of it."""
    return replace(data, unseen=True), norm_histogram(data, measure, mu, name)


def filled(X: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The rows with every absent entry replaced by its feature's value."""
    return np.where(np.isnan(X), values, X)
