"""The data as records, read block by block."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..noise import KEY_WORDS, NoiseSource, keyed_labels
from ._block import Block, RowBlock
from ._compensated import CompensatedSum
from ._dense import DenseRows, ExplicitRows
from ._groups import DenseGroups, LargeGroup
from ._numbers import aligned_empty
from ._sparse import SparseRows, canonical
from .rounding import MAX_ROWS

__all__ = ["MAX_ROWS", "Layout", "Measurable", "Records"]

# A block stays in the cache of one core.
BLOCK_ENTRIES = 2**17
MIN_BLOCK_ROWS = 128

# Rows of a span (or twice the features, if more), which are summed in plain floating point. The
# sums of spans are added with compensation. It sets the rounding error that a release carries.
SPAN_ROWS = 4096

# Rows that are shifted are held in memory if they are no more entries than that (256 MiB): read,
# cast, put in order and shifted once, not in every pass.
KEPT_ENTRIES = 2**25

# Most measures that are kept, to be asked again; the most numbers a record of a narrow measure. Of
# wider measures only the last is kept.
KEPT_MEASURES, NARROW = 3, 2


class Layout(NamedTuple):
    """How records lie, without a word of what is in them: public, and all that rounding follows.

    Parameters
    ----------
    n_features : int
    is_sparse : bool
        A centre is subtracted in the products rather than from every row.
    is_explicit : bool
        Residuals are formed record by record.
    span_rows : int
        Number of rows that are summed without compensation.
    may_miss : bool
        A NaN is an absent entry, which is read as the entry of what the rows are centred on.
    is_grouped : bool
        A record is a group of rows.
    most : int or None
        No row has more non-zeros (`LargestEntries`).
    floor : int or None
        Rows count interactions, divided by no less than the root of that (`Interactions`).
    """

    n_features: int
    is_sparse: bool = False
    is_explicit: bool = False
    span_rows: int = SPAN_ROWS
    may_miss: bool = False
    is_grouped: bool = False
    most: int | None = None
    floor: int | None = None


class Measurable(Protocol):
    """A number, or a few, of every record: a bitwise function of that record alone."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Its name and the bits of its fields."""

    @property
    def fill(self) -> np.ndarray | None:
        """What an absent entry is read as; None for 0."""

    def width(self, layout: Layout) -> int:
        """Numbers a record; 0 for a single one that is no row of numbers."""

    def needs(self, layout: Layout) -> Measurable | None:
        """The measure that it is computed from besides the block, if there is one."""

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        """The numbers of a block's records."""

    def of_all(self, records: Any) -> np.ndarray | None:
        """The numbers of all records, if they are not found block by block."""


class Records:
    """Records of `X`: its rows, or its groups of rows.

    Everything here is private but `layout`: the number of records is (there is no ``len``), and so
    is what is asked of the rows. `skdppca.private_data.PrivateData` is the one who asks.

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
    may_miss : bool
        NaN is an absent entry. **The record is the filled row**: every absent entry is read as the
        entry of what the rows are centred on at that moment, which is public or was released, so
        the filled row is a function of the record and released numbers, and whatever is proven for
        a row is proven for it.
    first : int
        The number of the first record in the table, of which `X` may be one piece.
    """

    def __init__(
        self,
        X: np.ndarray | sparse.csr_array,
        groups: np.ndarray | None = None,
        scale: np.ndarray | None = None,
        n_jobs: int | None = None,
        explicit: bool = False,
        may_miss: bool = False,
        first: int = 0,
    ) -> None:
        self._X = X
        self._scale = scale
        # What views have enforced on every row; and whether scores have taken the rows' place.
        self._most: int | None = None
        self._floor: int | None = None
        self._replaced = False
        # Whether the rows are less a centre; that centre, if they are not held so in memory.
        self._is_shifted = False
        self._shift: np.ndarray | None = None
        self._may_miss = self._absent = may_miss
        self._measured: OrderedDict[tuple[Any, ...], np.ndarray] = OrderedDict()
        self._n_jobs = n_jobs
        self._explicit = explicit or groups is not None
        self.n_features = X.shape[1]
        self._cycle: np.ndarray | None = None
        # The records' numbers less that of the first; increasing, and None for all from 0 on.
        self._first = first
        self._numbers: np.ndarray | None = None
        # Rows in the order of the records, and rows per record; None: as they stand, one each.
        self._order: np.ndarray | None = None
        self._sizes: np.ndarray | None = None
        if groups is not None:
            self._sizes = np.bincount(groups)
            if np.any(groups[1:] < groups[:-1]):
                self._order = np.argsort(groups, kind="stable")

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_measured": OrderedDict()}

    def _derived(self) -> Any:
        """A copy to be changed. What was measured is of these records, and so is their cycle."""
        records = copy.copy(self)
        records._measured, records._cycle = OrderedDict(), None
        return records

    @property
    def layout(self) -> Layout:
        """Public; all that the rounding of a total may depend on."""
        return Layout(
            n_features=self.n_features,
            is_sparse=self.is_sparse,
            is_explicit=self._explicit,
            span_rows=self.span_rows,
            may_miss=self._may_miss,
            is_grouped=self._sizes is not None,
            most=self._most,
            floor=self._floor,
        )

    def total(self, statistic: Any) -> np.ndarray:
        """The exact sum of a statistic, for `PrivateData` only."""
        statistic.check(self.layout)
        return statistic.total(self)

    def through(self, view: Any) -> Any:
        """The records through a view; see `skdppca.statistics.View`."""
        return view.of(self)

    @property
    def private_n(self) -> int:
        """The exact number of records."""
        if self._sizes is not None:
            return len(self._sizes)
        return self._X.shape[0] if self._order is None else len(self._order)

    @property
    def largest_norm(self) -> float:
        """Of all rows, about 0; exact and private."""
        return float(self.ungrouped().map(lambda block: block.distances(None)).max(initial=0.0))

    @property
    def private_sizes(self) -> np.ndarray:
        """The exact number of rows of every record."""
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
        records = self._derived()
        records._explicit = True
        return records

    def scaled(self, scale: np.ndarray) -> Records:
        """The same records, every feature divided by a scale that is public or was released."""
        self._check_not_shifted()
        records = self._derived()
        records._scale = scale if self._scale is None else self._scale * scale
        return records

    def shifted(self, centre: np.ndarray) -> Records:
        """The same records less a centre that is public or was released; dense ones only.

        Absent entries are 0 from then on. How many rows there are decides whether they are held in
        memory, and nothing else: to the bit, the records are the same.
        """
        if self.is_sparse:
            raise TypeError("sparse rows are never shifted; their centre is left to the products")
        self._check_not_shifted()
        total = len(self._order) if self._order is not None else self._X.shape[0]
        if total * self.n_features > KEPT_ENTRIES:
            records = self._derived()
            records._is_shifted, records._may_miss, records._shift = True, False, centre
            records._absent = self._may_miss
            records._most, records._floor = None, None if centre.any() else self._floor
            return records
        rows, step = np.empty((total, self.n_features)), self._block_rows
        copied = self._scratch(step)
        with np.errstate(all="ignore"):  # a row that overflows gets weight 0
            for start in range(0, total, step):
                where = slice(start, min(start + step, total))
                np.subtract(self._dense_rows(where, copied, centre), centre, out=rows[where])
        records = Records(rows, n_jobs=self._n_jobs, explicit=self._explicit, first=self._first)
        records._sizes, records._is_shifted = self._sizes, True
        records._numbers = self._numbers
        records._floor = None if centre.any() else self._floor
        return records

    def _check_not_shifted(self) -> None:
        if self._is_shifted:
            raise TypeError("rows are scaled or changed before they are shifted, never after")

    def ungrouped(self) -> Records:
        """Every row of the records as a record of its own, in the order in which they stand."""
        records = self._derived()
        records._sizes = records._numbers = None  # rows are not put into parts, records are
        if self._order is not None:
            every = len(self._order) == self._X.shape[0]
            records._order = None if every else np.sort(self._order)
        return records

    def assign(self, shares: Sequence[int], noise: NoiseSource) -> list[Records]:
        """Disjoint parts: every record draws its own, part i with probability ``shares[i] / sum``.

        The draw looks neither at the data nor at the other records, so under both notions of
        neighbours one record changes one part, and no other record changes its part.
        """
        parts = self._parts(noise.words(KEY_WORDS).tobytes(), shares)
        return [self._subset(parts == i) for i in range(len(shares))]

    def part(self, key: bytes, shares: Sequence[int], index: int) -> Records:
        """One of the parts that `assign` makes with a key, and the others are not made."""
        return self._subset(self._parts(key, shares) == index)

    def _parts(self, key: bytes, shares: Sequence[int]) -> np.ndarray:
        """The part of every record: a function of the key and of the record's number."""
        numbers = self._numbers
        if numbers is None:
            labels = keyed_labels(key, self._first, self.private_n, sum(shares))
        else:
            last = int(numbers[-1]) + 1 if len(numbers) else 0
            labels = keyed_labels(key, self._first, last, sum(shares))[numbers]
        return np.searchsorted(np.cumsum(shares), labels, side="right")

    def shuffled(self, noise: NoiseSource) -> Records:
        """The same records in a random cyclic order: every one draws a word, and they are sorted.

        The draw looks at no data. Couple the draws of neighbours so that common records have common
        words: then one record more is inserted at one place, and the order of the others stays.
        Ties go by position, which does not change that.
        """
        records = self._derived()
        records._cycle = np.argsort(noise.words(self.private_n), kind="stable")
        return records

    @property
    def private_cycle(self) -> np.ndarray:
        """The numbers of the records in the cyclic order that was drawn."""
        if self._cycle is None:
            raise TypeError("these records are in no cyclic order; put them into one by shuffled()")
        return self._cycle

    def _subset(self, keep: np.ndarray) -> Records:
        records = self._derived()
        numbers = np.arange(self.private_n) if self._numbers is None else self._numbers
        records._numbers = numbers[keep]
        if self._sizes is None:
            rows = keep
        else:
            rows = np.repeat(keep, self._sizes)
            records._sizes = self._sizes[keep]
        records._order = np.flatnonzero(rows) if self._order is None else self._order[rows]
        return records

    def scores(self, directions: np.ndarray, centre: np.ndarray | None) -> Records:
        """The same records; their features are the products of their rows with the directions."""
        rows = self._derived()  # of all of X, in its order, whichever of them the records are
        rows._order = rows._sizes = None
        out = np.empty((self._X.shape[0], len(directions)))

        def work(spans: list[slice]) -> None:
            for where, block in rows._blocks(spans, centre):
                out[where] = cast(RowBlock, block).scores(directions, centre)

        rows._share(work)
        records = self._derived()
        records._X, records.n_features = out, len(directions)
        records._replaced = True
        records._scale = records._shift = records._most = records._floor = None
        records._may_miss = records._absent = records._is_shifted = False
        return records

    @property
    def span_rows(self) -> int:
        """How many rows are summed without compensation; public."""
        return max(SPAN_ROWS, 2 * self.n_features)

    def map(
        self,
        f: Callable[..., np.ndarray],
        *given: np.ndarray,
        width: int = 0,
        fill: np.ndarray | None = None,
    ) -> np.ndarray:
        """``f(block, *(x[block] for x in given))`` of every block, in the order of the records.

        One number a record, or a row of `width` numbers. Absent entries are read as those of
        `fill`.
        """
        out = np.empty((self.private_n, width) if width else self.private_n)

        def work(spans: list[slice]) -> None:
            for where, block in self._blocks(spans, fill):
                out[where] = f(block, *(numbers[where] for numbers in given))

        self._share(work)
        return out

    def measured(self, measure: Measurable) -> np.ndarray:
        """The numbers of all records. The last few measures are kept."""
        key = measure.key
        if key in self._measured:
            self._measured.move_to_end(key)
            return self._measured[key]
        numbers = measure.of_all(self)
        if numbers is None:
            needed, width = measure.needs(self.layout), measure.width(self.layout)
            given = () if needed is None else (self.measured(needed),)
            if width > NARROW:  # as long as the data: the last such gives way
                for other in [k for k, kept in self._measured.items() if _width(kept) > NARROW]:
                    del self._measured[other]
            numbers = self.map(
                lambda block, *known: measure.of(block, *known or (None,)),
                *given,
                width=width,
                fill=measure.fill,
            )
        self._measured[key] = numbers
        while len(self._measured) > KEPT_MEASURES:
            self._measured.popitem(last=False)
        return numbers

    def accumulate(
        self,
        measure: Measurable,
        f: Callable[[np.ndarray, Block, np.ndarray], None],
        shape: tuple[int, ...],
        explicit: bool = False,
    ) -> np.ndarray:
        """Sum over records: ``f(out, block, measure of the block)`` adds a block into ``out``.

        What was not measured before is measured in the same pass.

        Parameters
        ----------
        explicit : bool
            Sum over explicit blocks; the records are measured as they are.
        """
        others = explicit and not self._explicit
        if others or measure.key in self._measured:
            numbers = self.measured(measure)
            records = self.explicit() if others else self
            return records.fold(f, shape, numbers, fill=measure.fill)
        needed = measure.needs(self.layout)
        given = None if needed is None else self.measured(needed)
        return self.fold(
            lambda out, block, known: f(out, block, measure.of(block, known)),
            shape,
            given,
            fill=measure.fill,
        )

    def fold(
        self,
        f: Callable[[np.ndarray, Block, Any], None],
        shape: tuple[int, ...],
        weights: np.ndarray | None = None,
        fill: np.ndarray | None = None,
    ) -> np.ndarray:
        """Sum over records: ``f(out, block, weights of the block)`` adds a block into ``out``.

        Absent entries are read as those of `fill`.
        """

        def work(spans: list[slice]) -> CompensatedSum:
            total = CompensatedSum(shape)
            for span in spans:
                part = np.zeros(shape, order="F")
                for where, block in self._blocks([span], fill):
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

    def _blocks(
        self, spans: list[slice], fill: np.ndarray | None = None
    ) -> Iterator[tuple[slice, Block]]:
        rows = self._block_rows
        if self._sizes is not None:
            yield from self._group_blocks(spans, rows, fill)
        elif self.is_sparse:
            for span in spans:
                yield span, SparseRows(self._sparse_rows(span, fill))
        else:
            scratch, copied = self._scratch(rows), self._scratch(rows)
            kind = ExplicitRows if self._explicit else DenseRows
            for span in spans:
                for start in range(span.start, span.stop, rows):
                    where = slice(start, min(start + rows, span.stop))
                    yield where, kind(self._dense_rows(where, copied, fill), scratch)

    def _group_blocks(
        self, spans: list[slice], rows: int, fill: np.ndarray | None
    ) -> Iterator[tuple[slice, Block]]:
        all_sizes = self.private_sizes
        stops = np.cumsum(all_sizes)
        scratch, copied = self._scratch(rows), self._scratch(rows)

        def gather(start: int, stop: int) -> np.ndarray:
            return self._dense_rows(slice(start, stop), copied, fill)

        def parts(start: int, stop: int) -> Iterator[DenseRows]:
            for a in range(start, stop, rows):
                yield DenseRows(gather(a, min(a + rows, stop)), scratch)

        for span in spans:
            first = span.start
            while first < span.stop:
                start = int(stops[first] - all_sizes[first])
                last = int(np.searchsorted(stops[: span.stop], start + rows, "right"))
                if last > first:
                    sizes = all_sizes[first:last]
                    block: Block = DenseGroups(gather(start, int(stops[last - 1])), sizes, scratch)
                else:
                    last, stop = first + 1, int(stops[first])
                    block = LargeGroup(partial(parts, start, stop), stop - start)
                yield slice(first, last), block
                first = last

    @property
    def _block_rows(self) -> int:
        return max(MIN_BLOCK_ROWS, BLOCK_ENTRIES // self.n_features)

    def _scratch(self, rows: int) -> np.ndarray:
        return aligned_empty(rows, self.n_features + 1)

    def _rows(self, where: slice, fill: np.ndarray | None = None) -> np.ndarray | sparse.csr_array:
        """Rows as they are given, absent entries filled: in units of X, so before any scale."""
        rows = self._X[where if self._order is None else self._order[where]]
        if not self._absent:
            return rows
        _, values = self._filling(fill)
        if sparse.issparse(rows):
            rows = canonical(rows)
            absent = np.isnan(rows.data)
            rows.data[absent] = values[rows.indices[absent]]
            return rows
        return np.where(np.isnan(rows), values, rows)

    def _filling(self, fill: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """What an absent entry is read as, and the same in units of X."""
        fill = fill if self._shift is None else self._shift
        values = np.zeros(self.n_features) if fill is None else fill
        return values, values if self._scale is None else values * self._scale

    def _dense_rows(
        self, where: slice, copied: np.ndarray, fill: np.ndarray | None = None
    ) -> np.ndarray:
        """The rows as C-contiguous float64, divided by the scale; X's own memory if it can be."""
        rows = self._rows(where, fill)
        if sparse.issparse(rows):
            rows = canonical(rows).toarray()
        as_it_is = self._scale is None and self._shift is None
        if as_it_is and rows.dtype == np.float64 and rows.flags.c_contiguous:
            return np.asarray(rows)
        out = copied.ravel()[: rows.size].reshape(rows.shape)
        out[...] = rows
        if self._scale is not None:
            out /= self._scale
            if self._absent:  # exactly, or a blank row would have the direction of rounding errors
                values, given = self._filling(fill)
                np.copyto(out, values, where=rows == given)
        if self._shift is not None:
            out -= self._shift
        return out

    def _sparse_rows(self, where: slice, fill: np.ndarray | None = None) -> sparse.csr_array:
        rows = canonical(self._rows(where, fill))
        if self._scale is not None:
            given, at = rows.data.copy(), rows.indices
            rows.data /= self._scale[at]
            if self._absent:  # likewise
                values, filled = self._filling(fill)
                np.copyto(rows.data, values[at], where=given == filled[at])
        return rows


def _width(numbers: np.ndarray) -> int:
    return 1 if numbers.ndim == 1 else numbers.shape[1]
