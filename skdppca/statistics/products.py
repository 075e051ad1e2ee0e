"""Sums of the records' products with a few directions, clipped in two ways."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..records import UNIT_ROUNDOFF, Block, Cross, Layout, Measure, Records, summation_error
from .base import Rounding, Statistic, around, check_grouped
from .fields import Most, OrthonormalRows, Radius, Vector
from .gram import clip_measure, clipping, scaled_terms
from .lemmas import ball_sum, psd_sum
from .measures import ResidualNorms
from .sums import MOST_ERROR, clip_weights


@dataclass(frozen=True, eq=False)
class ResidualSum(Statistic):
    """``sum clip_R(A_i W - C)``, A_i the Gram matrix of a record's rows less the centre.

    Proof. Every term lies in the ball of radius R in Frobenius norm: R under add-remove, 2 R under
    replace-one, attained by opposite terms (`lemmas.ball_sum`).

    Rounding. Formed record by record, residuals are no longer than R. By products their sum is one
    of ``y s^T`` and ``-C``, of rows y less the centre c and scores s, and for sparse rows x of
    ``x s^T`` and ``-c s^T``: twice ``c s^T`` more. With the weight w that clips,
    ``w ||y|| ||s|| <= R + ||C||``; and ``w ||s||^2`` is at most twice that, unless s is no more
    than the rounding error of a product of c. Where such terms would round too much (seen on public
    numbers), and for sparse rows off removed directions, where they would not be bounded, residuals
    are formed one by one instead.
    """

    measure: ResidualNorms
    radius: Radius

    @property
    def shape(self) -> tuple[int, ...]:
        return self.measure.directions.shape

    def sensitivity(self, adjacency: str) -> float:
        return ball_sum(self.radius, adjacency)

    def _terms(self, layout: Layout) -> tuple[bool, float]:
        """Return whether residuals are formed one by one, and the norm of one record's terms."""
        if layout.is_explicit or math.isinf(self.radius):
            return layout.is_explicit, self.radius
        d, residual = layout.n_features, self.measure.residual
        long = self.radius + float(np.linalg.norm(residual.prediction))
        terms = 2 * long
        if layout.is_sparse and residual.centre is not None:
            far = float(np.linalg.norm(residual.centre))
            terms += 2 * far * (math.sqrt(2 * long) + 8 * d * UNIT_ROUNDOFF * far)
        bounded = residual.removed is None or not layout.is_sparse
        if bounded and summation_error(terms, layout.span_rows, d) <= MOST_ERROR * self.radius:
            return False, terms
        return True, self.radius

    def rounding(self, layout: Layout) -> Rounding:
        explicit, terms = self._terms(layout)
        summed = layout._replace(is_explicit=explicit, is_sparse=layout.is_sparse and not explicit)
        error = summation_error(terms, layout.span_rows, layout.n_features)
        return Rounding(self.measure.error(summed), error)

    def total(self, records: Records) -> np.ndarray:
        if math.isinf(self.radius):
            return self._unclipped(records)

        def weigh(found: np.ndarray) -> np.ndarray:
            weights = clip_weights(found[:, :1], self.radius)
            weighted = found * weights
            weighted[:, :1] = weights
            return weighted

        def add(out: np.ndarray, block: Block, weighted: np.ndarray) -> None:
            block.add_residuals(out, weighted, self.measure.residual)

        # Scores of dense rows have other last digits than those of sparse ones: what was measured
        # on other blocks is measured again.
        explicit = self._terms(records.layout)[0]
        summed = records.explicit() if explicit and not records.is_explicit else records
        return summed.accumulate(self.measure, weigh, add, self.shape)

    def _unclipped(self, records: Records) -> np.ndarray:
        """The sum for which there is no noise; nothing is rounded to a grid."""
        residual = self.measure.of_rows(rounded=False)

        def add(out: np.ndarray, block: Block, _: object) -> None:
            found = block.residual_norms(residual, None)
            found[:, 0] = 1.0
            block.add_residuals(out, found, residual)

        return records.fold(add, self.shape, imputed=self.measure.imputed)


# A centre is subtracted from every sparse row, at the cost of dense blocks, if the terms whose
# difference the products are would else exceed this multiple of the products' radius.
FAR = 8.0


@dataclass(frozen=True, eq=False)
class ProductSum(ResidualSum):
    """``sum clip_R(A_i W)``, A_i the Gram matrix of a record's rows less the centre.

    A `ResidualSum` whose measure predicts nothing and removes nothing, so that only a centre can
    cancel, and sparse rows stay sparse however many features they have. An absent entry is read
    as the centre's: it adds nothing to a row less the centre, and so nothing to a product.

    Proof. Every term lies in the ball of radius R in Frobenius norm, whatever the record: adding
    it moves the sum by R, exchanging it by 2 R, attained by opposite terms (`lemmas.ball_sum`).
    The scores that a record is clipped by are those that are added.

    Rounding. A dense row y with scores s adds ``w y s^T``, of norm at most R. A sparse row x adds
    ``w x s^T`` and ``-w c s^T``, of norms at most ``R + ||c|| w ||s||`` and ``||c|| w ||s||``. With
    ``||s|| <= ||y|| + e``, e the rounding error of a product of c, ``w ||s||^2 <= R + e w ||s||``,
    so ``w ||s|| <= sqrt(R) + e`` as ``w <= 1``.
    """

    def __post_init__(self) -> None:
        if self.measure.prediction.any() or self.measure.removed is not None:
            raise ValueError(
                "ProductSum bounds the rounding of products alone, but its measure predicts or "
                "removes something; use ResidualSum"
            )

    def _terms(self, layout: Layout) -> tuple[bool, float]:
        residual = self.measure.residual
        if not layout.is_sparse or residual.centre is None or math.isinf(self.radius):
            return layout.is_explicit, self.radius
        far = float(np.linalg.norm(residual.centre))
        lost = 8 * layout.n_features * UNIT_ROUNDOFF * far
        terms = self.radius + 2 * far * (math.sqrt(self.radius) + lost)
        return (True, self.radius) if terms > FAR * self.radius else (False, terms)


@dataclass(frozen=True, eq=False)
class NormProduct(Statistic):
    """``sum A_i Q``, A_i the Gram matrix of a record whose norm was clipped before.

    Q has p orthonormal columns, released or drawn without data; `directions` holds them as rows.
    ``q_j`` is the j-th row of Q, and norms of matrices are Frobenius norms. A row counts as
    ``y = s (x - c)``, s the factor that clips it to norm R, and ``A = y y^T``. The rows of a group
    are scaled as one, so that ``||A|| <= R^2``. An absent entry is read as c's, in x and in the
    norm: all below is proven for the filled row, which is a function of the record and of c.

    Proof for any record. ``||(A - B) Q|| <= ||A - B||``, for Q's columns are orthonormal. So adding
    a record moves the sum by at most ``R^2``, exchanging one by ``sqrt(2) R^2`` (`lemmas.psd_sum`).
    Attained by a row of norm R in the span of Q, and by two orthogonal ones.

    Proof for rows x of at most D non-zeros (`most`). ``||A Q|| = ||y|| ||Q^T y||``. With
    ``||Q^T y|| <= reach`` a term is no longer than ``R reach``, and two may point apart
    (`lemmas.ball_sum`). What reach is: without a centre ``y = s x`` has no more non-zeros than x,
    so that ``reach = R T``, T being `longest_rows`; attained by D equal entries if Q is one column
    of equal entries. With a centre y has many, but for ``s <= 1`` also ``||s x|| <= ||y|| + s ||c||
    <= R + ||c||``, so ``reach = (R + ||c||) T + ||Q^T c||``. This needs the bound on y as well. It
    fails for ``s > 1``: for rows that are scaled up about a centre only the first proof holds.
    Absent entries are filled before the surplus ones are dropped (`LargestEntries`), so that the
    filled row keeps the bound.

    Proof for one interaction (`floor`). The rows ``r_u`` hold zeros and ones, ``deg u`` ones, and
    count as ``A = r_u r_u^T / max(deg u, m)`` (`Interactions`), of norm at most 1, so that R clips
    nothing. Neighbours differ in one entry, whatever the adjacency, so all but one row are the
    same. Let that row have n ones with the interaction, which is at k, and without it n - 1, at S'.
    With v the sum of their ``q_j`` and ``rho = max_j ||q_j||``, ``||v|| <= min((n - 1) rho,
    sqrt(n - 1))``, for ``||Q^T 1_S'|| <= ||1_S'||``. Let D be what changes of A.

    n <= m: both are divided by m. Row k of ``D Q`` is ``(v + q_k) / m``, of norm at most
    ``min(n rho, sqrt(n)) / m``, and the n - 1 rows of S' are ``q_k / m``. Both grow with n: take
    n = m. And ``||D Q||^2 <= ||D||^2 = (2 n - 1) / m^2``.

    n > m: row k is ``(v + q_k) / n``, of norm at most ``min(rho, 1 / sqrt(n))``; a row of S' is
    ``q_k / n - v / (n (n - 1))``, of norm at most ``(rho + min(rho, 1 / sqrt(n - 1))) / n``. And D
    is a difference of two projections on unit vectors of squared inner product ``(n - 1) / n``,
    so ``||D||^2 = 2 / n``. The largest of all n up to d is taken; if Q is square, a user of m items
    who loses one attains it.

    Parameters
    ----------
    centre : ndarray of shape (d,)
    directions : ndarray of shape (p, d)
        Orthonormal rows, but for rounding (`slack`).
    radius : float
        R; infinite for no clipping.
    spherical : bool
        Rows are scaled up to R as well.
    grouped : bool
        A record is a group of rows.
    most : int or None
        D, of rows that are seen through `LargestEntries`; None if nothing is known.
    floor : int or None
        m, of rows that are seen through `Interactions`; None: neighbours differ in a record.
    """

    centre: Vector
    directions: OrthonormalRows
    radius: Radius
    spherical: bool = False
    grouped: bool = False
    most: Most | None = None
    floor: int | None = None

    def __post_init__(self) -> None:
        if self.grouped and (self.spherical or self.most is not None):
            raise ValueError(
                f"spherical={self.spherical} and most={self.most} are for single rows; set "
                "spherical=False and most=None for groups"
            )
        changed = self.spherical or self.grouped or self.most is not None
        if self.floor is not None and (changed or self.radius < 1 or self.centre.any()):
            raise ValueError(
                f"floor={self.floor} is proven for rows about 0 that nothing else changes; set "
                "centre to 0, radius to at least 1, and spherical, grouped and most to their "
                "defaults"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.directions.shape

    @property
    def measure(self) -> Measure:
        """Measure that records are clipped by."""
        return clip_measure(self.centre, 0.0, self.grouped)

    def sensitivity(self, adjacency: str) -> float:
        if self.floor is not None:
            return _one_interaction(self.directions, self.floor)
        whole = psd_sum(self.radius**2, adjacency)
        if self.most is None or (self.spherical and self.centre.any()):
            return whole
        length = self.radius + float(np.linalg.norm(self.centre))
        along = float(np.linalg.norm(self.directions @ self.centre))
        reach = length * longest_rows(self.directions, self.most) + along
        return min(whole, ball_sum(self.radius * reach, adjacency))

    def check(self, layout: Layout) -> None:
        check_grouped(self, layout)
        if self.most is not None and (layout.most is None or layout.most > self.most):
            raise TypeError(f"most={self.most} is for rows seen through LargestEntries(most)")
        if self.floor != layout.floor:
            raise TypeError(f"floor={self.floor} is for rows seen through Interactions(floor)")

    def rounding(self, layout: Layout) -> Rounding:
        _, terms = scaled_terms(layout, self.centre, self.radius, self.spherical)
        # the scores of p columns err by up to root p as much as one product
        inner = math.ceil(math.sqrt(len(self.directions))) * layout.n_features
        return Rounding(
            norms=2 * self.measure.error(layout) + slack(self.directions),
            total=summation_error(terms**2, layout.span_rows, inner),
        )

    def total(self, records: Records) -> np.ndarray:
        weights = None
        if not math.isinf(self.radius):
            # kept for the products that follow, which clip the same norms
            weights = clipping(records.measured(self.measure), self.radius, self.spherical)
            if scaled_terms(records.layout, self.centre, self.radius, self.spherical)[0]:
                records = records.explicit()
        c = around(self.centre)
        return records.fold(
            lambda out, block, w: block.add_products(out, w, c, self.directions),
            self.shape,
            weights,
            imputed=self.centre,
        )


def coherence(directions: np.ndarray) -> float:
    """``rho = max_j ||q_j||``."""
    return math.sqrt(_squares(directions).max())


def longest_rows(directions: np.ndarray, most: int) -> float:
    """Largest ``||Q^T x||`` over x of norm 1 with at most `most` non-zeros, or a little more.

    Proof. With S the non-zeros of x, ``||Q^T x|| <= ||Q_S|| ||x||``, and ``||Q_S||^2`` is the sum
    of ``||q_j||^2`` over S, at most that of the `most` largest.
    """
    squares = _squares(directions)
    if most < len(squares):
        squares = np.partition(squares, len(squares) - most)[len(squares) - most :]
    return math.sqrt(squares.sum())


def slack(directions: np.ndarray) -> float:
    """Relative error of the sensitivities, for directions that are orthonormal but rounded.

    ``||Q||^2 <= 1 + ||Q^T Q - I||``, and sums of p squares and of d of them are rounded.
    """
    p, d = directions.shape
    off = float(np.linalg.norm(directions @ directions.T - np.eye(p)))
    return off + (d * p + 2 * d + 2 * p + 32) * UNIT_ROUNDOFF


def _one_interaction(directions: np.ndarray, floor: int) -> float:
    """Return the sensitivity of the sum to one interaction; `NormProduct` has the proof."""
    d = directions.shape[1]
    rho = min(coherence(directions), 1.0)
    m = min(floor, d)  # no row has more than d ones, and a larger floor divides by itself
    few = min((min(m, (m * rho) ** 2) + (m - 1) * rho**2), 2 * m - 1) / floor**2
    n = np.arange(m + 1, d + 1, dtype=np.float64)
    others = (n - 1) / n**2 * (rho + np.minimum(rho, 1 / np.sqrt(np.maximum(n - 1, 1)))) ** 2
    many = np.minimum(2 / n, np.minimum(1 / n, rho**2) + others)
    return math.sqrt(max(few, many.max(initial=0.0)))


def _squares(directions: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", directions, directions)


# The least radius: what is too short to have a norm is shorter.
LEAST_RADIUS = 2.0**-440


@dataclass(frozen=True, eq=False)
class CrossNorms(Measure):
    """Frobenius norm of ``W^T A_i (I - W W^T)``; see `records.Cross`."""

    centre: Vector
    directions: OrthonormalRows
    spherical: bool = False

    @property
    def degree(self) -> int:
        return 0 if self.spherical else 2

    @cached_property
    def cross(self) -> Cross:
        """Cross products of a block of records."""
        return Cross(self.directions, around(self.centre), self.spherical)

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        return block.cross_norms(self.cross)

    def error(self, layout: Layout) -> float:
        # of a row two norms and their product, of a group the norm of what was formed
        d, width = layout.n_features, len(self.directions)
        return ((2 * d * width if layout.is_grouped else d + width) + 16) * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class CrossSum(Statistic):
    """``sum clip_R(W^T A_i (I - W W^T))``, A_i the Gram matrix of a record's rows less the centre.

    For a single row y that is ``s e^T``, with scores ``s = W^T y`` and the rest ``e = y - W s``.

    Proof. A term is a function of its record, to the bit (`records.Cross`), and it is scaled to
    Frobenius norm R if its norm is larger. So it lies in the ball of that radius: adding it moves
    the sum by R, exchanging it by 2 R (`lemmas.ball_sum`), attained by rows ``W s + e`` and
    ``W s - e``.

    The norm of ``s e^T`` is ``||s|| ||e||``, of the numbers that are added: the weighted scores
    times e itself. As a difference of products, ``(w s) y^T - (w s) s^T W^T``, the same sum would
    be one of terms as long as ``R ||y|| / ||e||``, which nothing bounds. Where a factor is shorter
    than can be squared, the term of a row is 0: (2^449, 2^-451) would have the norm 0 and add 1/4.
    A group's norm is that of its sum over rows, as it was formed; one below 2^-450 counts as 0, and
    its sum is shorter than any radius that is allowed.

    Rounding. A term that is added is no longer than R, but for the error of its norm and weight, so
    that their sum has the error of any sum of such terms. It is no sum of whole numbers, whatever
    the radius: the error is never 0.

    Parameters
    ----------
    measure : CrossNorms
    radius : float
        R; finite.
    """

    measure: CrossNorms
    radius: Radius

    def __post_init__(self) -> None:
        if not LEAST_RADIUS <= self.radius < math.inf:
            raise ValueError(f"radius={self.radius} clips all records or none; set a finite one")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.measure.directions.shape

    def sensitivity(self, adjacency: str) -> float:
        return ball_sum(self.radius, adjacency)

    def check(self, layout: Layout) -> None:
        _ = self.measure.cross  # directions that are not orthonormal are refused here
        if self.measure.spherical and layout.is_grouped:
            raise TypeError("spherical=True is for single rows; set spherical=False for groups")

    def rounding(self, layout: Layout) -> Rounding:
        error = summation_error(self.radius, layout.span_rows, 1)
        return Rounding(self.measure.error(layout), error)

    def total(self, records: Records) -> np.ndarray:
        return records.accumulate(
            self.measure,
            lambda norms: clip_weights(norms, self.radius),
            lambda out, block, w: block.add_cross(out, w, self.measure.cross),
            self.shape,
        )
