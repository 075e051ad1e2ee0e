"""The data as records, read block by block."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from scipy import sparse

from ..noise import KEY_WORDS, NoiseSource
from ._dense import DenseRows, ExplicitRows
from ._groups import DenseGroups, LargeGroup
from ._rows import Change, Members, Rows, SquaredDeviations
from ._sparse import SparseRows
from ._sums import FEW_DIRECTIONS, CompensatedSum, Pair, Scratch, on_row_grids, rounded_directions
from .machine import PassThreads, side_by_side
from .sources import SPAN_ROWS, Layout, Measure, MeasureCache, Source, Step

# A block stays in the cache of one core.
BLOCK_ENTRIES = 2**18
MIN_BLOCK_ROWS = 128

# Where threads share a pass, what is found of every row is found of that many blocks in one go:
# Python's lock then changes hands half as often. Sums are formed block by block as ever. On 1e6 x
# 100 rows KDPPCA took 3.4 s for 3.8, DPGauss .61 for .66, on 1e5 x 100 KDPPCA .37 for .43; longer
# ones gained nothing more.
BLOCKS_AT_ONCE = 2
# Several spans of rows with few columns are as long as one block: on 1e6 x 10 rows PrivatePCA took
# .43 s for .72 with two threads, and .53 for .60 with one. Numbers per record take room as well, so
# no row counts as less than that many columns.
LEAST_COLUMNS = 8

# A block that is multiplied by more than a few directions has that many rows at least: for every
# block BLAS reads all directions anew. On 20 000 x 2000 rows and 1400 directions blocks of 128 rows
# took 1.07 s, of 512 .98 s, of 2048 .96 s.
LONG_BLOCK_ROWS = 512

# Rows that are shifted are held in memory if they are no more entries than that (256 MiB): read,
# cast, put in order and shifted once, not in every pass.
KEPT_ENTRIES = 2**25

# The most entries of a matrix that is kept, to be asked again (64 MiB).
KEPT_MATRIX_ENTRIES = 2**23


# A block of records, with one weight a record in the sums; `DenseRows` says what each method gives.
RowBlock = DenseRows | SparseRows
Block = RowBlock | DenseGroups | LargeGroup

# Copies of rows as the table has them, before any scale, in their order; and which of them are
# which record, with the records' numbers in the whole table, from which random labels follow.
Gathered = tuple[Any, Members]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Records(Source):
    """Records that are all here: rows, or groups of rows.

    Everything here is private but `layout`: the number of records is (there is no ``len``), and so
    is what is asked of the rows. `skdppca.private_data.PrivateData` is the one who asks.

    Parameters
    ----------
    rows : Rows
        How rows are read.
    members : Members
        Which of them are which record.
    threads : PassThreads
        They share the blocks of a pass. A sum may have other last bits with another number of them,
        within its rounding bound.
    is_explicit : bool
        Nothing is left to products: sparse rows are given as dense blocks, so that a centre is
        subtracted from every row exactly, and residuals are formed record by record.
    cycle : ndarray of int or None
        The numbers of the records in the cyclic order that was drawn.
    cache : MeasureCache
        Measures of these records.
    scratch : Scratch
        Buffers of these records and of all that are derived from them.
    """

    rows: Rows
    members: Members
    threads: PassThreads
    is_explicit: bool = False
    cycle: np.ndarray | None = None
    cache: MeasureCache = field(default_factory=MeasureCache, repr=False)
    scratch: Scratch = field(default_factory=Scratch, repr=False)

    @classmethod
    def of(
        cls,
        X: np.ndarray | sparse.csr_array,
        groups: np.ndarray | None = None,
        scale: np.ndarray | None = None,
        n_jobs: int | None = None,
        explicit: bool = False,
        may_miss: bool = False,
        first: int = 0,
    ) -> Records:
        """Records of `X`: its rows, or its groups of rows.

        Parameters
        ----------
        X : ndarray, memmap or CSR array of shape (n_rows, n_features)
            Any real dtype and memory order. It is cast to float64 block by block and never written.
        groups : ndarray of int of shape (n_rows,), optional
            The group of every row, as integers from 0. Rows of a group keep their order.
        scale : ndarray of shape (n_features,), optional
            Public; every feature is divided by it.
        n_jobs : int or None
            See `PassThreads.of`.
        explicit : bool
            See `Records`.
        may_miss : bool
            NaN is an absent entry. **The record is the filled row**: every absent entry is read as
            the entry of what the rows are centred on at that moment, which is public or was
            released, so the filled row is a function of the record and released numbers, and
            whatever is proven for a row is proven for it.
        first : int
            The number of the first record in the table, of which `X` may be one piece.
        """
        n_rows, n_features = X.shape
        return cls(
            rows=Rows(X, scale, may_miss),
            members=Members.of(n_rows, groups, first),
            threads=PassThreads.of(n_jobs, n_rows, n_features, groups is not None),
            is_explicit=explicit or groups is not None,
        )

    def _derived(self, **changes: Any) -> Records:
        """Return a copy with changes, without the cached measures and, by default, the cycle."""
        return replace(self, cache=MeasureCache(), **({"cycle": None} | changes))

    @cached_property
    def layout(self) -> Layout:
        """Public; all that the rounding of a total may depend on."""
        d = self.rows.n_features
        return Layout(
            n_features=d,
            is_sparse=self.is_sparse,
            is_explicit=self.is_explicit,
            span_rows=max(SPAN_ROWS, 2 * d),
            may_miss=self.rows.may_miss,
            is_grouped=self.members.sizes is not None,
            most=self.rows.most,
            floor=self.rows.floor,
        )

    @property
    def n_features(self) -> int:
        """The number of features of the rows as they are seen."""
        return self.layout.n_features

    def total(self, statistic: Any) -> np.ndarray:
        """The exact sum of a statistic, for `PrivateData` only."""
        statistic.check(self.layout)
        if not statistic.symmetric or statistic.shape[0] ** 2 > KEPT_MATRIX_ENTRIES:
            return np.asarray(statistic.total(self))
        # a matrix that is asked for again, with other noise, is not summed again
        if self.cache.matrix is None or self.cache.matrix[0] != statistic.key:
            self.cache.matrix = None  # before another one is made
            self.cache.matrix = statistic.key, statistic.total(self)
        return self.cache.matrix[1].copy(order="K")

    def through(self, view: Step) -> Records:
        """The records through a view; see `skdppca.statistics.View`."""
        return view.of(self)

    @property
    def private_n(self) -> int:
        """The exact number of records."""
        return self.members.n

    @property
    def private_sizes(self) -> np.ndarray:
        """The exact number of rows of every record."""
        sizes = self.members.sizes
        return np.ones(self.private_n, np.intp) if sizes is None else sizes

    @property
    def is_sparse(self) -> bool:
        """True if a centre is subtracted in the products rather than from every row."""
        return sparse.issparse(self.rows.X) and not self.is_explicit

    def whole(self, what: str) -> Records:
        """All records, for what is no sum over them."""
        return self

    def explicit(self) -> Records:
        """Return the records with every residual formed record by record."""
        return self._derived(is_explicit=True)

    def scaled(self, scale: np.ndarray) -> Records:
        """Return the records with features divided by a scale that is public or was released."""
        return self._derived(rows=self.rows.scaled(scale))

    def changed(self, change: Change) -> Records:
        """Return the records with every row changed by itself before it is scaled."""
        return self._derived(rows=self.rows.changed(change, self.rows.scale))

    def squared_deviations(self, centre: np.ndarray, unit: np.ndarray) -> Records:
        """``((x - centre) / unit)^2`` of every entry; sparse about 0, else in dense blocks.

        Centre and unit are public or were released. An absent entry is read as the centre's: 0.
        """
        scale = np.ones(self.n_features) if self.rows.scale is None else self.rows.scale
        explicit = self.is_explicit or bool(centre.any())
        squares = SquaredDeviations(centre, unit, scale, explicit, self.rows.may_miss)
        return self._derived(rows=self.rows.changed(squares, None), is_explicit=explicit)

    def shifted(self, centre: np.ndarray, rounded: bool = True) -> Records:
        """Return the records less a centre that is public or was released; dense ones only.

        Absent entries are 0 from then on. Single rows are rounded to their grids, if that is asked.
        How many rows there are decides whether they are held in memory, and nothing else: to the
        bit, the records are the same.
        """
        if self.is_sparse:
            raise TypeError("sparse rows are never shifted; their centre is left to the products")
        total, rounded = self.members.n_taken, rounded and not self.is_explicit
        if total * self.n_features > KEPT_ENTRIES:
            return self._derived(rows=self.rows.shifted(centre, None, rounded))
        held, step = np.empty((total, self.n_features)), self._rows_at_once

        def work(spans: list[slice]) -> None:
            scratch = self.scratch.pair(step, self.n_features + 1)
            # a row that overflows gets weight 0
            with scratch as (copied, _), np.errstate(all="ignore"):
                for where in _steps(self._stretches(spans), step):
                    read = self.rows.read_dense(self.members.rows(where), copied, centre)
                    np.subtract(read, centre, out=held[where])
                    if rounded:
                        on_row_grids(held[where])

        list(self._run(work, self._shares(Members(total))))
        rows = self.rows.shifted(centre, held, rounded)
        return self._derived(rows=rows, members=self.members.in_order())

    def ungrouped(self) -> Records:
        """Every row of the records as a record of its own, in the order in which they stand."""
        return self._derived(members=self.members.ungrouped())

    def mean_rows(self, imputed: np.ndarray | None) -> Records:
        """Every record's row, or its mean row if it is a group, as a record; dense, all at once.

        Rows that are infinite, or whose squared norms are, are left out. What absent entries are
        read as stays what it is.
        """
        rows = self._all_rows(imputed)
        members = Members(len(rows), first=self.members.first, numbers=self.members.numbers)
        every = Records(rows=Rows(rows), members=members, threads=self.threads)
        inside = np.isfinite(every.map(lambda block: block.distances(None)))
        if not inside.all():
            rows, numbers = rows[inside], members.all_numbers[inside]
            members = replace(members, n_rows=len(rows), numbers=numbers)
        return every._derived(rows=Rows(rows, is_finite=True), members=members)

    @property
    def private_rows(self) -> np.ndarray:
        """All rows of `mean_rows`: float64, finite, and only to be read."""
        if not self.rows.is_finite:
            raise TypeError(
                "pairs are formed of single finite rows; look through MeanRows first, and change "
                "no row after it"
            )
        X, order = cast(np.ndarray, self.rows.X), self.members.order
        return X if order is None else X[order]

    def _all_rows(self, imputed: np.ndarray | None) -> np.ndarray:
        """Each a bitwise function of its record alone; X's own memory, if it can be."""
        given = self.members.sizes is None and self.rows.are_as_given
        if given and not sparse.issparse(self.rows.X):
            where = self.members.rows(slice(0, self.private_n))
            dense = np.asarray(self.rows.given(where, imputed))  # X may be a memmap
            if dense.dtype == np.float64 and dense.flags.c_contiguous:
                return dense
        return self.map(lambda block: block.mean_rows(), width=self.n_features, imputed=imputed)

    def parts(self, shares: Sequence[int], noise: NoiseSource) -> list[Records]:
        """Disjoint parts: every record draws its own, part i with probability ``shares[i] / sum``.

        The draw looks neither at the data nor at the other records, so under both notions of
        neighbours one record changes one part, and no other record changes its part.
        """
        parts = self.members.parts(noise.words(KEY_WORDS).tobytes(), shares)
        return [self._subset(parts == i) for i in range(len(shares))]

    def part(self, key: bytes, shares: Sequence[int], index: int) -> Records:
        """One of the parts that `parts` makes with a key, and the others are not made."""
        return self._subset(self.members.parts(key, shares) == index)

    def sample(self, taken: int, of: int, noise: NoiseSource) -> Records:
        """One of two parts, as `parts` draws them; single rows are copied next to each other."""
        part = self.part(noise.words(KEY_WORDS).tobytes(), (taken, of - taken), 0)
        return part if part.members.sizes is not None else part.gathered()

    def gathered(self) -> Records:
        """Return the records gathered into a table of their own, in their order."""
        return self.with_gathered(self.copied(), self.cycle)

    def copied(self) -> Gathered:
        """Copy the rows; see `Gathered`."""
        X, members = self.rows.X, self.members
        rows: Any = X.copy() if members.order is None else X[members.order]
        if not sparse.issparse(rows):
            rows = np.ascontiguousarray(rows)
        numbers = members.first + members.all_numbers
        return rows, Members(rows.shape[0], members.sizes, numbers=numbers)

    def with_gathered(self, found: Gathered, cycle: np.ndarray | None = None) -> Records:
        """Records like these, made of rows that were gathered."""
        X, members = found
        return self._derived(rows=replace(self.rows, X=X), members=members, cycle=cycle)

    def _subset(self, keep: np.ndarray) -> Records:
        return self._derived(members=self.members.subset(keep))

    def shuffled(self, noise: NoiseSource) -> Records:
        """Return the records in a random cyclic order: every one draws a word, and they are sorted.

        The draw looks at no data. Couple the draws of neighbours so that common records have common
        words: then one record more is inserted at one place, and the order of the others stays.
        Ties go by position, which does not change that.
        """
        return self._derived(cycle=np.argsort(noise.words(self.private_n), kind="stable"))

    @property
    def private_cycle(self) -> np.ndarray:
        """The numbers of the records in the cyclic order that was drawn."""
        if self.cycle is None:
            raise TypeError("these records are in no cyclic order; put them into one by shuffled()")
        return self.cycle

    def scores(
        self,
        directions: np.ndarray,
        centre: np.ndarray | None,
        rounded: bool = False,
        beside: Measure | None = None,
    ) -> Records:
        """Return the records with the products of their rows and the directions as features.

        The products are of rounded rows with rounded directions, if that is asked and quicker.
        Where a pass over single rows has to read and shift them anew, it measures them `beside` and
        keeps that.
        """
        # of all of X, in its order, whichever of them the records are
        table = self._derived(members=Members(self.members.n_rows))
        out = np.empty((self.members.n_rows, len(directions)))
        is_anew = self.rows.shift is not None and self.members.sizes is None
        numbers = np.empty(self.members.n_rows) if is_anew and beside is not None else None
        step = table._rows_at_once
        if rounded and not self.is_sparse:
            directions = rounded_directions(directions)
            if len(directions) > FEW_DIRECTIONS:  # exact: the same in blocks of any length
                step = max(step, LONG_BLOCK_ROWS)

        def work(spans: list[slice]) -> None:
            with np.errstate(all="ignore"):
                for where, block in table._blocks(table._stretches(spans), centre, step):
                    rows = cast(RowBlock, block)
                    if beside is not None and numbers is not None:
                        numbers[where] = beside.of(rows, None)
                    if rounded:
                        rows.rounded_scores(directions, centre, out[where])
                    else:
                        out[where] = rows.scores(directions, centre)

        list(table._run(work, table._shares()))
        if beside is not None and numbers is not None:
            self.cache[beside] = numbers[self.members.rows(slice(None))]
        return self._derived(rows=Rows(out))

    def map(
        self,
        f: Callable[..., np.ndarray],
        *given: np.ndarray,
        width: int = 0,
        imputed: np.ndarray | None = None,
    ) -> np.ndarray:
        """``f(block, *(x[block] for x in given))`` of every block, in the order of the records.

        One number a record, or a row of `width` numbers. Absent entries are read as those of
        `imputed`.
        """
        out = np.empty((self.private_n, width) if width else self.private_n)

        def work(spans: list[slice]) -> None:
            with np.errstate(all="ignore"):  # a warning would tell of rows that overflow
                for where, block in self._blocks(self._stretches(spans), imputed):
                    out[where] = f(block, *(numbers[where] for numbers in given))

        list(self._run(work, self._shares()))
        return out

    def measured(self, measure: Measure) -> np.ndarray:
        """The numbers of all records. The last few measures are kept."""
        if measure in self.cache:
            return self.cache[measure]
        numbers = measure.of_all(self)
        if numbers is None:
            needed, width = measure.needs(self.layout), measure.width(self.layout)
            given = () if needed is None else (self.measured(needed),)
            self.cache.make_room(width)
            of = measure.of if given else partial(measure.of, given=None)
            numbers = self.map(of, *given, width=width, imputed=measure.imputed)
        self.cache[measure] = numbers
        return numbers

    def accumulate(
        self,
        measure: Measure,
        weigh: Callable[[np.ndarray], np.ndarray],
        add: Callable[[np.ndarray, Block, np.ndarray], None],
        shape: tuple[int, ...],
        explicit: bool = False,
        augmented: bool = False,
    ) -> np.ndarray:
        """Sum over records, each weighted by what is measured of it.

        What was not measured before is measured in the same pass.

        Parameters
        ----------
        measure : Measure
        weigh : callable
            What `add` takes of a record, by its numbers.
        add : callable
            ``add(out, block, weights of the block)`` adds a block into ``out``.
        shape : tuple of int
        explicit : bool
            No centre is left to products (`is_sparse`) in the sum; the records are measured as they
            are.
        augmented : bool
            See `fold`.
        """
        others = explicit and self.is_sparse
        if others or measure in self.cache:
            numbers = self.measured(measure)
            records = self.explicit() if others else self
            return records.fold(
                add, shape, numbers, measure.imputed, lambda _, found: weigh(found), augmented
            )
        needed = measure.needs(self.layout)
        # where rows are read anew in each pass, found in the same one
        known = needed is not None and (needed in self.cache or self.rows.is_held)
        given = self.measured(needed) if needed is not None and known else None
        return self.fold(
            add,
            shape,
            given,
            measure.imputed,
            lambda block, known: weigh(measure.of(block, known)),
            augmented,
        )

    def fold(
        self,
        f: Callable[[np.ndarray, Block, Any], None],
        shape: tuple[int, ...],
        weights: np.ndarray | None = None,
        imputed: np.ndarray | None = None,
        weights_of: Callable[[Block, Any], np.ndarray] | None = None,
        augmented: bool = False,
    ) -> np.ndarray:
        """Sum over records: ``f(out, block, weights of the block)`` adds a block into ``out``.

        Absent entries are read as those of `imputed`. With `weights_of`, the weights of a block are
        ``weights_of(block, numbers of the block)``, of the numbers that are given instead. Rows
        have room for a column more where they are to be augmented by a constant.
        """

        def work(spans: list[slice]) -> CompensatedSum:
            total, part = CompensatedSum(shape), np.zeros(shape, order="F")
            stretches, ends = self._stretches(spans), {span.stop for span in spans}
            with np.errstate(all="ignore"):
                for where, block in self._blocks(stretches, imputed, augmented=augmented):
                    numbers = None if weights is None else weights[where]
                    numbers = numbers if weights_of is None else weights_of(block, numbers)
                    for tile, rows in self._tiles(block, where, spans[0]):
                        f(part, rows, None if numbers is None else numbers[tile])
                        if where.start + tile.stop in ends:
                            total.add(part)
                            part.fill(0.0)
            return total

        first, *others = self._run(work, self._shares())
        for other in others:  # no thread needs them any more
            first.add(other.total)
            first.add(other.correction)
        return first.result()

    @property
    def _run(self) -> Callable[..., Iterable[Any]]:
        """Run a function on shares of the spans, a thread each; here, if there is one thread."""
        return map if self.threads.most == 1 else side_by_side

    def _shares(self, members: Members | None = None) -> list[list[slice]]:
        """Return shares of all spans of the records, or of others, for a thread each."""
        members, span_rows = members or self.members, self.layout.span_rows
        if self.threads.most == 1:
            return [members.spans(span_rows)]
        n_spans = max(1, -(-members.n_taken // span_rows))
        threads = min(self.threads.in_pass(members.n_taken, self.n_features), n_spans)
        # as many spans for every thread; shorter ones only round less
        rounds = -(-n_spans // threads)
        spans = members.spans(-(-members.n_taken // (threads * rounds)))
        edges = [i * len(spans) // threads for i in range(threads + 1)]
        return [spans[a:b] for a, b in itertools.pairwise(edges)]

    def _stretches(self, spans: list[slice]) -> list[slice]:
        """Return the stretches to read at once: with few columns, several spans in a row."""
        few = self._spans_at_once
        some = (spans[i : i + few] for i in range(0, len(spans), few))
        return [slice(stretch[0].start, stretch[-1].stop) for stretch in some]

    def _blocks(
        self,
        spans: list[slice],
        imputed: np.ndarray | None = None,
        step: int | None = None,
        augmented: bool = False,
    ) -> Iterator[tuple[slice, Block]]:
        if self.is_sparse and self.members.sizes is None:
            for span in spans:
                yield span, SparseRows(self.rows.read_sparse(self.members.rows(span), imputed))
            return
        step, d = step or self._rows_at_once, self.layout.n_features
        with self.scratch.pair(step, d + 1) as (scratch, copied):
            if not (augmented or self.is_explicit):
                # rows that lie next to each other are quicker, and `np.dot` copies all others
                scratch = scratch.ravel()[: step * d].reshape(step, d)
            if self.members.sizes is not None:
                yield from self._group_blocks(spans, imputed, (scratch, copied))
                return
            kind = ExplicitRows if self.is_explicit else DenseRows
            for where in _steps(spans, step):
                read = self.rows.read_dense(self.members.rows(where), copied, imputed)
                yield where, kind(read, scratch, self.rows.are_rounded)

    def _tiles(self, block: Block, where: slice, span: slice) -> Iterator[tuple[slice, Block]]:
        """The blocks that are summed one by one, of one of `_blocks`; none is of two spans."""
        n, step = where.stop - where.start, min(self._block_rows, span.stop - span.start)
        if not self._reads_more or n <= step:
            return iter([(slice(0, n), block)])
        return cast(DenseRows, block).tiles(step)

    def _group_blocks(
        self, spans: list[slice], imputed: np.ndarray | None, pair: Pair
    ) -> Iterator[tuple[slice, Block]]:
        scratch, copied = pair
        all_sizes, step = self.private_sizes, len(scratch)
        stops = np.cumsum(all_sizes)

        def gather(start: int, stop: int) -> np.ndarray:
            return self.rows.read_dense(self.members.rows(slice(start, stop)), copied, imputed)

        def parts(start: int, stop: int) -> Iterator[DenseRows]:
            for a in range(start, stop, step):
                yield DenseRows(gather(a, min(a + step, stop)), scratch)

        for span in spans:
            first = span.start
            while first < span.stop:
                start = int(stops[first] - all_sizes[first])
                last = int(np.searchsorted(stops[: span.stop], start + step, "right"))
                if last > first:
                    sizes = all_sizes[first:last]
                    block: Block = DenseGroups(gather(start, int(stops[last - 1])), sizes, scratch)
                else:
                    last, stop = first + 1, int(stops[first])
                    block = LargeGroup(partial(parts, start, stop), stop - start)
                yield slice(first, last), block
                first = last

    @cached_property
    def _block_rows(self) -> int:
        """Rows of each of the equal blocks within a span."""
        layout = self.layout
        most = max(MIN_BLOCK_ROWS, BLOCK_ENTRIES // layout.n_features)
        blocks = -(-layout.span_rows // most)
        return -(-layout.span_rows // blocks)

    @property
    def _reads_more(self) -> bool:
        """True if one read covers more rows than one sum: single dense rows."""
        return not (self.is_explicit or self.is_sparse)  # groups are explicit

    @cached_property
    def _spans_at_once(self) -> int:
        """Whole spans that are read as one, where they have few entries."""
        entries = self.layout.span_rows * max(self.layout.n_features, LEAST_COLUMNS)
        return max(1, BLOCK_ENTRIES // entries) if self._reads_more else 1

    @cached_property
    def _rows_at_once(self) -> int:
        """The most rows that are read as one."""
        if self._spans_at_once > 1:
            return self._spans_at_once * self.layout.span_rows
        blocks = 1 if self.threads.most == 1 or not self._reads_more else BLOCKS_AT_ONCE
        return self._block_rows * min(blocks, -(-self.layout.span_rows // self._block_rows))


def _steps(spans: list[slice], step: int) -> Iterator[slice]:
    """The rows of every span, at most `step` at a time."""
    for span in spans:
        for start in range(span.start, span.stop, step):
            yield slice(start, min(start + step, span.stop))
