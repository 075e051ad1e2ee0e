"""Public facts that a method may use, and the only way to learn more of the records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._text import check_unit
from .noise import GaussianQuery, LaplaceQuery, NoiseSource
from .privacy import PrivacyFilter
from .records import Records, Source, Step, precision_of
from .statistics import (
    Count,
    MeanRows,
    Scaled,
    Scores,
    Shifted,
    Statistic,
)

__all__ = ["Answer", "PrivateData", "Public", "Source"]

# The largest part of what is left that is kept for later, as a share of mu^2.
MOST_KEPT = 0.75

# Octaves about `PrivateData.magnitude` within which norms of records leave it where it is. The
# exponent of its largest power, which the numbers of a question on the wire hold.
NEAR_OCTAVES = 12
LARGEST_EXPONENT = 99


@dataclass(frozen=True)
class Public:
    """All that may steer code before anything is released.

    Parameters
    ----------
    n_features : int
    adjacency : {"add-remove", "replace-one"}
    unit : str
        "row", or the name of what a group of rows stands for.
    is_sparse : bool
    n_records : int or None
        Known under replace-one; None under add-remove, where it is private.
    in_memory : bool
        All records are here, so that more than sums over them may be asked.
    """

    n_features: int
    adjacency: str
    unit: str = "row"
    is_sparse: bool = False
    n_records: int | None = None
    in_memory: bool = False

    def __post_init__(self) -> None:
        check_unit(self.unit)

    @property
    def grouped(self) -> bool:
        """True if a record is a group of rows."""
        return self.unit != "row"


@dataclass(frozen=True)
class Answer:
    """A total with noise; released.

    Parameters
    ----------
    value : ndarray
        Value of the statistic, in its shape.
    noise_sd : float
        Standard deviation of the noise in every entry (of the diagonal, if it is symmetric).
    """

    value: np.ndarray
    noise_sd: float


@dataclass(frozen=True)
class PrivateData:
    """Records behind a budget: one asks a statistic at a price, and gets a noisy answer.

    Parameters
    ----------
    source : Source
        Who evaluates the sums.
    public : Public
    budget : PrivacyFilter
        A Gaussian-DP filter, which pays for every answer.
    noise : NoiseSource
    centre : ndarray of shape (n_features,)
        What the records are looked at from; public or released. Absent entries are read as its.
    norm_bound : float or None
        Public bound on the records, by which they are clipped.
    n : float
        The number of records, as far as it is known: public or released.
    typical_norm : float or None
        About the median of what records are clipped by (`clip_measure`) about the centre, if that
        was released: where to look for other norms.
    present : ndarray of shape (n_features,) or None
        Share of every feature's entries that are there, if some may be absent; released.
    sample : Source or None
        A random part of the records, if norms are to be asked of that
        (`mechanisms.norm_histogram.with_sample`).
    sample_share : float
        With what probability a record is in it.
    magnitude : float
        A power of 2 near the records' norms, which histograms of norms are about; public or
        released.
    unseen : bool
        The noise hid the records' norms where they were looked for; released.
    """

    source: Source
    public: Public
    budget: PrivacyFilter
    noise: NoiseSource
    centre: np.ndarray
    norm_bound: float | None = None
    n: float = math.nan
    typical_norm: float | None = None
    present: np.ndarray | None = None
    sample: Source | None = None
    sample_share: float = 1.0
    magnitude: float = 1.0
    unseen: bool = False

    @property
    def n_features(self) -> int:
        """The number of features of these records, as they are seen."""
        return len(self.centre)

    @property
    def exact(self) -> bool:
        """True if answers have no noise: the caller's choice, not private."""
        return math.isinf(self.budget.mu)

    @property
    def remaining(self) -> float:
        """The mu that is not spent yet."""
        return self.budget.remaining

    def fraction(self, fraction: float) -> float:
        """The mu whose square is `fraction` of the square of the whole budget's."""
        return self.budget.fraction(fraction)

    def ask(self, statistic: Statistic, mu: float | None = None, name: str = "") -> Answer:
        """A sum over the records, with the noise that makes it `mu`-GDP.

        Parameters
        ----------
        statistic : Statistic
        mu : float, optional
            What it costs; by default all that is left.
        name : str
            For the report.

        Raises
        ------
        RuntimeError
            If it costs more than is left: a fault of the method, and nothing was computed.
        """
        name = name or type(statistic).__name__
        query = self._query(statistic, name)
        paid = self.budget.pay(name, self.remaining if mu is None else mu, query)
        return Answer(self.source.answer(statistic, paid, self.noise), paid.noise_sd)

    def together(self, *questions: tuple[PrivateData, Statistic]) -> None:
        """Say which sums are asked next, none of which waits for another's answer.

        Nothing is charged or released by it: each is still asked, paid and answered by itself. Of
        records that are not in memory, their exact totals are then found in one pass.

        Parameters
        ----------
        *questions : (PrivateData, Statistic)
            These records, through some views, and what is asked of them.
        """
        self.source.together([(data.source, statistic) for data, statistic in questions])

    def ask_laplace(self, statistic: Statistic, epsilon: float, name: str) -> Answer:
        """A sum over the records, with the Laplace noise that makes it `epsilon`-DP.

        For methods whose guarantee is not Gaussian: their event pays, and the Gaussian budget is 0.

        Parameters
        ----------
        statistic : Statistic
            With a sensitivity in the l1 norm.
        epsilon : float
            What it costs: the method's part of the epsilon of its event.
        name : str
            For the report.

        Raises
        ------
        RuntimeError
            If there is a Gaussian budget, which would not pay for it; nothing was computed.
        """
        sensitivity = self._sensitivity(statistic, norm=1)
        precision = precision_of(statistic, self.source.layout)
        query = LaplaceQuery(
            name,
            epsilon,
            sensitivity * (1 + precision["norm_error"]),
            size=math.prod(statistic.shape),
            rounding=precision["rounding"],
            part=self.budget.part,
        )
        self.budget.record(query)
        return Answer(self.source.answer(statistic, query, self.noise), query.noise_sd)

    def noise_sd(self, statistic: Statistic, mu: float) -> float:
        """Standard deviation of the noise that `ask` would add; public, and nothing is asked."""
        return float(self._query(statistic, "")(mu).noise_sd)

    def effective(self, mu: float) -> float:
        """The mu whose noise in memory is as large as the noise that `ask` adds at `mu`.

        Whatever is decided by how much noise there will be is decided by this. It costs nothing,
        and no answer costs or hides less by it. Over sites it is less than `mu`: see
        `Source.noise_factor`, which is public.
        """
        return mu / self.source.noise_factor

    def _query(self, statistic: Statistic, name: str) -> Callable[[float], Any]:
        """Return the query of a statistic as a function of its cost."""
        sensitivity = self._sensitivity(statistic, norm=2)
        return self.source.query(statistic, sensitivity, name, self.budget.part)

    def _sensitivity(self, statistic: Statistic, norm: int) -> float:
        """Return the sum's sensitivity to one record, in the norm that the noise is scaled to."""
        if statistic.norm != norm and math.prod(statistic.shape) != 1:
            door = "ask" if statistic.norm == 2 else "ask_laplace"
            raise TypeError(
                f"{type(statistic).__name__} bounds an l{statistic.norm} norm, but this noise "
                f"needs an l{norm} norm; ask it with `{door}`"
            )
        return statistic.sensitivity(self.public.adjacency)

    def ask_count(self, mu: float) -> PrivateData:
        """Return the data with the number of records: exact if public, else noisy and charged.

        A noisy count is at least 1. One that was asked for before is kept, and costs nothing.
        """
        if self.public.n_records is not None:
            return replace(self, n=float(self.public.n_records))
        if not math.isnan(self.n):
            return self
        n = float(self.ask(Count(), mu, "number of records").value)
        return replace(self, n=max(1.0, n))

    def centred_at(self, centre: np.ndarray) -> PrivateData:
        """Return the data around another centre that is public or was released."""
        return replace(self, centre=centre, typical_norm=None)

    def near(self, norm: float, octaves: float = NEAR_OCTAVES) -> PrivateData:
        """Look for norms near one that is public or was released, if that is far away.

        Parameters
        ----------
        norm : float
            Positive.
        octaves : float
            Nearer to the magnitude it is not far.
        """
        exponent = math.log2(norm)
        if abs(exponent - math.log2(self.magnitude)) <= octaves:
            return self
        most = LARGEST_EXPONENT
        return replace(self, magnitude=2.0 ** min(max(round(exponent), -most), most))

    def through(self, view: Step) -> PrivateData:
        """Return the records through a view that keeps their features in place."""
        sample = None if self.sample is None else self.sample.through(view)
        return replace(self, source=self.source.through(view), sample=sample)

    def shifted(self) -> PrivateData:
        """Return the records less their centre, which is 0 then: for many passes around one centre.

        Sparse records, whose centre is left to the products, stay as they are.
        """
        if self.source.layout.is_sparse:
            return self
        shifted = self.through(Shifted(self.centre, rounded=not self.exact))
        return replace(shifted, centre=np.zeros(self.n_features))

    def scaled(self, scale: np.ndarray) -> PrivateData:
        """Return the records with features divided by public or released numbers."""
        return replace(self.through(Scaled(scale)), centre=self.centre / scale, typical_norm=None)

    def projected(self, directions: np.ndarray) -> PrivateData:
        """Return the centred records as their products with released directions."""
        scores = self.through(Scores(directions, self.centre, rounded=not self.exact))
        return replace(scores, centre=np.zeros(len(directions)), present=None)

    def mean_rows(self) -> PrivateData:
        """Return the records as single rows: a group becomes its mean row.

        Absent entries become the centre's now, and stay what they are wherever it moves.
        """
        rows = self.through(MeanRows(self.centre))
        return replace(rows, public=replace(self.public, unit="row"))

    def shuffled(self) -> PrivateData:
        """Return the records in a random cyclic order, for statistics of neighbours in it."""
        return replace(self._whole, source=self.source.shuffled(self.noise))

    def sampled(self, taken: int, of: int) -> PrivateData:
        """Return the data with a random subset: each record is in it with probability taken / of.

        If the source cannot have one at once, there is none.
        """
        part = self.source.sample(taken, of, self.noise)
        return self if part is None else replace(self, sample=part, sample_share=taken / of)

    @property
    def of_sample(self) -> PrivateData:
        """The random part, about the same centre and paid from the same budget; all without one."""
        if self.sample is None:
            return self
        public = replace(self.public, n_records=None)
        n = self.n * self.sample_share
        return replace(self._whole, source=self.sample, public=public, n=n)

    @property
    def _whole(self) -> PrivateData:
        """Data without the random subset of the records."""
        return replace(self, sample=None, sample_share=1.0)

    def split(self, mu: float) -> PrivateData:
        """Return the data with `mu` of the budget, for a step that asks several times."""
        return replace(self, budget=self.budget.split(mu))

    def reserving(self, fraction: float) -> PrivateData:
        """Return the data with the remaining budget less a share of the whole, kept for later."""
        if self.exact:
            return self.split(self.remaining)
        # a centre that is far costs more than usual: then less is kept, and never all
        kept = min(self.fraction(fraction), self.remaining * math.sqrt(MOST_KEPT))
        return self.split(math.sqrt(self.remaining**2 - kept**2) * (1 - 1e-12))  # both were rounded

    def parts(self, shares: Sequence[int]) -> list[PrivateData]:
        """Disjoint random parts of the records, each with all of the budget that is left.

        See `PrivacyFilter.in_parallel` for the proof. A part's number of records is not public,
        even where that of all is.
        """
        sources = self.source.parts(shares, self.noise)
        budgets = self.budget.in_parallel(len(shares))
        public = replace(self.public, n_records=None)
        return [
            replace(
                self._whole,
                source=source,
                public=public,
                budget=budget,
                n=self.n * share / sum(shares),
            )
            for source, budget, share in zip(sources, budgets, shares, strict=True)
        ]

    def unprotected_records(self, what: str) -> Records:
        """The records themselves, for what is no sum: **the caller answers for its privacy**.

        Nothing that is computed from them may leave without noise; see `pay_for`.

        Parameters
        ----------
        what : str
            What is computed from them.

        Raises
        ------
        TypeError
            If the records are not all here.
        """
        return self.source.whole(what)

    def pay_for(
        self, name: str, mu: float, sensitivity: float, *, size: int = 1, rounding: float
    ) -> GaussianQuery:
        """Pay for numbers that are no sum: **the caller proves the sensitivity**.

        The query's `release` adds the noise. A sum is asked with `ask`: the proof is then that of
        its statistic, and the source may be far away.

        Parameters
        ----------
        name : str
            For the report.
        mu : float
            What it costs.
        sensitivity : float
            How far one record can move the exact numbers, in Euclidean norm.
        size : int
            How many numbers.
        rounding : float
            How far they may be from exact, in Euclidean norm.

        Raises
        ------
        RuntimeError
            If it costs more than is left: a fault of the method.
        """
        self.source.whole(name)
        return self.budget.pay_for(name, mu, sensitivity, size=size, rounding=rounding)
