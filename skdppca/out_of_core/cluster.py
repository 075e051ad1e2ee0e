"""Tables on a dask cluster: workers sum over their partitions, and only sums come back."""

from __future__ import annotations

import hashlib
import platform
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from importlib.metadata import version
from itertools import zip_longest
from threading import Lock
from typing import Any, NamedTuple, Protocol

import dask
import numpy as np
from dask.base import get_scheduler
from dask.delayed import delayed
from scipy import sparse

from ..records import CompensatedSum, MeasureCache, Records
from ..records.machine import blas_libraries, one_thread
from .pieces import Part, Pieces, Question, piece_like, seen_through

# Number of sums that one task adds.
FAN_IN = 8

# Rows of a partition, evenly spaced, whose hash tells whether it is the one that was validated.
MARKED_ROWS = 64

# Bytes of its records' measures that a process keeps for later questions.
KEPT_BYTES = 2**28

NOT_COMPUTED = (
    "dask could not compute X. Its own error is not shown because it may quote data: X.persist() "
    "shows it to you. Check too that every worker can import this version of skdppca."
)
UNEQUAL = (
    "The workers of the cluster differ in their processors or in their versions of skdppca, numpy, "
    "scipy or BLAS, so a record would have other last digits on another worker. Use workers of one "
    "kind, with one environment."
)
CHANGED = (
    "A partition of X is no longer what it was when it was validated. The guarantee holds for one "
    "and the same X: use a graph that computes the same rows again, or fit X.persist()."
)
UNSORTED = (
    "groups must be sorted over all of X, so that the rows of a group lie together. Sort X by its "
    "groups first, for example X = X.sort_values('patient')."
)
UNREADABLE = (
    "A partition of X cannot be read as a table of real numbers within the memory of a worker. "
    "Give partitions that are arrays, sparse matrices or data frames of numbers, and smaller ones."
)

# An error after the charge says this besides.
CHARGED = " The fit was charged, and released nothing."

Rows = np.ndarray | sparse.csr_array


class Reader(Protocol):
    """Reader of a partition's rows and of its groups' labels; it travels to the workers."""

    def __call__(self, part: Any, labels: Any, known: bool) -> tuple[Rows, np.ndarray | None]:
        """Rows, and one label a row.

        Parameters
        ----------
        part, labels : Any
            Rows and labels of a partition, as dask computes them.
        known : bool
            They were found valid before.

        Raises
        ------
        ValueError, TypeError
            They are not valid; the text quotes nothing of them.
        """


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClusterRecords(Pieces):
    """The records of a dask collection, a piece a partition.

    Partitions are read again for every question, by whichever worker has them then. Only a
    `Question` travels to the workers, and only its answer comes back.

    Parameters
    ----------
    partitions : list of tuple of Delayed
        Rows and labels.
    places : list of _Place
        Which records of every partition are its piece.
    joining : list of list of int
        The partitions whose first rows join each piece.
    table : _Table
        What a worker must know.
    n_rows, n_records : int
        Exact and private.

    Notes
    -----
    **Sums.** A task adds the sums of eight partitions, with compensation, another one those of
    eight such tasks, and so on, in the order of the partitions. Which worker was first decides
    nothing. Corrections travel with the sums, so that all levels round as one compensated sum does.

    **Logs.** A worker logs an exception that leaves a task, and the task's arguments. So none
    leaves a task of ours: it is caught there, and a fixed text takes its place. Keys of tasks are
    random, because keys are logged as well.
    """

    partitions: list[tuple[Any, Any]]
    places: list[_Place]
    joining: list[list[int]]
    table: _Table
    n_rows: int
    n_records: int

    @classmethod
    def of(
        cls,
        parts: Sequence[Any],
        labels: Sequence[Any] | None,
        read: Reader,
        nothing: Rows,
        scale: np.ndarray | None = None,
        may_miss: bool = False,
    ) -> ClusterRecords:
        """The records of a collection, once the workers have found all partitions valid.

        Parameters
        ----------
        parts : sequence of Delayed
        labels : sequence of Delayed or None
            The groups' labels of the rows, by partition. They are sorted over the table. Where a
            group goes on in the next partition, its rows there join those where it begins.
        read : Reader
        nothing : ndarray or CSR array of shape (0, n_features)
            Rows like those of the partitions, but none.
        scale : ndarray of shape (n_features,), optional
            Public; every feature is divided by it.
        may_miss : bool
            NaN is an absent entry.

        Raises
        ------
        ValueError, TypeError
            The rows, the groups or the workers cannot be used.
        """
        none = None if labels is None else np.zeros(0, np.intp)
        standin = Records.of(nothing, none, scale, 1, may_miss=may_miss)
        partitions = list(zip_longest(parts, () if labels is None else labels))
        table = _Table(secrets.token_hex(16), read, standin)
        given = _literal(table)
        looks = _computed([_task(_look, given, *both) for both in partitions])
        if len({look.environment for look in looks} | _environments()) > 1:
            raise ValueError(UNEQUAL)
        n_records, places, joining = _placed(looks)
        return cls(
            standin=standin,
            partitions=partitions,
            places=places,
            joining=joining,
            table=replace(table, environment=looks[0].environment),
            n_rows=sum(look.n_rows for look in looks),
            n_records=n_records,
        )

    @property
    def private_n(self) -> int:
        """The exact number of records."""
        return self.n_records

    def close(self) -> None:
        """Have all that was kept for these records forgotten, here and on the workers."""
        KEPT.forget(self.table.fit)
        client = _client()
        if client is not None and client.status == "running":
            try:
                client.run(_forget, self.table.fit, on_error="ignore")
            except Exception:  # the workers forget when others need the room
                return

    def _ask(self, f: Callable[..., Any], asked: Any) -> list[Any]:
        """Tasks that answer for the records of a partition each, in order."""
        given, table = _literal(asked), _literal(self.table)
        answers = []
        for place, both, others in zip(self.places, self.partitions, self.joining, strict=True):
            heads = [_task(_head, table, self.places[i], *self.partitions[i]) for i in others]
            answers.append(_task(f, given, place, *both, *heads))
        return answers

    def sums(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """Add up the answers of the pieces to every question, in their order, with compensation."""
        sums = self._ask(_answers, (self.table, tuple(questions)))
        while True:
            sums = [_task(_add, *sums[i : i + FAN_IN]) for i in range(0, len(sums), FAN_IN)]
            if len(sums) == 1:
                return [total.result() for total in _computed(sums, after=CHARGED)[0]]


class _Look(NamedTuple):
    """Facts of a partition that its validation reports."""

    environment: str
    mark: bytes
    n_rows: int
    n_records: int
    first: Any = None
    last: Any = None
    # Rows of the first group.
    head: int = 0


class _Place(NamedTuple):
    """Place of a piece: its records within a partition, and their position in the table."""

    partition: int
    first: int
    mark: bytes
    # Rows at the beginning that belong to a record of another piece.
    head: int = 0


class _Failure(NamedTuple):
    """Error that a task returns in place of an exception; the text quotes nothing."""

    kind: type[Exception]
    text: str


@dataclass(frozen=True)
class _Table:
    """Table as a worker needs it to make records of its partitions."""

    fit: str
    read: Reader
    standin: Records
    environment: str = ""

    def look(self, part: Any, labels: Any) -> _Look | _Failure:
        """Validate a partition."""
        try:
            rows, found = self.read(part, labels, False)
        except (ValueError, TypeError) as error:
            return _Failure(TypeError if isinstance(error, TypeError) else ValueError, str(error))
        except Exception:
            return _Failure(ValueError, UNREADABLE)
        look = _Look(environment(), self._mark(rows, found), rows.shape[0], rows.shape[0])
        if found is None:
            return look
        if not _are_sorted(found[:-1], found[1:]):
            return _Failure(ValueError, UNSORTED)
        if not len(found):
            return look
        numbers = _numbered(found)
        head = int(np.searchsorted(numbers, 0, "right"))
        return look._replace(
            n_records=int(numbers[-1]) + 1, first=found[0], last=found[-1], head=head
        )

    def rows(self, place: _Place, part: Any, labels: Any) -> tuple[Rows, np.ndarray | None]:
        """The rows of a partition that was validated, and of grouped ones their numbers."""
        if environment() != self.environment:
            raise _Refused(UNEQUAL)
        rows, found = self.read(part, labels, True)
        if self._mark(rows, found) != place.mark:
            raise _Refused(CHANGED)
        return rows, None if found is None else _numbered(found)

    def records(self, place: _Place, part: Any, labels: Any, heads: Sequence[Rows]) -> Records:
        """The records of a piece."""
        rows, numbers = self.rows(place, part, labels)
        if numbers is not None:
            rows, numbers = rows[place.head :], numbers[place.head :] - (place.head > 0)
            if heads:
                more = sum(head.shape[0] for head in heads)
                rows = _stacked([rows, *heads])
                numbers = np.append(numbers, np.full(more, numbers[-1]))
        return piece_like(self.standin, rows, numbers, place.first)

    def _mark(self, rows: Rows, labels: np.ndarray | None) -> bytes:
        """A keyed hash of some rows and of the partition's shape."""
        n = rows.shape[0]
        mark = hashlib.blake2b(repr((rows.shape, rows.dtype)).encode(), key=self.fit.encode())
        some = rows[np.linspace(0, n - 1, min(n, MARKED_ROWS)).astype(np.intp)]
        parts = (some.data, some.indices, some.indptr) if sparse.issparse(some) else (some,)
        for numbers in parts:
            mark.update(numbers.tobytes())
        if labels is not None:
            mark.update(_numbered(labels).tobytes())
        return mark.digest()


class _Refused(Exception):
    """Raised within a task of ours, with a text that quotes nothing."""


class _Kept:
    """Measures of records of partitions, by fit and partition; those of the last views only."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: OrderedDict[tuple[str, int], tuple[Any, OrderedDict, int]] = OrderedDict()
        self.size = 0

    def lend(self, fit: str, partition: int, views: Any) -> OrderedDict:
        """Return the kept measures of a partition's records through some views."""
        with self._lock:
            seen, measured, _ = self._of.get((fit, partition), (None, {}, 0))
            return OrderedDict(measured if seen == views else {})

    def keep(self, fit: str, partition: int, views: Any, measured: OrderedDict) -> None:
        """Keep it, if there is room; other fits, which may have lost their client, give way."""
        size = sum(numbers.nbytes for numbers in measured.values())
        with self._lock:
            self._drop((fit, partition))
            while self._of and self.size + size > KEPT_BYTES and next(iter(self._of))[0] != fit:
                self._drop(next(iter(self._of)))
            if self.size + size <= KEPT_BYTES:
                self._of[fit, partition] = views, OrderedDict(measured), size
                self.size += size

    def forget(self, fit: str) -> None:
        """Drop all that was kept for a fit."""
        with self._lock:
            for key in [key for key in self._of if key[0] == fit]:
                self._drop(key)

    def _drop(self, key: tuple[str, int]) -> None:
        self.size -= self._of.pop(key, (None, None, 0))[2]


# Every process has its own; neither it nor the records that borrow from it are ever sent.
KEPT = _Kept()


def _caught(task: Callable[..., Any]) -> Callable[..., Any]:
    """A task that returns a failure instead of raising, and passes on the first one given."""

    @wraps(task)
    def caught(*given: Any) -> Any:
        for value in given:
            if isinstance(value, _Failure):
                return value
        try:
            with one_thread(), np.errstate(all="ignore"):
                return task(*given)
        except _Refused as error:
            return _Failure(RuntimeError, str(error))
        except Exception:
            return _Failure(RuntimeError, UNREADABLE)

    return caught


@_caught
def _look(table: _Table, part: Any, labels: Any) -> _Look | _Failure:
    return table.look(part, labels)


@_caught
def _head(table: _Table, place: _Place, part: Any, labels: Any) -> Rows:
    """The rows at the beginning of a partition that belong to a record of another piece."""
    return table.rows(place, part, labels)[0][: place.head]


@_caught
def _answers(
    asked: tuple[_Table, tuple[Question, ...]],
    place: _Place,
    part: Any,
    labels: Any,
    *heads: Rows,
) -> list[np.ndarray]:
    table, questions = asked
    rows = table.records(place, part, labels, heads)
    totals = []
    for question in questions:
        records = seen_through(rows, question.views)
        views = tuple(map(_view_key, question.views))
        cache = MeasureCache(KEPT.lend(table.fit, place.partition, views))
        totals.append(replace(records, cache=cache).total(question.statistic))
        KEPT.keep(table.fit, place.partition, views, cache.measured)
    return totals


@_caught
def _add(*parts: Sequence[np.ndarray | CompensatedSum]) -> list[CompensatedSum]:
    return [_added(answers) for answers in zip(*parts, strict=True)]


def _added(parts: Sequence[np.ndarray | CompensatedSum]) -> CompensatedSum:
    total: CompensatedSum | None = None
    for part in parts:
        terms = (part.total, part.correction) if isinstance(part, CompensatedSum) else (part,)
        for term in terms:
            total = total or CompensatedSum(np.shape(term))
            total.add(term.copy())  # a task may run again on what it was given
    assert total is not None
    return total


def _forget(fit: str) -> None:
    KEPT.forget(fit)


def _same(value: Any) -> Any:
    return value


def _literal(value: Any) -> Any:
    """A task that knows the value, so that it is not lost with the worker that holds it."""
    return _task(partial(_same, value), name="_given")


def _task(f: Callable[..., Any], *given: Any, name: str = "") -> Any:
    """A task with a random key; dask estimates its time by what comes before the hyphen."""
    key = f"skdppca{name or f.__name__}-{secrets.token_hex(16)}"
    return delayed(f, pure=False)(*given, dask_key_name=key)


def _computed(tasks: Sequence[Any], after: str = "") -> list[Any]:
    """Return the results of tasks, by the scheduler that is active.

    Parameters
    ----------
    tasks : sequence of Delayed
    after : str
        What an error says besides.

    Raises
    ------
    ValueError, TypeError, RuntimeError
        With our text: an exception of X's own tasks may quote data.
    """
    found: Sequence[Any] = [_Failure(RuntimeError, NOT_COMPUTED)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # dask tells how large a graph is, and so the data
            found = dask.compute(*tasks, traverse=False)
    except Exception:
        pass
    for value in found:
        if isinstance(value, _Failure):
            raise value.kind(value.text + after)
    return list(found)


def _client() -> Any:
    """The client of the cluster that is active, if there is one."""
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "run") else None


def _environments() -> set[str]:
    """Return the environments of all workers, also of those that got no partition yet."""
    client = _client()
    try:
        return set() if client is None else set(client.run(environment).values())
    except Exception:
        return {""}  # a worker lacks skdppca


def _placed(looks: Sequence[_Look]) -> tuple[int, list[_Place], list[list[int]]]:
    """The number of records, the pieces, and the partitions whose first rows join each piece."""
    places: list[_Place] = []
    joining: list[list[int]] = [[] for _ in looks]
    n, owner, last = 0, -1, None
    for i, look in enumerate(looks):
        head, records = 0, look.n_records
        if owner >= 0 and look.head:
            if not _are_sorted(last, look.first):
                raise ValueError(UNSORTED)
            if look.first == last:
                head, records = look.head, records - 1
                joining[owner].append(i)
        if look.head:
            owner, last = i if records else owner, look.last
        places.append(_Place(i, n, look.mark, head))
        n += records
    return n, places, joining


@cache
def environment() -> str:
    """A digest of all that the last digits of a record's numbers may depend on."""
    versions = [version(name) for name in ("skdppca", "numpy", "scipy")]
    features = np.show_config(mode="dicts").get("SIMD Extensions")
    facts = (platform.machine(), versions, sorted(map(str, blas_libraries())), features)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _view_key(view: Any) -> Any:
    return view if isinstance(view, Part) else view.key


def _stacked(parts: Sequence[Any]) -> Rows:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def _numbered(labels: np.ndarray) -> np.ndarray:
    """Integers from 0 for labels that are sorted."""
    return np.append(0, np.cumsum(labels[1:] != labels[:-1])) if len(labels) else np.zeros(0, int)


def _are_sorted(labels: Any, later: Any) -> bool:
    try:
        return not np.any(later < labels)
    except TypeError:
        return False
