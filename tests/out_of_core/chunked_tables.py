"""A table in pieces that are all in memory: what files and clusters do, and nothing else."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skdppca.decomposition.validation import in_memory
from skdppca.out_of_core.pieces import Pieces, answers
from skdppca.records import Collection, CompensatedSum, Records


@dataclass(frozen=True, eq=False, kw_only=True)
class Chunks(Pieces):
    """Records cut at some row numbers."""

    cut: tuple[Records, ...]

    @classmethod
    def of(cls, X, edges, groups=None, scale=None, may_miss=False):
        more = {"scale": scale, "may_miss": may_miss}
        cut, n = [], 0
        for start, stop in pairwise([0, *edges, X.shape[0]]):
            labels = (
                None if groups is None else groups[start:stop] - groups[start : start + 1].sum()
            )
            cut.append(Records.of(X[start:stop], labels, first=n, **more))
            n += cut[-1].private_n
        none = None if groups is None else np.zeros(0, np.intp)
        return cls(standin=Records.of(X[:0], none, **more), cut=tuple(cut))

    @property
    def private_n(self):
        return sum(part.private_n for part in self.cut)

    def sums(self, questions):
        totals = [CompensatedSum(question.statistic.shape) for question in questions]
        for part in self.cut:
            for total, answer in zip(totals, answers(part, questions), strict=True):
                total.add(answer)
        return [total.result() for total in totals]


def chunked(estimator, X, groups=None, edges=()):
    """The rows of an array table, cut at some row numbers."""
    table = in_memory(estimator, X, groups)

    def read(scale, n_jobs):
        whole = table.read(None, n_jobs)
        order, sizes = whole.members.order, whole.members.sizes
        assert order is None
        labels = None if sizes is None else np.repeat(np.arange(len(sizes)), sizes)
        return Chunks.of(whole.rows.X, edges, labels, scale, whole.rows.may_be_absent)

    return replace(table, read=read)


def fit_chunked(estimator, X, groups=None, edges=()):
    """Fit on the rows of X in pieces."""
    return estimator.fit(Collection(lambda seen, _: chunked(seen, X, groups, edges)))
