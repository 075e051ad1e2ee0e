"""Sources answer for records wherever these are, through views and statistics.

Arrays are here, and `OPENERS` lists what else there is. No source but `Records` is known here:
files, the workers of a cluster and sites are sources that stand around the core.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np

from ..noise import GaussianQuery, NoiseSource

if TYPE_CHECKING:
    from ._records import Block, Records


# The declared domain: the most rows for which the rounding errors of the sums are bounded.
MAX_ROWS = 2**30

UNIT_ROUNDOFF = 2.0**-53


def summation_error(terms: float, span_rows: int, inner: int) -> float:
    """Bound on the rounding error, in Frobenius norm, of any sum over blocks of records.

    Parameters
    ----------
    terms : float
        Largest norm of what one record adds (of its parts, where they are added one by one).
    span_rows : int
        Rows that are summed in plain floating point before a compensated sum takes over.
    inner : int
        Length of the inner products within one record.

    Notes
    -----
    Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 4: whatever the order,
    n terms are summed with an error of at most ``n u`` times the sum of their absolute values,
    and with Neumaier's correction of about ``2 u``. `MAX_ROWS` records of norm `terms` are
    assumed, because the true number is private.
    """
    return (span_rows + 2 * inner + 16) * UNIT_ROUNDOFF * MAX_ROWS * terms


# Rows of a span (or twice the features, if more), which are summed in plain floating point. The
# sums of spans are added with compensation. It sets the rounding error that a release carries.
SPAN_ROWS = 4096


class Layout(NamedTuple):
    """Layout of records, without a word of their values: public, and all that rounding follows.

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


# The closed set: every measure, statistic and view under its own name.
KINDS: dict[str, type[Kind]] = {}


@dataclass(frozen=True, eq=False)
class Kind:
    """A frozen bundle of public or released numbers, known by the name of its class."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.__name__.startswith("_") or ABC in cls.__bases__:
            return
        if cls.__name__ in KINDS and KINDS[cls.__name__].__module__ != cls.__module__:
            raise TypeError(f"there is a {cls.__name__} in the closed set; choose another name")
        KINDS[cls.__name__] = cls

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Hashable; equal exactly if the kind and the bits of all its numbers are."""
        return type(self), *(_key(getattr(self, field.name)) for field in fields(self))


class Step(Protocol):
    """From records to others, each a function of one that went in: a view, or a random part."""

    def of(self, records: Records) -> Records:
        """The records as they are seen."""


class View(Kind, ABC):
    """A step that travels: all it depends on is in its fields."""

    @abstractmethod
    def of(self, records: Records) -> Records:
        """The records as they are seen."""


class Measure(Kind, ABC):
    """A number (or a few) a record, private, and a bitwise function of that record alone."""

    # Number of records whose numbers change if one record comes or goes, or is exchanged.
    moved: ClassVar[int] = 1

    @abstractmethod
    def error(self, layout: Layout) -> float:
        """Bound on the relative error of a number."""

    @property
    def degree(self) -> int:
        """The power of X's unit: one for lengths, two for products, none for counts."""
        return 1

    @property
    def imputed(self) -> np.ndarray | None:
        """Value that replaces an absent entry: the centre's entry, so that it deviates by 0."""
        return getattr(self, "centre", None)

    def width(self, layout: Layout) -> int:
        """Numbers a record; 0 for a single one that is no row of numbers."""
        return 0

    def needs(self, layout: Layout) -> Measure | None:
        """The measure that this one is computed from besides the block, if there is one."""
        return None

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        """The numbers of a block's records."""
        raise NotImplementedError(f"{type(self).__name__} is found for all records at once")

    def of_all(self, records: Records) -> np.ndarray | None:
        """The numbers of all records, if they are not found block by block."""
        return None


# The most measures that are kept, to be asked again.
KEPT_MEASURES = 3
# The most numbers a record of a narrow measure; of wider ones only the last is kept.
NARROW = 2


class MeasureCache:
    """The last few measures of the same records, by the bits of what was measured; a last matrix.

    It is never sent, and never pickled.
    """

    def __init__(self, measured: Mapping[tuple[Any, ...], np.ndarray] | None = None) -> None:
        self.measured = OrderedDict(measured or {})
        self.matrix: tuple[tuple[Any, ...], np.ndarray] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def __contains__(self, measure: Measure) -> bool:
        return measure.key in self.measured

    def __getitem__(self, measure: Measure) -> np.ndarray:
        self.measured.move_to_end(measure.key)
        return self.measured[measure.key]

    def __setitem__(self, measure: Measure, numbers: np.ndarray) -> None:
        self.measured[measure.key] = numbers
        while len(self.measured) > KEPT_MEASURES:
            self.measured.popitem(last=False)

    def make_room(self, width: int) -> None:
        """Drop the last wide measure before another one is made: both are as long as the data."""
        if width > NARROW:
            for key in [k for k, kept in self.measured.items() if _width(kept) > NARROW]:
                del self.measured[key]


def _width(numbers: np.ndarray) -> int:
    return 1 if numbers.ndim == 1 else numbers.shape[1]


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value.key if isinstance(value, Kind) else value


# Types of X whose rows are not in memory, each by its module, or by its module and its name, and
# the function that makes a `Collection` of such an X: it is imported when one is met.
OPENERS = {
    "dask": "skdppca.out_of_core.dask_table:open_collection",
    "dask_expr": "skdppca.out_of_core.dask_table:open_collection",
    "pyarrow._dataset.Dataset": "skdppca.out_of_core.file_table:open_dataset",
    "pyarrow._dataset.Scanner": "skdppca.out_of_core.file_table:refuse_reader",
    "pyarrow.lib.RecordBatchReader": "skdppca.out_of_core.file_table:refuse_reader",
}


@dataclass(frozen=True)
class Collection:
    """X whose rows are not in memory: `fit` takes it as any other X, and no other method does.

    Parameters
    ----------
    table : callable
        Returns the `Table` that `fit` reads, of the estimator and the groups.
    refusal : str
        Tells a method that needs the rows in memory what to give it instead.
    """

    table: Callable[[Any, Any], Any]
    refusal: str = "the rows of X are not in memory, and only fit reads them; give them as an array"

    def apply(self, estimator: Any, method: str) -> Any:
        """Return what a method of a fitted estimator gives for the rows; nothing is computed."""
        self.check_readable()

    def check_output(self, estimator: Any) -> None:
        """Refuse an output of `transform` for which all scores would be computed."""
        self.check_readable()

    def check_readable(self) -> None:
        """Refuse rows that may not fit into memory, where they are read as an array."""
        raise TypeError(self.refusal)


def collection_of(X: Any) -> Collection | None:
    """Return the collection that X is; None for what is in memory."""
    if isinstance(X, Collection):
        return X
    for kind in type(X).__mro__:
        name = f"{kind.__module__}.{kind.__name__}."
        for start, opener in OPENERS.items():
            if name.startswith(f"{start}."):
                module, _, function = opener.partition(":")
                return cast(Collection, getattr(import_module(module), function)(X))
    return None


class Source(ABC):
    """Records, wherever they are, as they are seen through views; nothing in it is assigned.

    Views and statistics are all that reaches whoever holds the records.
    """

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Public; all that the rounding of a total may depend on."""

    @property
    @abstractmethod
    def private_n(self) -> int:
        """The exact number of records."""

    @abstractmethod
    def total(self, statistic: Any) -> np.ndarray:
        """The exact sum, which only `answer` and `PrivateData` may see."""

    @abstractmethod
    def through(self, view: Step) -> Self:
        """Return the records through a view."""

    @abstractmethod
    def parts(self, shares: Sequence[int], noise: NoiseSource) -> Sequence[Self]:
        """Disjoint parts; every record draws its own, without a look at data or other records."""

    @abstractmethod
    def shuffled(self, noise: NoiseSource) -> Self:
        """Return the records in a random cyclic order; each draws a word, blind to the data."""

    @abstractmethod
    def whole(self, what: str) -> Records:
        """All records, for what is no sum over them.

        Raises
        ------
        TypeError
            They are not all here.
        """

    def sample(self, taken: int, of: int, noise: NoiseSource) -> Source | None:
        """A random part in memory: every record is in it with probability ``taken / of``.

        The subset is drawn as by `parts`. None where it cannot be had at once, which follows from
        public facts.
        """
        return None

    def together(self, questions: Sequence[tuple[Source, Any]]) -> None:
        """Say which sums over these records come next, none of which waits for another's answer.

        Nothing is asked or computed by it. Whoever reads the records for one of the sums may add
        up the others as well and hold their totals, exact and private, until they are asked for.

        Parameters
        ----------
        questions : sequence of (Source, Statistic)
            The records through some views, and what is asked of them.
        """
        return

    def query(
        self, statistic: Any, sensitivity: float, name: str, part: str
    ) -> Callable[[float], Any]:
        """Return a statistic's query as a function of its cost: the noise is that of the query."""
        precision = precision_of(statistic, self.layout)
        return lambda mu: GaussianQuery(name, mu, sensitivity, part=part, **precision)

    @property
    def noise_factor(self) -> float:
        """The sd of the noise in an answer, over that of a `GaussianQuery` of its cost; public."""
        return 1.0

    def answer(self, statistic: Any, query: Any, noise: NoiseSource) -> np.ndarray:
        """The sum, with the noise of a query that was paid for."""
        total = self.total(statistic)
        released = query.release(total if statistic.symmetric else np.ravel(total), noise)
        return np.reshape(released, statistic.shape)

    def details(self) -> dict[str, Any]:
        """Return the report's entries on where the rows are, once all is released."""
        return {}

    def close(self) -> None:
        """Let go of what was held for a fit, whether it ended well or not."""
        return


def precision_of(statistic: Any, layout: Layout) -> dict[str, Any]:
    """Return a query's facts on a sum beyond its sensitivity; refuse what is not proven."""
    statistic.check(layout)
    rounding, shape = statistic.rounding(layout), statistic.shape
    return {
        "size": shape[0] if statistic.symmetric else math.prod(shape),
        "symmetric": statistic.symmetric,
        "norm_error": rounding.norms,
        "rounding": rounding.total,
    }
