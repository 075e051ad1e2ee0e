"""A table in pieces that are all in memory: what files and clusters do, and nothing else."""

from itertools import pairwise

import numpy as np

from skdppca.decomposition.tables import ArrayTable
from skdppca.records import CompensatedSum, Pieces, Records


class Chunks(Pieces):
    """Records cut at some row numbers."""

    def __init__(self, X, edges, groups=None, scale=None, may_miss=False):
        more = {"scale": scale, "may_miss": may_miss}
        self._parts = []
        self._n = 0
        for start, stop in pairwise([0, *edges, X.shape[0]]):
            labels = (
                None if groups is None else groups[start:stop] - groups[start : start + 1].sum()
            )
            self._parts.append(Records(X[start:stop], labels, first=self._n, **more))
            self._n += self._parts[-1].private_n
        none = None if groups is None else np.zeros(0, np.intp)
        super().__init__(Records(X[:0], none, **more))

    @property
    def private_n(self):
        return self._n

    @property
    def largest_norm(self):
        return max(part.largest_norm for part in self._parts)

    def _sum(self, question):
        total = CompensatedSum(question.statistic.shape)
        for part in self._parts:
            total.add(question.answer(part))
        return total.result()


class ChunkedTable(ArrayTable):
    """The rows of an array table, cut at some row numbers."""

    def __init__(self, estimator, X, groups=None, edges=()):
        super().__init__(estimator, X, groups)
        self.edges = edges

    def source(self, scale, n_jobs):
        return Chunks(self._X, self.edges, self._labels, scale, self._may_miss)


def fit_chunked(estimator, X, groups=None, edges=()):
    """Fit on the rows of X in pieces."""
    return estimator._fit(lambda seen: ChunkedTable(seen, X, groups, edges))
