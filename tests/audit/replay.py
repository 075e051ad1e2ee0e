"""The replay audit: whatever a method does, all that it does follows from private answers.

A method runs on one data set, and every question and answer is recorded. Then it runs on a
neighbour with the same random draws, but is given the recorded answers instead of its own. If the
method is private, nothing in the second run can tell that the data are others:

- it asks the same questions: the same statistics, to the bit, at the same prices, in the same
  order, of records seen through the same views;
- the exact sums behind each of them are no further apart than the sensitivity that was paid for,
  and all of them together tell no more than the whole budget;
- whatever it hands over in the end is the same to the bit: attributes, reports, warnings, errors.

That covers every sensitivity, the adaptive composition, and that all else is post-processing, in
one. Draws for single records are coupled: records that both data sets have draw the same.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec import Struct, structs
from scipy import linalg, sparse

from skdppca.decomposition.smooth_sensitivity.gap import SmoothQuery
from skdppca.linalg import symmetric_from_upper
from skdppca.noise import GaussianQuery, NoiseSource, keyed_labels, rounded_gaussian
from skdppca.noise.gaussian import LaplaceQuery
from skdppca.privacy import GaussianEvent
from skdppca.private_data import PrivateData
from skdppca.records import _rows

# What a method releases, of X and the groups of its rows.
Method = Callable[[Any, np.ndarray | None], Any]


class Leak(AssertionError):
    """A neighbour can be told apart.

    Parameters
    ----------
    kind : {"asked", "moved", "told"}
        Other questions; sums that are too far apart; other outputs.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass(frozen=True)
class Data:
    """A data set, and where its odd record is, if it has one.

    Parameters
    ----------
    records : list of ndarray
        Of shape (rows, features), one a record.
    odd : ndarray or None
        The record that neighbours do not have, or have another one for.
    container : {"dense", "fortran", "float32", "csr", "csr in parts", "list"}
    grouped : bool
    odd_first : bool
        It comes before all others, or after them.
    """

    records: list[np.ndarray]
    odd: np.ndarray | None
    container: str = "dense"
    grouped: bool = False
    odd_first: bool = False

    def given(self) -> tuple[Any, np.ndarray | None]:
        """X, and the groups of its rows."""
        odd = [] if self.odd is None else [self.odd]
        records = [*odd, *self.records] if self.odd_first else [*self.records, *odd]
        # The others have the same names, whether or not there is an odd one with a longer name.
        start = 1 - len(odd) if self.odd_first else 1
        names = np.array([f"{i:04}" for i in range(start, start + len(records))], dtype=object)
        if odd:
            names[0 if self.odd_first else -1] += " and a long name"
        X = np.vstack(records)
        groups = np.repeat(names, [len(record) for record in records]).astype(str)
        return contained(X, self.container), groups if self.grouped else None


def contained(X: np.ndarray, container: str) -> Any:
    """The rows, as a caller may give them."""
    if container == "float32":
        largest = np.finfo(np.float32).max
        return np.clip(X, -largest, largest).astype(np.float32)
    if container == "fortran":
        return np.asfortranarray(X)
    if container == "list":  # whole numbers as such, rather than as real ones
        return [[int(x) if x == np.rint(x) and abs(x) < 2**53 else x for x in row] for row in X]
    if container == "csr":
        return sparse.csr_array(X)
    if container == "csr in parts":
        where = sparse.csr_array(X != 0)
        indices, halves = np.repeat(where.indices, 2), np.repeat(X[X != 0] / 2, 2)
        return sparse.csr_array((halves, indices, 2 * where.indptr), shape=X.shape)
    return X


@dataclass
class Run:
    """What one run asked, what that summed to, and what it handed over.

    Parameters
    ----------
    noted : list
        Questions, views and draws, in their order.
    queries, sums, answers : list
        Of every release: what it says of itself, what it is computed from, what it gave.
    outcome : object
        All that is handed over or said, as `bits`.
    error : Exception or None
        What was raised instead.
    event : object
        What it cost in all.
    """

    noted: list[Any] = field(default_factory=list)
    queries: list[Any] = field(default_factory=list)
    sums: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    outcome: Any = None
    error: Exception | None = None
    event: Any = None


def audit(method: Method, data: Data, neighbours: Iterable[Data], seed: int = 0) -> Run:
    """Run a method on a data set, and replay it on neighbours.

    Returns
    -------
    Run
        On the data set.

    Raises
    ------
    Leak
        If a neighbour can be told apart.
    """
    actual = _Recorder(seed, data).run(method, data)
    for neighbour in neighbours:
        _check(actual, _Recorder(seed, data, actual).run(method, neighbour))
    return actual


class _Plain(NoiseSource):
    """Noise of the answers, apart from all draws that a replay repeats."""

    words = NoiseSource.words
    rounded_gaussian = NoiseSource.rounded_gaussian


class _Recorder:
    """Runs a method; with `forced`, on the answers of another run."""

    def __init__(self, seed: int, data: Data, forced: Run | None = None) -> None:
        self.seen, self.forced = Run(), forced
        self.noise = _Plain([seed, 1])
        self.records = len(data.records) + 1
        self.odd_first = data.odd_first
        self.leaks: list[Leak] = []
        self.unprotected = False

    def run(self, method: Method, data: Data) -> Run:
        X, groups = data.given()
        # How many records come before the first one of this data set.
        self.missing = 1 if data.odd_first and data.odd is None else 0
        with self._patched(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                released = method(X, groups)
                self.seen.event = getattr(getattr(released, "privacy_", None), "event", None)
                outcome = bits(released)
            except Exception as error:
                self.seen.error = error
                outcome = type(error).__name__, str(error)
        if self.leaks:
            raise self.leaks[0]
        self.seen.outcome = outcome, [(w.category.__name__, str(w.message)) for w in said]
        return self.seen

    @contextmanager
    def _patched(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name in (
                (GaussianQuery, "release"),
                (LaplaceQuery, "release"),
                (SmoothQuery, "release"),
            ):
                stack.enter_context(patch.object(owner, name, self._releasing(owner.release)))
            for name in ("ask", "ask_laplace", "through", "unprotected_records"):
                honest = getattr(PrivateData, name)
                stack.enter_context(patch.object(PrivateData, name, self._noting(name, honest)))
            for name in ("words", "rounded_gaussian"):
                stack.enter_context(patch.object(NoiseSource, name, getattr(self, f"_{name}")()))
            stack.enter_context(patch.object(_rows, "keyed_labels", self._labels()))
            yield

    # What is asked

    def _note(self, what: Any) -> None:
        place = len(self.seen.noted)
        self.seen.noted.append(what)
        if self.forced is None:
            return
        expected = self.forced.noted[place] if place < len(self.forced.noted) else "no more"
        if what != expected:
            self._leak("asked", f"{place}: {what} instead of {expected}")

    def _leak(self, kind: str, text: str) -> None:
        self.leaks.append(Leak(kind, text))
        raise self.leaks[-1]  # a method may catch it; the audit does not forget it

    def _noting(self, name: str, honest: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self

        def noting(data: PrivateData, what: Any, *args: Any, **more: Any) -> Any:
            recorder._note((name, getattr(what, "key", what), args, more, data.public))
            if name == "unprotected_records":
                recorder.unprotected = True
            return honest(data, what, *args, **more)

        return noting

    # What is answered

    def _releasing(self, honest: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self

        def release(query: Any, total: Any, noise: NoiseSource) -> Any:
            seen, forced = recorder.seen, recorder.forced
            recorder._note(("release", query))
            recorder.unprotected = False
            place = len(seen.answers)
            seen.queries.append(query)
            seen.sums.append(_whole(query, total))
            if forced is None:
                seen.answers.append(honest(query, total, recorder.noise))
            else:
                seen.answers.append(forced.answers[place])
            return np.copy(seen.answers[-1])

        return release

    # What is drawn. Every draw has words of its own, however many there are: those of the records,
    # in their order, begin or end with those that both data sets have.

    def _cut(self, drawn: Callable[[int], np.ndarray], n: int) -> np.ndarray:
        every = drawn(max(n, self.records))
        return every[len(every) - n :] if self.odd_first else every[:n]

    def _draw(self, source: NoiseSource, *what: Any) -> Callable[[int], np.ndarray]:
        """Words for one draw, which takes one of the source's."""
        if not self.unprotected:
            self._note(("draw", *what))
        return np.random.PCG64(int(source._generator.random_raw())).random_raw

    def _words(self) -> Callable[..., np.ndarray]:
        return lambda source, n: self._cut(self._draw(source, "words"), n)

    def _labels(self) -> Callable[..., np.ndarray]:
        def labels(key: bytes, first: int, n: int, parts: int) -> np.ndarray:
            self._note(("labels", key, parts))
            return keyed_labels(key, first + self.missing, n, parts)

        return labels

    def _rounded_gaussian(self) -> Callable[..., np.ndarray]:
        def gaussian(source: NoiseSource, sd: Any, size: Any) -> np.ndarray:
            return rounded_gaussian(self._draw(source, "gaussian", bits(sd), size), sd, size)

        return gaussian


def _whole(query: Any, total: Any) -> Any:
    """What a release is computed from, so that it can be compared."""
    if isinstance(query, SmoothQuery):
        return total
    total = np.array(total, dtype=np.float64)
    if getattr(query, "symmetric", False):
        return symmetric_from_upper(total[np.triu_indices(query.size)], query.size)
    return total.ravel()


def _check(actual: Run, other: Run) -> None:
    """That the sums are near, and the outcomes the same."""
    if len(other.noted) != len(actual.noted):
        raise Leak("asked", f"{len(other.noted)} things instead of {len(actual.noted)}")
    told = 0.0
    for query, one, two in zip(actual.queries, actual.sums, other.sums, strict=True):
        moved, most = _distance(query, one, two)
        if not moved <= most:
            raise Leak("moved", f"{query} by {moved} instead of {most}")
        if isinstance(query, GaussianQuery):
            told += (moved / query.noise_sd) ** 2
    if isinstance(actual.event, GaussianEvent) and math.sqrt(told) > actual.event.mu:
        raise Leak("moved", f"all queries together by {math.sqrt(told)}, not {actual.event.mu}")
    if actual.outcome != other.outcome:
        raise Leak("told", "; ".join(_differences(actual.outcome, other.outcome)))


def _distance(query: Any, one: Any, other: Any) -> tuple[float, float]:
    """How far what a release is computed from moved, and how far it may."""
    if isinstance(query, SmoothQuery):
        return _smooth_distance(query, one, other)
    if isinstance(query, LaplaceQuery):
        moved = float(np.abs(one - other).sum())
        return moved, query.sensitivity + 2 * query.rounding
    if query.name == "span":
        # Directions are rotated at random, so the nearest of all rotations counts; the sensitivity
        # is that of computed spans.
        return _span_distance(one, other), query.sensitivity
    with np.errstate(over="ignore"):
        moved = float(np.linalg.norm(one - other))
    return moved, query.sensitivity * (1 + query.norm_error) + 2 * query.rounding


def _span_distance(one: np.ndarray, other: np.ndarray) -> float:
    """For as many directions as would be orthonormal."""
    k = round(float(one @ one))
    return nearest(one.reshape(k, -1), other.reshape(k, -1))


def nearest(one: np.ndarray, other: np.ndarray) -> float:
    """``min ||R V - V'||_F`` over orthogonal R."""
    left, _, right = linalg.svd(other @ one.T)
    return float(np.linalg.norm(left @ right @ one - other))


def _smooth_distance(query: SmoothQuery, one: Any, other: Any) -> tuple[float, float]:
    """By the theorem of smooth sensitivities, as the most of what each of its claims allows.

    Both sensitivities are at least the distance, and no further apart than they may be.
    """
    claimed, (beta, _) = query.sensitivity, query.noise
    mine, others = (claimed.smooth(x.gap, beta) for x in (one, other))
    distance = nearest(one.directions, other.directions)
    shares = [
        distance / min(mine, others),
        distance / min(claimed.local(one.gap), claimed.local(other.gap)),
        abs(math.log(mine / others)) / beta,
        abs(one.gap - other.gap) / claimed.step,
    ]
    return max(shares), 1.0


def bits(value: Any) -> Any:
    """All that a result is made of, so that two are equal only if they are to the bit."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return "array", value.shape, [bits(entry) for entry in value.ravel()]
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return "number", value.dtype.str, value.tobytes()
    if isinstance(value, float):
        return float.hex(value)
    if value is None or isinstance(value, bool | int | str | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(key): bits(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value).__name__, [bits(entry) for entry in value]
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return value.__qualname__
    held = structs.asdict(value) if isinstance(value, Struct) else vars(value)
    return type(value).__name__, bits(held)  # whatever has been put there


def _differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two results differ."""
    if one == other:
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        names = sorted(set(one) | set(other))
        return [d for n in names for d in _differences(one.get(n), other.get(n), f"{where}.{n}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [d for i, (a, b) in pairs for d in _differences(a, b, f"{where}[{i}]")]
    return [f"{where}: {one} instead of {other}"]
