"""Rows that overflow are no records of pairs: what an exchange for one does to the sums."""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.noise import NoiseSource
from skdppca.records import Records
from skdppca.statistics import AdjacentDifferences, CountBeyond, KendallMatrix

OVERFLOWS = np.array([0.0, 1e300, 0.0])


class Words(NoiseSource):
    """The first n of the same words, so that common records have common words."""

    def words(self, n):
        return np.random.default_rng(self.seed).integers(2**63, size=n, dtype=np.uint64)

    def __init__(self, seed):
        super().__init__(seed)
        self.seed = seed


def total(asked, X, seed):
    return asked.total(Records.of(X).mean_rows(None).shuffled(Words(seed)))


@pytest.mark.parametrize(
    "asked",
    [
        KendallMatrix(3),
        KendallMatrix(3, offsets=2),
        KendallMatrix(3, radius=2.0),
        CountBeyond(AdjacentDifferences(), 0.1),
    ],
    ids=["complete", "cyclic", "winsorized", "differences"],
)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_row_that_overflows_moves_a_sum_over_pairs_no_further_than_declared(asked, adjacency):
    furthest = 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        others = np.eye(3)[rng.integers(0, 3, size=rng.integers(0, 6))] * rng.choice([1.0, 50.0])
        record = np.eye(3)[rng.integers(0, 3)]
        one = np.vstack([others, OVERFLOWS])
        two = others if adjacency == "add-remove" else np.vstack([others, record])
        moved = float(np.linalg.norm(total(asked, one, seed) - total(asked, two, seed)))
        assert moved <= asked.sensitivity(adjacency) * (1 + 1e-9)
        furthest = max(furthest, moved)
    assert (furthest > 0) == (adjacency == "replace-one")  # who comes as no record moves nothing
