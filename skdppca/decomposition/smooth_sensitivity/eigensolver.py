"""The top eigenvectors of clipped records and the gap below them, with a public error bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from ...linalg import decreasing_eigh, dense_fits, qr_svd
from ...noise import NoiseSource
from ...records import MAX_ROWS, UNIT_ROUNDOFF, Layout, Records, Residual, summation_error
from ...statistics import Spreads, around
from ...statistics.sums import clip_weights, sparse_terms

# Grid units to the sd of the entries of a random row.
START_GRID = 2.0**20

# Rows of the subspace, in blocks, before it is cut down to a share of them. They are fewer, but no
# fewer than six, if they would have more entries than fit: only time depends on these.
MOST_BLOCKS = 24
FEWEST_BLOCKS = 6
KEPT = 1 / 3
MOST_ENTRIES = 2**25

# A direction shorter than this share of the product that it is left of is rounding.
NOTHING = 2.0**-48

Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RitzPairs:
    """The largest Ritz values of a subspace, and how far they are from eigenvalues.

    Parameters
    ----------
    values : ndarray of shape (count,)
        Decreasing.
    residuals : ndarray of shape (count,)
        ``||H y - value y||`` as the recurrence has it: to be measured before it is believed.
    rows : callable
        The unit vectors y, of shape (count, d).
    products : int
        How often H was applied to a block.
    """

    values: np.ndarray
    residuals: np.ndarray
    rows: Callable[[], np.ndarray]
    products: int


def block_width(count: int) -> int:
    """Rows of a block: twice the pairs and a few, so that equal eigenvalues are all seen."""
    return 2 * count + 6


def random_rows(count: int, d: int, noise: NoiseSource) -> np.ndarray:
    """Rows of independent Gaussians."""
    return noise.rounded_gaussian(START_GRID, (count, d)) / START_GRID


def ritz_pairs(
    product: Product, start: np.ndarray, count: int, noise: NoiseSource
) -> Iterator[RitzPairs]:
    """Better and better pairs, without end: block Lanczos with full reorthogonalisation.

    Parameters
    ----------
    product : callable
        ``W -> W H`` for a few rows W; H is symmetric, of d rows.
    start : ndarray of shape (at least `count`, d)
        Its rows need not be independent.
    count : int
        Less than d.

    Notes
    -----
    Blocks ``B, H B, H (H B), ...`` are made orthonormal, and Rayleigh-Ritz is done in their span.
    What a block lacks in rank is filled with random directions, so a start in an invariant
    subspace is left again, and nothing is divided by. A full subspace is cut down to its leading
    Ritz vectors (thick restart, Wu & Simon 2000), and has room for two more blocks each time: in
    the end it is the whole space, where Rayleigh-Ritz is exact. Ritz values never fall.
    """
    width, d = start.shape
    capacity = min(d, width * MOST_BLOCKS, max(MOST_ENTRIES // d, width * FEWEST_BLOCKS))
    basis, matrix = np.empty((capacity, d)), np.zeros((capacity, capacity))
    size = seen = products = 0
    block = _orthonormal(start, basis[:0])
    while True:
        # 1. one more block, and where H takes it
        new = slice(size, size + len(block))
        size = new.stop
        basis[new] = block
        moved = finite(product(block))
        products += 1
        length = float(np.linalg.norm(moved))
        inner = np.zeros((len(block), size))
        for _ in range(2):
            part = moved @ basis[:size].T
            moved = moved - part @ basis[:size]
            inner += part
        matrix[new, :size] = inner
        matrix[:size, new] = inner.T
        matrix[new, new] = (inner[:, new] + inner[:, new].T) / 2
        rest, lengths, left = qr_svd(moved.T)
        left, rest = left.T, rest.T
        # 2. the Ritz pairs; a large subspace is looked at less often
        full = size == d or size + width > capacity < d
        if full or size - seen >= size // 16:
            seen = size
            values, vectors = decreasing_eigh(matrix[:size, :size])
            if size >= count:
                top = vectors[:count]
                residuals = np.linalg.norm(top[:, new] @ (left * lengths), axis=1)
                rows = partial(np.matmul, top, basis[:size])
                yield RitzPairs(values[:count], residuals, rows, products)
        # 3. a full subspace keeps the best of it
        if full:
            kept = max(count, int(size * KEPT))
            capacity = min(d, capacity + 2 * width)
            larger = np.empty((capacity, d))
            np.matmul(vectors[:kept], basis[:size], out=larger[:kept])
            basis, matrix = larger, np.zeros((capacity, capacity))
            matrix[range(kept), range(kept)] = values[:kept]
            size = seen = kept
        # 4. what is new in the product, and random rows for what is not
        rest = rest[lengths > NOTHING * length][: capacity - size]
        fresh = random_rows(min(width, capacity - size) - len(rest), d, noise)
        block = _orthonormal(np.vstack([rest, fresh]), basis[:size])


def _orthonormal(rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the same span, but for that of the basis."""
    for _ in range(3):
        rows = rows - (rows @ basis.T) @ basis
        rows = linalg.qr(rows.T, mode="economic", check_finite=False)[0].T
    return np.ascontiguousarray(rows)


def finite(numbers: np.ndarray) -> np.ndarray:
    """0 for what is no number: sums of clipped records are, and no check may ever see one."""
    return np.nan_to_num(numbers, copy=False, nan=0.0, posinf=0.0, neginf=0.0)


# Rows summed at a time, and non-zeros of a row multiplied at a time: the proven error grows with
# either, and with what they divide the whole into.
SPAN_ROWS = 1024
ROW_ENTRIES = 512


class SparseProducts:
    """Sparse rows less a centre, with weights that clip them, times a few vectors.

    The rows are held once more, in float64; the centre is subtracted in the products.

    Parameters
    ----------
    records : Records
        Sparse rows.
    centre : ndarray of shape (d,)
        Also what an absent entry is read as.
    squares : ndarray
        The square of every row's weight, ``w <= 1 / radius`` and ``w ||x - c|| <= 1``.
    radius : float
    """

    def __init__(
        self, records: Records, centre: np.ndarray, squares: np.ndarray, radius: float
    ) -> None:
        self._records = records
        self._fill, self._centre = centre, around(centre)
        self._squares = squares
        self._radius = radius
        self._parts: list[tuple[sparse.csr_array, np.ndarray]] = []
        self._fold(lambda _, block, w: self._parts.append(_kept(block.rows, w)), ())

    def _fold(self, f: Callable[..., None], shape: tuple[int, ...]) -> np.ndarray:
        return self._records.fold(f, shape, self._squares, imputed=self._fill)

    @property
    def error(self) -> float:
        """Bound on the error of one unit vector's product with H by `precise`; public.

        Proof. A weighted row ``w (x - c)`` has norm at most 1; its terms w x and w c have norms of
        at most 1 + a and a, with ``a = ||c|| / radius``, so that what it adds to the sum comes from
        terms of at most ``(1 + 2 a)^2``. An inner product sums `ROW_ENTRIES` terms at a time and
        then these partial sums; rows are summed by `SPAN_ROWS`, and then these sums, up to the
        span that a compensated sum takes over. See `summation_error`.
        """
        d, span = self._records.n_features, self._records.layout.span_rows
        far = 0.0 if self._centre is None else float(np.linalg.norm(self._centre)) / self._radius
        rows = SPAN_ROWS + math.ceil(span / SPAN_ROWS)
        inner = ROW_ENTRIES + math.ceil(d / ROW_ENTRIES)
        return summation_error((1 + 2 * far) ** 2, rows, inner)

    def quick(self, vectors: np.ndarray) -> np.ndarray:
        """``W H`` for a few rows W, in plain sums: for the iterations of a solver."""
        out = np.zeros(vectors.shape)
        offsets = None if self._centre is None else vectors @ self._centre
        for rows, w in self._parts:
            scores = rows @ vectors.T
            self._add(out, rows, scores if offsets is None else scores - offsets, w)
        return out

    def precise(self, vectors: np.ndarray) -> np.ndarray:
        """Return the products with an error of at most `error` a row of W."""
        centre = self._centre
        offsets = None if centre is None else np.array([math.fsum(v * centre) for v in vectors])

        def add(out: np.ndarray, block: Any, w: np.ndarray) -> None:
            rows, w = _kept(block.rows, w)
            scores = _scores(rows, vectors)
            if offsets is not None:
                scores = scores - offsets
            for start in range(0, len(w), SPAN_ROWS):
                some = slice(start, start + SPAN_ROWS)
                part = np.zeros_like(out)
                self._add(part, rows[some], scores[some], w[some])
                out += part

        return self._fold(add, vectors.shape)

    def _add(
        self, out: np.ndarray, rows: sparse.csr_array, scores: np.ndarray, squares: np.ndarray
    ) -> None:
        scores = scores * squares[:, None]
        out += (rows.T @ scores).T
        if self._centre is not None:
            out -= np.outer(scores.sum(axis=0), self._centre)


def _kept(rows: sparse.csr_array, squares: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Without rows of weight 0, which may have overflown: inf * 0."""
    kept = squares != 0
    return (rows, squares) if kept.all() else (rows[kept], squares[kept])


def _scores(rows: sparse.csr_array, vectors: np.ndarray) -> np.ndarray:
    """Inner products of every row with the vectors, `ROW_ENTRIES` entries at a time."""
    counts = np.diff(rows.indptr)
    pieces = np.maximum(-(-counts // ROW_ENTRIES), 1)
    if (pieces == 1).all():
        return rows @ vectors.T
    owner = np.repeat(np.arange(len(counts)), pieces)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = rows.indptr[:-1][owner] + ROW_ENTRIES * rank
    pointers = np.append(starts, rows.indptr[-1])
    cut = sparse.csr_array((rows.data, rows.indices, pointers), (len(owner), rows.shape[1]))
    partial = cut @ vectors.T
    columns = [np.bincount(owner, column, len(counts)) for column in partial.T]
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class EigensolverConstants:
    """When passes over the records take the place of a d x d matrix, and how precise they are.

    One record is 1. What has no origin here is a guess, and hardly matters but to the time.
    """

    # LAPACK decomposes a d x d matrix up to this d, and where k is more than d / `few`: passes over
    # the records would take longer.
    dense_features: int = 2000
    few: int = 20
    # The most that the residuals of the span may be: a term of the stated error.
    residual: float = 2.0**-10
    # By how much the eigenvalue that follows may be missed: a term of the gap's stated error.
    miss: float = 2.0**-6
    # Residuals are also less than such a miss would leave, were the Ritz vector this many times
    # shorter along the missed eigenvector than a random row. A random start is with a probability
    # below 1e-14 (see `top_span`).
    shortness: float = 128.0
    # Residuals are measured once the recurrence has them below their bound by this factor.
    margin: float = 2.0
    # Before LAPACK takes over, if it can: the most products with a block, and the most products
    # with a row, over d.
    most_products: int = 200
    most_rows: int = 2
    # Largest error of a product with a unit vector; else sparse rows are read as dense ones.
    most_error: float = 0.02


EIGENSOLVER = EigensolverConstants()


@dataclass(frozen=True)
class Spectrum:
    """Top eigenvectors of ``H = sum_i A_i``, every record's ``A_i`` of trace at most 1. Private.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    values : ndarray of shape (k,)
        Their Rayleigh quotients, in squared units of the rows.
    gap : float
        Between the k-th and the next eigenvalue.
    error, gap_error : float
        Public: for some E with ``||E||_F <= error`` the gap of ``H + E`` is within `gap_error` of
        `gap`; where `gap` exceeds `gap_error`, the rows span exactly its top k eigenvectors.
    """

    directions: np.ndarray
    values: np.ndarray
    gap: float
    error: float
    gap_error: float


def top_span(
    records: Records,
    centre: np.ndarray,
    radius: float,
    k: int,
    noise: NoiseSource,
    exact: bool = False,
) -> Spectrum:
    r"""The top k eigenvectors of the records' Gram matrix, over the square of the radius.

    Parameters
    ----------
    centre : ndarray of shape (d,)
        Public or released; also what an absent entry is read as.
    radius : float
        Records, as all their rows together, are clipped to it: ``tr A_i <= radius^2``, which is
        the unit of H. Infinite: nothing is clipped, and the unit is the largest ``tr A_i``.
    k : int
        Less than d.
    exact : bool
        Use LAPACK, whatever it costs: nothing then rests on a random start.

    Notes
    -----
    Which solver runs first is decided by d, k and `exact`. There is no outcome of failure: if the
    checks of the iterative one do not pass, it goes on, and where a d x d matrix fits, LAPACK takes
    over, at the same public errors. How long it takes follows the data, as for every solver.

    *LAPACK*: the sum's error is proven (`summation_error`), and so is that LAPACK errs by a modest
    multiple of u ``||H||``, taken as ``d u MAX_ROWS``.

    *Block Lanczos* on products with the records. The leading k + 1 Ritz pairs are measured with
    products whose error is proven. With ``R = H V - V M``, M the Rayleigh matrix of the first k,
    these are exact eigenvectors of ``H + E = H - R V^T - V R^T``, ``||E||_F <= sqrt(2) ||R||_F``,
    with eigenvalues t_1 .. t_k. The others are those of H with V projected out, and the largest of
    them, s, is at least t_{k+1}, a Rayleigh quotient. Trusted: it is no more than r = `miss` above.
    Then, if ``t_k >= s``, V spans the top and the gap is between ``t_k - t_{k+1} - r`` and ``t_k -
    t_{k+1}``. If not, ``t_k - t_{k+1} < r``, and k eigenvalues are at least t_k, a k + 1st as well,
    and less than k above t_k + r: the gap of H + E is in [0, r] too, and the noise is the largest
    there is, whatever V spans.

    *What is trusted* is that the random start, b = 2 k + 8 Gaussian rows, misses no eigenvector.
    Let u be that of s, and y the unit vector of t_{k+1}: its residual is at least ``(s - t_{k+1})
    |u^T y|``. Residuals are at most ``r sqrt(b / d) / 128``, so with a miss of more than r y would
    be 128 times shorter along u than the start is, in which products with H only made u stronger.
    The start itself, less k + 1 directions, is as short as that with a probability of at most
    ``(e b / (128^2 (k + 7)))^((k + 7) / 2)``, below 1e-14. No bound is proven for the products'
    part in it, and none is in delta.

    A large miss is out of the question. Let l_j be the eigenvalues of H, j = k or k + 1, and q the
    products with a block before the last. For any x > 0 and v, w >= 1 the Ritz value t_j is below
    ``l_j - 2 x`` with a probability of at most ``v^-(b - j + 1) + exp(-w^2 / 2)``, if

    .. math:: \cosh(2 q\,\mathrm{arcsinh}\sqrt{z}) \sqrt{x / l_j} \ge
        \frac{e \sqrt b}{b - j + 1}\, v\, (\sqrt d + \sqrt b + w),

    where ``z = x / (l_{k+1} - x)`` for j = k + 1 and ``z = l_k / l_{k+1} - 1`` for j = k: with d =
    5000, k = 1, ``l_2 = 50`` and q = 40 below 1e-12 for 2 records. *Proof.* With ``a = l_{k+1} -
    x`` or ``l_{k+1}``, let p be the Chebyshev polynomial of degree q on [0, a], and G_1, G_2 the
    start's parts along the top j eigenvectors and all others. The subspace holds the j-dimensional
    range of ``p(H) G^T G_1^+`` (and a restart keeps t_j). There a quotient is below a (or l_k) by
    at most ``||G_2 G_1^+||^2 / p(l_j)^2`` of it (after Musco & Musco 2015). For the norms: Davidson
    & Szarek (2001), and Halko, Martinsson & Tropp (2011, Proposition 10.4).
    """
    d = records.n_features
    norms = records.measured(Spreads(centre))
    if math.isinf(radius):
        unit = float(norms.max()) or 1.0
        if math.isinf(unit):
            raise ValueError("X holds values too large to be squared; scale it down")
        weights = np.full(records.private_n, 1 / unit)
    else:
        unit, weights = radius, clip_weights(norms, radius) / radius
    if exact or d <= EIGENSOLVER.dense_features or k > d // EIGENSOLVER.few:
        return _by_lapack(records, centre, weights, unit, k)
    quick, precise, error = _products(records, centre, weights**2, unit)
    backward = math.sqrt(2) * (EIGENSOLVER.residual + math.sqrt(k) * error) + error
    errors = backward, EIGENSOLVER.miss + backward
    most, width = math.inf, min(d, block_width(k + 1))
    residual = min(
        EIGENSOLVER.residual, EIGENSOLVER.miss * math.sqrt(width / d) / EIGENSOLVER.shortness
    )
    if dense_fits(d):  # whoever answers, the errors are the same
        most = min(EIGENSOLVER.most_products, EIGENSOLVER.most_rows * d // width)
        lapack = _lapack_error(records.layout, centre, unit)
        errors = max(errors[0], lapack), max(errors[1], 2 * lapack)
    start = random_rows(width, d, noise)
    pairs = _by_lanczos(quick, precise, k, start, residual, most, noise)
    if pairs is None:
        found = _by_lapack(records, centre, weights, unit, k)
        return replace(found, error=errors[0], gap_error=errors[1])
    values, rows = pairs
    gap = float(values[k - 1] - values[k])
    return Spectrum(rows[:k], values[:k] * unit**2, gap, *errors)


def _products(
    records: Records, centre: np.ndarray, squares: np.ndarray, unit: float
) -> tuple[Product, Product, float]:
    """Quick and precise products with H, and the error of the latter, a unit vector's."""
    error = summation_error(1.0, records.layout.span_rows, records.n_features)
    if records.is_sparse:
        products = SparseProducts(records, centre, squares, unit)
        if products.error <= max(EIGENSOLVER.most_error, error):
            return products.quick, products.precise, products.error
        records = records.explicit()  # the centre is too far away for products
    apply = _by_folds(records, centre, squares)
    return apply, apply, error


def _lapack_error(layout: Layout, centre: np.ndarray, unit: float) -> float:
    """Backward error of `_by_lapack`; public."""
    d, (_, terms) = layout.n_features, sparse_terms(layout, centre, unit)
    return summation_error((terms / unit) ** 2, layout.span_rows, d) + d * UNIT_ROUNDOFF * MAX_ROWS


def _by_lapack(
    records: Records, centre: np.ndarray, weights: np.ndarray, unit: float, k: int
) -> Spectrum:
    d, c = records.n_features, around(centre)
    explicit, _ = sparse_terms(records.layout, centre, unit)
    summed = records.explicit() if explicit else records

    def decomposed(driver: Literal["evd", "ev"]) -> tuple[np.ndarray, np.ndarray]:
        gram = summed.fold(
            lambda out, block, w: block.add_gram(out, w, c, 0.0), (d, d), weights, imputed=centre
        )
        # All of them: asked for a few, LAPACK may silently return fewer where eigenvalues cluster.
        return linalg.eigh(
            finite(gram), lower=False, driver=driver, overwrite_a=True, check_finite=False
        )

    try:
        values, vectors = decomposed("evd")
    except linalg.LinAlgError:  # an error would tell of the data; QL iterations do not fail
        values, vectors = decomposed("ev")
    values = values[: -k - 2 : -1]
    gap = max(0.0, float(values[k - 1] - values[k]))
    # Divide and conquer leaves vectors of nearly equal values less orthogonal than it should.
    directions = linalg.qr(vectors[:, : -k - 1 : -1], mode="economic", check_finite=False)[0].T
    error = _lapack_error(records.layout, centre, unit)
    return Spectrum(np.ascontiguousarray(directions), values[:k] * unit**2, gap, error, 2 * error)


def _by_folds(records: Records, centre: np.ndarray, squares: np.ndarray) -> Product:
    """``W -> W H`` for a few rows W, by products or, if those are explicit, record by record."""

    def apply(rows: np.ndarray) -> np.ndarray:
        if not records.is_explicit:
            return records.fold(
                lambda out, block, w: block.add_products(out, np.sqrt(w), around(centre), rows),
                rows.shape,
                squares,
                imputed=centre,
            )
        nothing = np.zeros_like(rows)
        residual = Residual(rows, nothing, around(centre), rounded=False)
        return records.fold(
            lambda out, block, w: block.add_residuals(out, w[:, None], residual),
            rows.shape,
            squares,
            imputed=centre,
        )

    return apply


def _by_lanczos(
    quick: Product,
    precise: Product,
    k: int,
    start: np.ndarray,
    residual: float,
    most: float,
    noise: NoiseSource,
) -> tuple[np.ndarray, np.ndarray] | None:
    """The first k + 1 values and rows, by their residuals; None after `most` products.

    `quick` finds candidates, which `precise` measures.
    """
    for product in (quick, precise):
        for pairs in ritz_pairs(product, start, k + 1, noise):
            if np.linalg.norm(pairs.residuals) <= residual / EIGENSOLVER.margin:
                start = np.vstack([pairs.rows(), start[k + 1 :]])
                values, rows, measured = _measured(start[: k + 1], precise)
                if measured <= residual:  # not a number is not
                    return values, rows
                if product is quick:
                    break
            if not pairs.products < most:
                return None
    raise AssertionError("pairs come without end")


def _measured(rows: np.ndarray, precise: Product) -> tuple[np.ndarray, np.ndarray, float]:
    """Rayleigh-Ritz in the span of a few rows: values, rows, and the norm of all residuals."""
    rows = linalg.qr(rows.T, mode="economic", check_finite=False)[0].T
    moved = finite(precise(rows))
    rayleigh = moved @ rows.T
    values, rotation = decreasing_eigh((rayleigh + rayleigh.T) / 2)
    rows = rotation @ rows
    return values, rows, float(np.linalg.norm(rotation @ moved - values[:, None] * rows))
