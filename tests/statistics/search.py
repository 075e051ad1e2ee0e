"""A search for neighbours that move a statistic further than it claims.

It knows nothing of any one statistic but the numbers that it is made of. Records are tried at the
bounds, near to them and far beyond, opposite, orthogonal, along coordinates and along the
statistic's own vectors; what moved the total most is then changed at random, as long as that helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from skdppca.statistics import Statistic
from skdppca.statistics.base import Kind

from ..private_data_of import ADJACENCIES

# Lengths of the records that are tried first, over the lengths that the statistic is made of; and
# lengths that overflow or underflow when they are squared.
FACTORS = (0.5, 1.0, 1.001, 3.0)
EXTREME = (5e-324, 1e-160, 1e3, 1e160, 1.7e308)

# Records that are tried as they stand, and changes that are tried from each start.
MOST_FIRST, CHANGES = 100, 30


@dataclass(frozen=True)
class Neighbours:
    """Data sets that differ in one record: it comes to others, or is there in many shapes.

    Parameters
    ----------
    total : callable
        Of a list of records, the exact sum; a record is an array of shape (rows, features).
    others : list of ndarray
        The records that all data sets share.
    several_rows : bool
        A record may have more than one row.
    may_miss : bool
        An entry may be absent.
    near : callable or None
        Whether a record may be exchanged for another; None for any.
    """

    total: Callable[[list[np.ndarray]], np.ndarray]
    others: list[np.ndarray]
    several_rows: bool = False
    may_miss: bool = False
    near: Callable[[np.ndarray, np.ndarray], bool] | None = None


def furthest(
    statistic: Statistic, neighbours: Neighbours, known: list[np.ndarray], seed: int = 0
) -> dict[str, float]:
    """How far the total moved at most, by adjacency.

    Parameters
    ----------
    known : list of ndarray
        Records to try besides, for instance those of which a proof says that they are the worst.
    """
    rng = np.random.default_rng(seed)
    pool = _Pool(neighbours, statistic.norm)
    first = [*known, *_first_records(statistic, neighbours, rng)]
    for record in [*known, *(first[i] for i in rng.permutation(len(first))[:MOST_FIRST])]:
        pool.add(record)
    for adjacency in ADJACENCIES:
        for _ in range(CHANGES):
            a, b = pool.worst(adjacency)
            pool.add(_changed(a, b, neighbours, rng))
            if adjacency == "replace-one":
                pool.add(_changed(b, a, neighbours, rng))
    return {adjacency: pool.moved[adjacency] for adjacency in ADJACENCIES}


class _Pool:
    """Records that were tried, with the totals that they lead to."""

    def __init__(self, neighbours: Neighbours, norm: int) -> None:
        self.neighbours, self.norm = neighbours, norm
        self.without = np.ravel(neighbours.total(neighbours.others))
        self.records: list[np.ndarray] = []
        self.totals = np.empty((0, self.without.size))
        self.moved = dict.fromkeys(ADJACENCIES, -1.0)
        self.pair = dict.fromkeys(ADJACENCIES, (0, 0))

    def add(self, record: np.ndarray) -> None:
        others, near = self.neighbours.others, self.neighbours.near
        total = np.ravel(self.neighbours.total([*others, record]))
        assert np.isfinite(total).all(), f"{record} makes the total no number"
        self.records.append(record)
        self.totals = np.vstack([self.totals, total])
        last = len(self.records) - 1
        moved = float(np.linalg.norm(total - self.without, self.norm))
        if near is None and moved > self.moved["add-remove"]:
            self.moved["add-remove"], self.pair["add-remove"] = moved, (last, last)
        apart = np.linalg.norm(self.totals - total, self.norm, axis=1)
        if near is not None:
            apart[[not near(record, other) for other in self.records]] = 0.0
        other = int(np.argmax(apart))
        for adjacency in ("replace-one",) if near is None else ADJACENCIES:
            if apart[other] > self.moved[adjacency]:
                self.moved[adjacency], self.pair[adjacency] = float(apart[other]), (last, other)

    def worst(self, adjacency: str) -> tuple[np.ndarray, np.ndarray]:
        a, b = self.pair[adjacency]
        return self.records[a], self.records[b]


def _first_records(
    statistic: Statistic, neighbours: Neighbours, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    d = neighbours.others[0].shape[1]
    points, lengths = [np.zeros(d)], [1.0]
    directions = [*np.eye(d), np.ones(d) / math.sqrt(d)]
    for numbers in _numbers(statistic):
        finite = numbers[np.isfinite(numbers)]
        if numbers.ndim <= 1:
            lengths += [abs(x) for x in finite if x]
        if numbers.ndim == 1 and len(numbers) == d:
            points.append(numbers)
        if numbers.ndim and numbers.shape[-1] == d:
            rows = numbers.reshape(-1, d)
            directions += list(rows[np.isfinite(rows).all(axis=1)])
    directions += list(rng.normal(size=(3, d)))
    units = [x / np.linalg.norm(x) for x in directions if np.any(x)]
    lengths = sorted({f * x for x in lengths for f in FACTORS} | {math.sqrt(x) for x in lengths})
    yield from (point[None] for point in points)
    for point in points:
        for unit in units:
            for length in (*lengths, *EXTREME):
                for sign in (1, -1):
                    with np.errstate(all="ignore"):
                        row = point + sign * length * unit
                    row = np.nan_to_num(row, posinf=1.7e308, neginf=-1.7e308)
                    yield row[None]
                    if neighbours.several_rows:
                        yield np.repeat(row[None], 40, axis=0)
                        yield np.vstack([row, point, 2 * point - row])
                        yield point + length * np.eye(d)[: rng.integers(1, d + 1)]


def _numbers(kind: Kind) -> Iterator[np.ndarray]:
    """All arrays and numbers that a kind is made of."""
    for field in fields(kind):
        value = getattr(kind, field.name)
        if isinstance(value, Kind):
            yield from _numbers(value)
        elif value is not None and not isinstance(value, bool):
            yield np.asarray(value, dtype=np.float64)


def _off(record: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Without its part along a row of the other record."""
    along = np.nan_to_num(other[rng.integers(len(other))])
    size = np.abs(along).max()
    along = along / size if size else along
    square = along @ along
    return record - np.outer(np.nan_to_num(record) @ along, along) / square if square else record


# Of a record x, another one and a generator: scaled, shaken, its features turned or shuffled, made
# sparse, or moved off the other.
OF_ALL = (
    lambda x, other, rng: x * math.exp(rng.normal()),
    lambda x, other, rng: (
        x
        + (np.nanmax(np.abs(x), initial=1e-3) * 10 ** rng.uniform(-3, 0)) * rng.normal(size=x.shape)
    ),
    lambda x, other, rng: x * rng.choice([-1.0, 1.0], size=x.shape[1]),
    lambda x, other, rng: x[:, rng.permutation(x.shape[1])],
    lambda x, other, rng: np.where(rng.random(x.shape) < 0.3, 0.0, x),
    _off,
)
# Longer or shorter.
OF_ROWS = (
    lambda x, other, rng: np.vstack([x, (x, other, -x, np.zeros_like(x))[rng.integers(4)]])[:100],
    lambda x, other, rng: x[: rng.integers(1, len(x) + 1)],
)
# With entries that are absent, or with none.
OF_HOLES = (
    lambda x, other, rng: np.where(rng.random(x.shape) < 0.3, np.nan, x),
    lambda x, other, rng: np.nan_to_num(x),
)


def _changed(
    record: np.ndarray, other: np.ndarray, neighbours: Neighbours, rng: np.random.Generator
) -> np.ndarray:
    """The record after one or two random changes."""
    changes = [
        *OF_ALL,
        *(OF_ROWS if neighbours.several_rows else ()),
        *(OF_HOLES if neighbours.may_miss else ()),
    ]
    out = record.copy()
    with np.errstate(all="ignore"):
        for _ in range(rng.integers(1, 3)):
            out = changes[rng.integers(len(changes))](out, other, rng)
    return np.clip(out, -1.7e308, 1.7e308)
