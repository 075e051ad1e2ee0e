"""Private means of the records' products with a few vectors, around a prediction (METHODS 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..noise import NoiseSource
from ..records import CANCELLATION, Block, Records, Residual
from .base import Public, Spender
from .centre import clip_weights
from .gaussian import UNIT_ROUNDOFF, summation_error
from .radius import COUNT_SLACK, MIN_EXCESS, private_radius
from .sensitivity import ball_sum

__all__ = ["BlockMean", "Gradient", "precise_residuals", "residual_norm_error"]

# Weight of the noise in the number of clipped records, and the most that are clipped (METHODS 3).
NOISE_WEIGHT = 8.0
MAX_EXCESS = 0.9


@dataclass(frozen=True)
class Gradient:
    """A noisy mean of ``A_i W``.

    Parameters
    ----------
    mean : ndarray of shape (p, d)
        The columns of G, as rows.
    noise_sd : float
        Of every entry.
    radius : float
        What the residuals were clipped to.
    """

    mean: np.ndarray
    noise_sd: float
    radius: float


@dataclass(frozen=True)
class BlockMean:
    """The mean of ``A_i W`` over the records, as often as the budget lasts.

    ``A_i = X_i^T X_i`` is the Gram matrix of a record's rows less the centre, projected off what
    was found before. Only its products with the p columns of W are formed, block by block; the
    noise follows how far they are from their prediction C, not how long they are.

    Parameters
    ----------
    records : Records
    n : float
        Their (noisy) number.
    public : Public
    centre : ndarray of shape (d,) or None
        Public or released.
    norm_bound : float or None
        Public bound on the root of ``||A_i||_F``: then no radius is searched.
    removed : ndarray of shape (q, d) or None
        Orthonormal rows that every ``A_i`` is projected off, on both sides.
    name : str
        Of the queries, for the report.
    part : str
        Which disjoint part of the records this is: only its own spender can pay for it.
    """

    records: Records
    n: float
    public: Public
    centre: np.ndarray | None = None
    norm_bound: float | None = None
    removed: np.ndarray | None = None
    name: str = "gradient"
    part: str = ""

    def without(self, directions: np.ndarray) -> BlockMean:
        """The same records, projected off these orthonormal rows."""
        if not len(directions):
            return replace(self, removed=None)
        # The products of sparse rows would not be projected.
        records = self.records.explicit() if self.records.is_sparse else self.records
        return replace(self, records=records, removed=directions)

    def assign(
        self, shares: Sequence[int], spender: Spender, noise: NoiseSource
    ) -> list[tuple[BlockMean, Spender]]:
        """Disjoint random parts of the records, each with all that `spender` has left for it.

        See `Records.assign` and `Spender.split`.
        """
        self._check(spender)
        return [
            (replace(self, records=records, n=self.n * share / sum(shares), part=paid.part), paid)
            for records, share, paid in zip(
                self.records.assign(shares, noise), shares, spender.split(len(shares)), strict=True
            )
        ]

    def __call__(
        self,
        directions: np.ndarray,
        prediction: np.ndarray,
        spender: Spender,
        mu_radius: float,
        mu: float,
        noise: NoiseSource,
        radius: float | None = None,
    ) -> Gradient:
        """Release ``C + mean clip_R(A_i W - C)``, R found privately.

        Parameters
        ----------
        directions, prediction : ndarray of shape (p, d)
            The columns of W and C as rows, public or released, orthogonal to what is removed.
        spender : Spender
        mu_radius, mu : float
            What the radius and the mean cost; nothing for the radius if it is known.
        radius : float, optional
            R, if it is known: public or released. A norm bound is one, too.
        """
        self._check(spender)
        residual = self._residual(directions, prediction)
        measured = None
        if radius is None:
            measured, radius = self._search(residual, mu, self.n, spender, mu_radius, noise)
        return self._release(residual, measured, radius, spender, mu, noise)

    def ranged_by(
        self,
        others: BlockMean,
        directions: np.ndarray,
        prediction: np.ndarray,
        spenders: tuple[Spender, Spender],
        noise: NoiseSource,
    ) -> Gradient:
        """The same with R found among other records; each part's spender spends all it has."""
        mine, theirs = spenders
        self._check(mine)
        others._check(theirs)
        residual = self._residual(directions, prediction)
        _, radius = others._search(residual, mine.left, self.n, theirs, theirs.left, noise)
        return self._release(residual, None, radius, mine, mine.left, noise)

    def _check(self, spender: Spender) -> None:
        if spender.part != self.part:
            raise RuntimeError(
                f"the spender pays for part {spender.part!r} of the records, but this is part "
                f"{self.part!r}; use the pairs that BlockMean.assign returns"
            )

    def _residual(self, directions: np.ndarray, prediction: np.ndarray) -> Residual:
        directions, prediction = (np.ascontiguousarray(x) for x in (directions, prediction))
        if np.abs(directions @ directions.T - np.eye(len(directions))).max(initial=0.0) > 1e-6:
            raise ValueError("directions must be orthonormal rows; orthonormalise them first")
        core = prediction @ directions.T
        within = np.ascontiguousarray(core @ directions)
        if np.linalg.norm(within - prediction) > 1e-12 * np.linalg.norm(prediction):
            return Residual(directions, prediction, self.centre, self.removed)
        return Residual(directions, within, self.centre, self.removed, core)

    @cached_property
    def _squares(self) -> np.ndarray:
        """Of rows that are not explicit: what every residual's norm needs of them."""
        nothing = np.zeros((0, self.records.n_features))
        rows = Residual(nothing, nothing, self.centre, self.removed)
        return self.records.map(lambda block: block.squares(rows), width=2)

    def _measure(self, residual: Residual) -> np.ndarray:
        """Norms of the residuals, then what their sum can reuse; private, a row a record."""
        if self.records.is_explicit:
            return self.records.map(lambda block: block.residual_norms(residual, None), width=1)
        width = 1 + len(residual.directions)
        return self.records.map(
            lambda block, known: block.residual_norms(residual, known), self._squares, width=width
        )

    def _search(
        self,
        residual: Residual,
        mu: float,
        n_mean: float,
        spender: Spender,
        mu_radius: float,
        noise: NoiseSource,
    ) -> tuple[np.ndarray | None, float]:
        """A radius among these records, for a mean of so many that is released at `mu`.

        Before it, what was measured to find it, if anything was.
        """
        if math.isinf(mu):
            return None, math.inf
        if self.norm_bound is not None:
            return None, self.norm_bound**2
        measured = self._measure(residual)
        noisy = NOISE_WEIGHT * math.sqrt(residual.directions.size) / (mu * n_mean)
        excess = max(max(MIN_EXCESS, noisy) * self.n, COUNT_SLACK / mu_radius)
        excess = min(excess, MAX_EXCESS * self.n)
        name = f"radius of the {self.name}"
        paid = (spender, mu_radius, self.public, noise)
        return measured, private_radius(measured[:, 0], excess, name, *paid)

    def _release(
        self,
        residual: Residual,
        measured: np.ndarray | None,
        radius: float,
        spender: Spender,
        mu: float,
        noise: NoiseSource,
    ) -> Gradient:
        records, terms = precise_residuals(self.records, residual, radius)
        size = residual.directions.shape
        query = spender.take(
            self.name,
            mu,
            ball_sum(radius, self.public.adjacency),
            size=size[0] * size[1],
            norm_error=residual_norm_error(records, len(residual.directions)),
            rounding=summation_error(terms, records.span_rows, records.n_features),
        )
        # Scores of dense rows have other last digits than those of sparse ones: what was measured
        # on other blocks is measured again.
        reused = measured is not None and records is self.records
        known = measured if reused else None if records.is_explicit else self._squares

        def add(out: np.ndarray, block: Block, known: np.ndarray | None) -> None:
            found = known if reused else block.residual_norms(residual, known)
            weights = clip_weights(found[:, :1], radius)
            weighted = np.hstack([weights, found[:, 1:] * weights])
            block.add_residuals(out, weighted, residual)

        total = records.fold(add, size, known)
        noisy = query.release(total.ravel(), noise).reshape(size) / self.n
        if self.removed is not None:
            noisy -= (noisy @ self.removed.T) @ self.removed
        return Gradient(residual.prediction + noisy, query.noise_sd / self.n, radius)


def precise_residuals(records: Records, residual: Residual, radius: float) -> tuple[Records, float]:
    """Records whose residuals sum precisely, and a bound on the norm of one record's terms.

    Formed record by record, residuals are no longer than the radius R. By products their sum is
    one of ``y s^T`` and ``-C``, of rows y less the centre c and scores s, and for sparse rows of
    ``-c s^T``. With the weight w that clips, ``w ||y|| ||s|| <= R + ||C||``; and ``w ||s||^2`` is
    at most twice that, unless s is no more than the rounding error of a product of c. Where such
    terms would round too much (seen on public numbers), and for sparse rows off removed
    directions, where they would not be bounded, residuals are formed one by one instead.
    """
    if records.is_explicit or math.isinf(radius):
        return records, radius
    d = records.n_features
    long = radius + float(np.linalg.norm(residual.prediction))
    terms = 2 * long
    if records.is_sparse and residual.centre is not None:
        far = float(np.linalg.norm(residual.centre))
        terms += far * (math.sqrt(2 * long) + 8 * d * UNIT_ROUNDOFF * far)
    bounded = residual.removed is None or not records.is_sparse
    if bounded and summation_error(terms, records.span_rows, d) <= 0.01 * radius:
        return records, terms
    return records.explicit(), radius


def residual_norm_error(records: Records, width: int) -> float:
    """Bound on the relative error of a residual's norm, and so of its norm after clipping."""
    d = records.n_features
    if records.is_explicit:
        return (2 * d * width + 16) * UNIT_ROUNDOFF
    # The square is what is left of terms that may be 1 / CANCELLATION times larger.
    return 3 * (2 * d + 2 * width + 16) * UNIT_ROUNDOFF / CANCELLATION
