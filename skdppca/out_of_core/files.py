"""Tables in files, read batch by batch, as many times as questions are asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from joblib import effective_n_jobs

from ..exceptions import TableChangedError
from ..noise import NoiseSource
from ..records import CompensatedSum, Gathered, Members, Records
from ..records.machine import one_thread
from .batches import batches, is_well_quoted
from .column_types import Labels, numbers_of, value_type
from .pieces import Part, Pieces, Question, answers, piece_like, seen_through

T = TypeVar("T")

# Entries of a piece, whatever is in the files: 8 MiB in double precision.
PIECE_ENTRIES = 2**20

# A table of no more entries is read once, and held in memory: 64 MiB in double precision. How many
# rows there are decides that, and nothing else: to the bit, the pieces are the same.
KEPT_ENTRIES = 2**23

# Least number of features for which products get more than one thread of BLAS beside the reading.
MANY_FEATURES = 512

CHANGED = (
    "a file of X was changed or removed, or could no longer be read, while fit read X; nothing was "
    "released, and what was charged for this fit stays charged; keep the files as they are until "
    "fit returns"
)


class Unreadable(Exception):
    """A file cannot be read to its end. It quotes nothing, and has no context that does.

    Parameters
    ----------
    memory : bool
        For want of memory.
    """

    def __init__(self, memory: bool) -> None:
        super().__init__()
        self.memory = memory


class Piece(NamedTuple):
    """Rows that are in memory; a group's rows are in one piece.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        In Fortran order, as files hold columns: a block is put into the order of rows as it is
        cast, in the cache of the core that sums over it.
    groups : ndarray of int of shape (n,) or None
        Integers from 0 on.
    """

    rows: np.ndarray
    groups: np.ndarray | None

    @property
    def n_records(self) -> int:
        """Number of rows or groups."""
        return len(self.rows) if self.groups is None else int(self.groups[-1]) + 1


class Valid(NamedTuple):
    """Result of a first pass over all rows; private, but for whether they are valid.

    Parameters
    ----------
    n_rows, n_records : int
    missing, infinite : ndarray of bool of shape (d,)
        The features that have such entries.
    unlabelled, unsorted : bool
        Whether a label is missing, and whether labels are in no order.
    kept : list of Piece or None
        All rows, if they are few.
    """

    n_rows: int
    n_records: int
    missing: np.ndarray
    infinite: np.ndarray
    unlabelled: bool
    unsorted: bool
    kept: list[Piece] | None


class Files:
    """Some columns of a dataset, as pieces of a size that its data do not decide.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    features : sequence of str
        Columns of numbers (`is_number`).
    groups : str, optional
        The column of labels (`is_label`), sorted over all of the table.
    tell : callable, optional
        Called with its number, from 0, as a pass begins.
    """

    def __init__(
        self,
        dataset: ds.Dataset,
        features: Sequence[str],
        groups: str | None = None,
        tell: Callable[[int], None] | None = None,
    ) -> None:
        self._dataset = dataset
        self._columns = [*features, *([] if groups is None else [groups])]
        self._grouped = groups is not None
        self._tell = tell
        self._passes = 0
        types = [dataset.schema.field(name).type for name in features]
        self.dtype = np.float32 if all(map(pa.types.is_float32, types)) else np.float64
        self.n_features = len(features)
        self._seen = self._fingerprint()

    @property
    def empty(self) -> Piece:
        """A piece without rows."""
        rows = np.empty((0, self.n_features), self.dtype, order="F")
        return Piece(rows, np.empty(0, np.intp) if self._grouped else None)

    def names_twice(self) -> bool:
        """Return whether the dataset names a file or fragment twice: its rows would count twice."""
        return _has_twice(list(_parts(self._dataset)))

    def misquoted(self) -> bool:
        """Return whether a quotation mark in a .csv is misplaced: it would swallow other rows."""
        return not all(
            is_well_quoted(dataset.filesystem, file, dataset.format.parse_options)
            for dataset in _parts(self._dataset)
            if isinstance(dataset.format, ds.CsvFileFormat)
            for file in dataset.files
        )

    def check(self) -> Valid:
        """Read all rows, and find out whether they are valid.

        Raises
        ------
        Unreadable
        """
        labels = self._labels()
        missing, infinite = np.zeros((2, self.n_features), bool)
        n_rows = n_records = 0
        kept: list[Piece] | None = []
        for piece in self.pieces(labels):
            n_rows += len(piece.rows)
            n_records += piece.n_records
            _note_entries(piece.rows, missing, infinite)
            if n_rows * self.n_features > KEPT_ENTRIES:
                kept = None
            if kept is not None:
                kept.append(piece)
        return Valid(n_rows, n_records, missing, infinite, labels.missing, labels.unsorted, kept)

    def load(self, valid: Valid) -> Piece:
        """All rows in one piece.

        Raises
        ------
        Unreadable, MemoryError
        """
        rows = np.empty((valid.n_rows, self.n_features), self.dtype)
        groups = np.empty(valid.n_rows, np.intp) if self._grouped else None
        n_rows = n_records = 0
        for piece in self.pieces() if valid.kept is None else self.again(valid.kept):
            where = slice(n_rows, n_rows + len(piece.rows))
            if where.stop > valid.n_rows:
                raise Unreadable(memory=False)
            rows[where] = piece.rows
            if groups is not None and piece.groups is not None:
                groups[where] = piece.groups + n_records
            n_rows, n_records = where.stop, n_records + piece.n_records
        if n_rows < valid.n_rows or (valid.kept is None and not self.is_unchanged()):
            raise Unreadable(memory=False)
        return Piece(rows, groups)

    def pieces(self, labels: Labels | None = None) -> Iterator[Piece]:
        """One pass over the table, in its order; the next piece is read beside the work on one.

        Raises
        ------
        Unreadable
        """
        self._announce()
        blocks = self._blocks(self._labels() if labels is None else labels)
        if self._grouped:
            return _ahead(_joined(blocks))
        return _ahead(Piece(rows, None) for rows, _ in blocks)

    def again(self, kept: list[Piece]) -> list[Piece]:
        """The pieces that were kept, told as a pass: that they were kept says how many they are."""
        self._announce()
        return kept

    def _announce(self) -> None:
        if self._tell is not None:
            self._tell(self._passes)
        self._passes += 1

    def is_unchanged(self) -> bool:
        """Return whether all files have the fingerprint of the first look."""
        return self._fingerprint() == self._seen

    def _labels(self) -> Labels:
        if not self._grouped:
            return Labels()
        kind = value_type(self._dataset.schema, self._columns[-1])
        return Labels(kind if pa.types.is_integer(kind) else pa.large_string())

    def _fingerprint(self) -> list[tuple[Any, ...]] | None:
        """Sizes and times of all files; None if they cannot be found out."""
        try:
            return [
                (file.path, file.type, file.size, file.mtime_ns)
                for dataset in _parts(self._dataset)
                for file in dataset.filesystem.get_file_info(dataset.files)
            ]
        except Exception:
            return None

    def _blocks(self, labels: Labels) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows in blocks of one size (but the last), and where in them another group begins."""
        d, size = self.n_features, max(1, PIECE_ENTRIES // self.n_features)
        filled = size
        for batch in self._batches():
            start = 0
            while start < len(batch):
                if filled == size:
                    rows, begins = np.empty((size, d), self.dtype, order="F"), np.ones(size, bool)
                    filled = 0
                part = batch.slice(start, size - filled)
                where = slice(filled, filled + len(part))
                for j, column in enumerate(part.columns[:d]):
                    rows[where, j] = numbers_of(column)
                if self._grouped:
                    begins[where] = labels.begin(part.columns[d])
                start, filled = start + len(part), where.stop
                if filled == size:
                    yield rows, begins
        if filled < size:
            yield rows[:filled], begins[:filled]

    def _batches(self) -> Iterator[pa.RecordBatch]:
        size = max(1, PIECE_ENTRIES // self.n_features)
        return batches(self._dataset, self._columns, size)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FileRecords(Pieces):
    """The records of a table in files, a piece as much as is read at a time.

    Parameters
    ----------
    files : Files
    valid : Valid
        What `files.check` found.
    jobs : int
        Threads that sum over pieces.
    """

    files: Files
    valid: Valid
    jobs: int

    @classmethod
    def of(
        cls,
        files: Files,
        valid: Valid,
        scale: np.ndarray | None = None,
        n_jobs: int | None = None,
        may_miss: bool = False,
    ) -> FileRecords:
        """The records of valid files; see `Records.of` for the parameters."""
        rows, groups = files.empty
        jobs = max(1, effective_n_jobs(n_jobs))
        standin = Records.of(rows, groups, scale, jobs, may_miss=may_miss)
        return cls(standin=standin, files=files, valid=valid, jobs=jobs)

    @property
    def private_n(self) -> int:
        """The exact number of records."""
        return self.valid.n_records

    def sums(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """Add up the answers of the pieces to every question, in their order, with compensation."""

        def answer(records: Records) -> list[np.ndarray]:
            with np.errstate(all="ignore"):  # in a thread of its own
                return [*answers(records, questions)]

        totals = [CompensatedSum(question.statistic.shape) for question in questions]
        waiting = deque[Future[list[np.ndarray]]]()

        def add(done: Future[list[np.ndarray]]) -> None:
            for total, part in zip(totals, done.result(), strict=True):
                total.add(part)

        alone = self.jobs > 1 or self.files.n_features < MANY_FEATURES
        blas = one_thread() if alone else nullcontext()
        with blas, ThreadPoolExecutor(self.jobs) as threads:
            for records in self._read():
                waiting.append(threads.submit(answer, records))
                if len(waiting) > self.jobs:
                    add(waiting.popleft())
            for done in waiting:
                add(done)
        return [total.result() for total in totals]

    def sample(self, taken: int, of: int, noise: NoiseSource) -> Records | None:
        """A random part of single rows, gathered in one pass; how long groups are is private."""
        if self.layout.is_grouped:
            return None
        return self.parts((taken, of - taken), noise)[0].gathered()

    def gathered(self) -> Records:
        """The records in memory, by one pass: every number of a record is the same, to the bit.

        The labels of random parts follow from the records' numbers and from no row, so parts are
        taken before other views.
        """
        parts = [view for view in self.views if isinstance(view, Part)]
        others = [view for view in self.views if not isinstance(view, Part)]
        pieces = chain((self.standin,), self._read())  # the first one is empty: files may be, too
        found = _stacked(seen_through(piece, parts).copied() for piece in pieces)
        return seen_through(self.standin.with_gathered(found), others)

    def _read(self) -> Iterator[Records]:
        """The records, piece by piece, in the order in which they were when they were checked.

        Raises
        ------
        TableChangedError
            If they are not what they were.
        MemoryError
        """
        kept, rows, records = self.valid.kept, 0, 0
        failed: Unreadable | None = None
        try:
            for piece in self.files.pieces() if kept is None else self.files.again(kept):
                yield piece_like(self.standin, piece.rows, piece.groups, records)
                rows, records = rows + len(piece.rows), records + piece.n_records
        except Unreadable as error:
            failed = error
        if failed is not None and failed.memory:
            raise MemoryError("X no longer fits into memory piece by piece; a charge stands")
        same = (rows, records) == (self.valid.n_rows, self.valid.n_records)
        if failed is not None or not same or (kept is None and not self.files.is_unchanged()):
            raise TableChangedError(CHANGED)


def _stacked(found: Iterable[Gathered]) -> Gathered:
    """Join dense rows, one after the other; parts are let go, so that rows are in memory once."""
    parts = deque(found)
    numbers = np.concatenate([members.all_numbers for _, members in parts])
    sizes = [members.sizes for _, members in parts if members.sizes is not None]
    dtype = np.result_type(*{rows.dtype for rows, _ in parts})
    n_rows, start = sum(len(rows) for rows, _ in parts), 0
    X = np.empty((n_rows, parts[0][0].shape[1]), dtype)
    while parts:
        rows, _ = parts.popleft()
        X[start : start + len(rows)] = rows
        start += len(rows)
    return X, Members(n_rows, np.concatenate(sizes) if sizes else None, numbers=numbers)


def wrong_labels(dataset: ds.Dataset, groups: str) -> tuple[bool, bool]:
    """Return whether labels are missing in a column, and whether they are in no order."""
    kind = value_type(dataset.schema, groups)
    labels = Labels(kind if pa.types.is_integer(kind) else pa.large_string())
    for batch in batches(dataset, [groups]):
        if len(batch):
            labels.begin(batch.column(0))
    return labels.missing, labels.unsorted


def _note_entries(rows: np.ndarray, missing: np.ndarray, infinite: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        doubtful = ~np.isfinite(rows.sum(axis=0))
    for j in np.flatnonzero(doubtful):
        missing[j] |= np.isnan(rows[:, j]).any()
        infinite[j] |= np.isinf(rows[:, j]).any()


def _joined(blocks: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[Piece]:
    """Pieces that end where a group does: the last group of a block goes to the next."""
    kept: list[np.ndarray] = []
    begun: list[np.ndarray] = []
    for rows, begins in blocks:
        places = np.flatnonzero(begins)
        last = int(places[-1]) if len(places) else len(rows)
        kept.append(rows[:last])
        begun.append(begins[:last])
        if len(places):
            if sum(map(len, begun)):
                yield _piece(kept, begun)
            kept, begun = [rows[last:].copy(order="F")], [begins[last:].copy()]
    if kept:
        yield _piece(kept, begun)


def _piece(rows: list[np.ndarray], begins: list[np.ndarray]) -> Piece:
    begun = np.concatenate(begins)
    joined = np.empty((len(begun), rows[0].shape[1]), rows[0].dtype, order="F")
    return Piece(np.concatenate(rows, out=joined), np.cumsum(begun) - 1)


def _ahead(items: Iterable[T]) -> Iterator[T]:
    """The items, the next of which is made in a thread while one is used."""
    source = iter(items)

    def following() -> T | Unreadable | None:
        """The next item; never an exception, whose context would quote data."""
        try:
            with np.errstate(all="ignore"):  # a warning would tell of large numbers
                return next(source, None)
        except Exception as error:
            return Unreadable(memory=isinstance(error, MemoryError))

    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(following).result()
        while found is not None:
            if isinstance(found, Unreadable):
                raise found
            waiting = thread.submit(following)
            yield found
            found = waiting.result()


def _parts(dataset: ds.Dataset) -> Iterator[Any]:
    """The datasets of files in a dataset."""
    if isinstance(dataset, ds.UnionDataset):
        for child in dataset.children:
            yield from _parts(child)
    elif isinstance(dataset, ds.FileSystemDataset):
        yield dataset


def _has_twice(datasets: Sequence[Any]) -> bool:
    files = [file for dataset in datasets for file in dataset.files]
    if len(set(files)) == len(files):
        return False
    fragments = [fragment for dataset in datasets for fragment in dataset.get_fragments()]
    parts = [
        (fragment.path, tuple(group.id for group in getattr(fragment, "row_groups", ())))
        for fragment in fragments
    ]
    return len(set(parts)) < len(parts)
