"""Sources answer for records wherever these are; arrays are here, and `OPENERS` lists the others.

No source but `Records` is known here: files, the workers of a cluster and sites are sources that
stand around the core.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import numpy as np

from ..noise import GaussianQuery, NoiseSource
from .asked import Step
from .layout import Layout

if TYPE_CHECKING:
    from ._records import Records

# Types of X whose rows are not in memory, each by its module, or by its module and its name, and
# the function that makes a `Collection` of such an X: it is imported when one is met.
OPENERS = {
    "dask": "skdppca.out_of_core.dask_table:DaskCollection",
    "dask_expr": "skdppca.out_of_core.dask_table:DaskCollection",
    "pyarrow._dataset.Dataset": "skdppca.out_of_core.file_table:Dataset",
    "pyarrow._dataset.Scanner": "skdppca.out_of_core.file_table:refuse_reader",
    "pyarrow.lib.RecordBatchReader": "skdppca.out_of_core.file_table:refuse_reader",
}


class Collection(Protocol):
    """X whose rows are not in memory."""

    def table(self, estimator: Any, groups: Any) -> Any:
        """Return the `Table` that `fit` reads."""

    def apply(self, estimator: Any, method: str) -> Any:
        """Return what a method of a fitted estimator gives for the rows; nothing is computed."""

    def check_output(self, estimator: Any) -> None:
        """Refuse an output of `transform` for which all scores would be computed."""

    def check_readable(self) -> None:
        """Refuse rows that may not fit into memory, where they are read as an array."""


def collection_of(X: Any) -> Collection | None:
    """Return the collection that X is; None for what is in memory."""
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

    @property
    @abstractmethod
    def largest_norm(self) -> float:
        """The largest norm of a row, about 0; exact and private."""

    @abstractmethod
    def total(self, statistic: Any) -> np.ndarray:
        """The exact sum, which only `answer` and `PrivateData` may see."""

    @abstractmethod
    def through(self, view: Step) -> Self:
        """The same records through a view."""

    @abstractmethod
    def parts(self, shares: Sequence[int], noise: NoiseSource) -> Sequence[Self]:
        """Disjoint parts; every record draws its own, without a look at data or other records."""

    @abstractmethod
    def shuffled(self, noise: NoiseSource) -> Self:
        """The same in a random cyclic order; every record draws a word, without a look at data."""

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

        As by `parts`. None where it cannot be had at once, which follows from public facts.
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
        """What a statistic is asked with, by what it costs: the noise is that of the query."""
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
        """What the report says of where the rows are, once all is released."""
        return {}

    def close(self) -> None:
        """Let go of what was held for a fit, whether it ended well or not."""
        return


def precision_of(statistic: Any, layout: Layout) -> dict[str, Any]:
    """What a query must know of a sum besides its sensitivity; refuses what is not proven."""
    statistic.check(layout)
    rounding, shape = statistic.rounding(layout), statistic.shape
    return {
        "size": shape[0] if statistic.symmetric else math.prod(shape),
        "symmetric": statistic.symmetric,
        "norm_error": rounding.norms,
        "rounding": rounding.total,
    }
