"""The data as records, read block by block."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..noise import NoiseSource
from ._block import Block
from ._dense import DenseRows, ExplicitRows
from ._groups import DenseGroups, LargeGroup
from ._sparse import SparseRows, canonical

# The declared domain: the rounding errors of the sums are bounded for at most so many rows.
MAX_ROWS = 2**30

# A block stays in the cache of one core.
BLOCK_ENTRIES = 2**17
MIN_BLOCK_ROWS = 128

# So many rows (or twice the features, if more) are summed in plain floating point; the sums of
# such spans are then added with compensation. It sets the rounding error that a release carries.
SPAN_ROWS = 4096


class Records:
    """Records of `X`: its rows, or its groups of rows.

    The number of records is private: there is no ``len``. Mechanisms may read `private_n` and
    must treat it as they treat the rows.

    Parameters
    ----------
    X : ndarray, memmap or CSR array of shape (n_rows, n_features)
        Any real dtype and memory order. It is cast to float64 block by block and never written.
    groups : ndarray of int of shape (n_rows,), optional
        The group of every row, as integers from 0. Rows of a group keep their order.
    scale : ndarray of shape (n_features,), optional
        Public; every feature is divided by it.
    n_jobs : int, optional
        Threads that share the blocks.
    explicit : bool
        Leave nothing to products: sparse rows are given as dense blocks, so that a centre is
        subtracted from every row exactly, and residuals are formed record by record.
    """

    def __init__(
        self,
        X: np.ndarray | sparse.csr_array,
        groups: np.ndarray | None = None,
        scale: np.ndarray | None = None,
        n_jobs: int | None = None,
        explicit: bool = False,
    ) -> None:
        self._X = X
        self._scale = scale
        self._n_jobs = n_jobs
        self._explicit = explicit or groups is not None
        self.n_features = X.shape[1]
        # Rows in the order of the records, and rows per record; None: as they stand, one each.
        self._order = self._sizes = None
        if groups is not None:
            self._sizes = np.bincount(groups)
            if np.any(groups[1:] < groups[:-1]):
                self._order = np.argsort(groups, kind="stable")

    @property
    def private_n(self) -> int:
        """The exact number of records, for mechanisms only."""
        if self._sizes is not None:
            return len(self._sizes)
        return self._X.shape[0] if self._order is None else len(self._order)

    @property
    def private_sizes(self) -> np.ndarray:
        """The exact number of rows of every record, for mechanisms only."""
        return np.ones(self.private_n, np.intp) if self._sizes is None else self._sizes

    @property
    def is_sparse(self) -> bool:
        """Whether a centre is subtracted in the products rather than from every row."""
        return sparse.issparse(self._X) and not self._explicit

    @property
    def is_explicit(self) -> bool:
        """Whether residuals are formed record by record."""
        return self._explicit

    def explicit(self) -> Records:
        """The same records with nothing left to products."""
        records = copy.copy(self)
        records._explicit = True
        return records

    def scaled(self, scale: np.ndarray) -> Records:
        """The same records, every feature divided by a scale that is public or was released."""
        records = copy.copy(self)
        records._scale = scale if self._scale is None else self._scale * scale
        return records

    def ungrouped(self) -> Records:
        """Every row as a record of its own, in the order in which they stand."""
        records = copy.copy(self)
        records._order = records._sizes = None
        return records

    def assign(self, shares: Sequence[int], noise: NoiseSource) -> list[Records]:
        """Disjoint parts: every record draws its own, part i with probability ``shares[i] / sum``.

        The draw looks neither at the data nor at the other records, so under both notions of
        neighbours one record changes one part, and no other record changes its part.
        """
        labels = noise.labels(self.private_n, sum(shares))
        part = np.searchsorted(np.cumsum(shares), labels, side="right")
        return [self._subset(part == i) for i in range(len(shares))]

    def _subset(self, keep: np.ndarray) -> Records:
        records = copy.copy(self)
        if self._sizes is None:
            rows = keep
        else:
            rows = np.repeat(keep, self._sizes)
            records._sizes = self._sizes[keep]
        records._order = np.flatnonzero(rows) if self._order is None else self._order[rows]
        return records

    def scores(self, directions: np.ndarray, centre: np.ndarray | None) -> Records:
        """The same records with the products of their rows with so many directions as features."""
        rows = self.ungrouped()
        out = np.empty((self._X.shape[0], len(directions)))

        def work(spans: list[slice]) -> None:
            for where, block in rows._blocks(spans):
                out[where] = block.scores(directions, centre)

        rows._share(work)
        records = copy.copy(self)
        records._X, records._scale, records.n_features = out, None, len(directions)
        return records

    @property
    def span_rows(self) -> int:
        """How many rows are summed without compensation; public."""
        return max(SPAN_ROWS, 2 * self.n_features)

    def map(self, f: Callable[..., np.ndarray], *given: np.ndarray, width: int = 0) -> np.ndarray:
        """``f(block, *(x[block] for x in given))`` of every block, in the order of the records.

        One number a record, or a row of `width` numbers.
        """
        out = np.empty((self.private_n, width) if width else self.private_n)

        def work(spans: list[slice]) -> None:
            for where, block in self._blocks(spans):
                out[where] = f(block, *(numbers[where] for numbers in given))

        self._share(work)
        return out

    def fold(
        self,
        f: Callable[[np.ndarray, Block, np.ndarray | None], None],
        shape: tuple[int, ...],
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Sum over records: ``f(out, block, weights of the block)`` adds a block into ``out``."""

        def work(spans: list[slice]) -> _CompensatedSum:
            total = _CompensatedSum(shape)
            for span in spans:
                part = np.zeros(shape, order="F")
                for where, block in self._blocks([span]):
                    f(part, block, None if weights is None else weights[where])
                total.add(part)
            return total

        first, *others = self._share(work)
        for other in others:
            first.add(other.total)
            first.add(other.correction)
        return first.result()

    def _share(self, work: Callable[[list[slice]], object]) -> list:
        """Run `work` on shares of all spans, a thread each.

        Rows that overflow get weight 0; a warning would tell of them.
        """

        def quietly(spans: list[slice]) -> object:
            with np.errstate(all="ignore"):
                return work(spans)

        spans = self._spans()
        jobs = effective_n_jobs(self._n_jobs)
        if jobs <= 1:
            return [quietly(spans)]
        # For a single span too: how many threads BLAS has changes the last bits of a group's norm.
        with threadpool_limits(limits=1, user_api="blas"):
            jobs = max(1, min(jobs, len(spans)))
            shares = (delayed(quietly)(spans[i::jobs]) for i in range(jobs))
            return Parallel(n_jobs=jobs, backend="threading")(shares)

    def _spans(self) -> list[slice]:
        """Slices of records (not rows) of about `span_rows` rows each."""
        n, rows = self.private_n, self.span_rows
        if not n:
            return []
        if self._sizes is None:
            edges = np.arange(0, n, rows)
        else:
            stops = np.cumsum(self._sizes)
            edges = np.unique(np.searchsorted(stops, np.arange(0, stops[-1], rows), "right"))
        return [slice(int(a), int(b)) for a, b in zip(edges, [*edges[1:], n], strict=True)]

    def _blocks(self, spans: list[slice]) -> Iterator[tuple[slice, Block]]:
        rows = max(MIN_BLOCK_ROWS, BLOCK_ENTRIES // self.n_features)
        if self._sizes is not None:
            yield from self._group_blocks(spans, rows)
        elif self.is_sparse:
            for span in spans:
                yield span, SparseRows(self._sparse_rows(span))
        else:
            scratch, cast = self._scratch(rows), self._scratch(rows)
            kind = ExplicitRows if self._explicit else DenseRows
            for span in spans:
                for start in range(span.start, span.stop, rows):
                    where = slice(start, min(start + rows, span.stop))
                    yield where, kind(self._dense_rows(where, cast), scratch)

    def _group_blocks(self, spans: list[slice], rows: int) -> Iterator[tuple[slice, Block]]:
        stops = np.cumsum(self._sizes)
        scratch, cast = self._scratch(rows), self._scratch(rows)

        def gather(start: int, stop: int) -> np.ndarray:
            return self._dense_rows(slice(start, stop), cast)

        def parts(start: int, stop: int) -> Iterator[DenseRows]:
            for a in range(start, stop, rows):
                yield DenseRows(gather(a, min(a + rows, stop)), scratch)

        for span in spans:
            first = span.start
            while first < span.stop:
                start = int(stops[first] - self._sizes[first])
                last = int(np.searchsorted(stops[: span.stop], start + rows, "right"))
                if last > first:
                    sizes = self._sizes[first:last]
                    block = DenseGroups(gather(start, int(stops[last - 1])), sizes, scratch)
                else:
                    last, stop = first + 1, int(stops[first])
                    block = LargeGroup(lambda a=start, b=stop: parts(a, b), stop - start)
                yield slice(first, last), block
                first = last

    def _scratch(self, rows: int) -> np.ndarray:
        return np.empty((rows, self.n_features + 1))

    def _rows(self, where: slice) -> np.ndarray | sparse.csr_array:
        return self._X[where if self._order is None else self._order[where]]

    def _dense_rows(self, where: slice, cast: np.ndarray) -> np.ndarray:
        """The rows as C-contiguous float64, divided by the scale; X's own memory if it can be."""
        rows = self._rows(where)
        if sparse.issparse(rows):
            rows = canonical(rows).toarray()
        if self._scale is None and rows.dtype == np.float64 and rows.flags.c_contiguous:
            return np.asarray(rows)
        out = cast.ravel()[: rows.size].reshape(rows.shape)
        out[...] = rows
        if self._scale is not None:
            out /= self._scale
        return out

    def _sparse_rows(self, where: slice) -> sparse.csr_array:
        rows = canonical(self._rows(where))
        if self._scale is not None:
            rows.data /= self._scale[rows.indices]
        return rows


class _CompensatedSum:
    """A sum of arrays whose rounding error does not grow with their number (Neumaier)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.total = np.zeros(shape, order="F")
        self.correction = np.zeros(shape, order="F")

    def add(self, part: np.ndarray) -> None:
        total = self.total + part
        rounded = total - self.total
        self.correction += (self.total - (total - rounded)) + (part - rounded)
        self.total = total

    def result(self) -> np.ndarray:
        return self.total + self.correction
