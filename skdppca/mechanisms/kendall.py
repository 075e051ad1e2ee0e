"""The multivariate Kendall matrix, privately (METHODS 7)."""

from __future__ import annotations

import math

import numpy as np

from ..noise import NoiseSource
from .base import Public, Spender
from .pairs import (
    MAX_COMPLETE,
    Kernel,
    adjacent_differences,
    complete_error,
    complete_sum,
    cyclic_error,
    cyclic_sum,
    random_order,
)
from .radius import private_radius
from .spectrum import NoisySpectrum, elliptical_variances

__all__ = [
    "adjacent_count",
    "complete_pairs",
    "cyclic_pairs",
    "kendall_shares",
    "median_difference",
    "release_kendall",
]

# Half-lengths of differences are searched on this finer grid, 2^-40 .. 2^40 in steps of 4.4 %.
FINE_GRID = 2.0 ** np.arange(-40, 40.03125, 0.0625)

# The winsorised eigenvalues that variances would have are means over so many normal vectors, the
# same for everybody. Eigenvalues below so small a share of the largest cannot be inverted.
DRAWS, SMALLEST = 2048, 1e-12


def complete_pairs(bound: float, adjacency: str) -> float:
    """Sensitivity of ``S / (n - 1)``, S the sum of a term over all pairs; 0 for n < 2.

    A pair's term is positive semi-definite, a function of its two records, of Frobenius norm at
    most `bound`; n is the exact number of records.

    Proof. *Replacing* a record changes its n - 1 terms, from a sum A to a sum B, both positive
    semi-definite of norm at most ``(n - 1) bound``: ``||A - B||^2 <= ||A||^2 + ||B||^2``, so S
    moves by ``sqrt(2) (n - 1) bound``. *Adding* one to n >= 2 gives ``(S + P) / n``, P the sum of n
    terms: it moves by ``P / n - S / (n (n - 1))``, the difference of positive semi-definite
    matrices of norms at most ``bound`` and ``bound / 2``, as S has n (n - 1) / 2 terms. So by
    ``sqrt(1 + 1 / 4) bound``; from n = 1, where S is 0, by ``||P|| <= bound``; from n = 0 by 0.
    Both are attained: by records on two orthogonal lines, one of them by itself on one line.
    """
    return bound * {"add-remove": math.sqrt(5) / 2, "replace-one": math.sqrt(2)}[adjacency]


def cyclic_pairs(bound: float, adjacency: str) -> float:
    """Sensitivity of ``S / (2 h)``, S over every record and its h next ones in a cyclic order.

    As in `complete_pairs`; a record that meets itself adds 0. For each order; under add-remove
    for an order and the same with one record inserted anywhere (`random_order`).

    Proof. *Replacing* a record changes the at most 2 h terms that it is in: ``sqrt(2) 2 h bound``.
    *Inserting* one between the last and the first: see a term as a walk of t <= h steps. A walk
    that comes through the gap c times reaches the same two records in t + c steps of the new
    order, and every walk of the new order that neither starts nor ends at the new record comes
    from one of the old. So the terms that vanish are the walks with t + c > h. To count them:
    there were n h walks, now there are (n + 1) h; those that start or end at the new record are
    2 h - q, q of them at both ends. So (n + 1) h - (2 h - q) of the old ones are left, and h - q
    vanish. S moves by P - Q, with ``||P|| <= 2 (h - q) bound`` and ``||Q|| <= (h - q) bound``, at
    most ``sqrt(5) h bound``. That holds for every n >= 1, be it smaller than h; from n = 0 it
    moves by 0. Common weights for pairs of orders: releasing the order, too, would be as private,
    and leaving it out is post-processing.
    """
    return complete_pairs(bound, adjacency)


def adjacent_count(adjacency: str) -> float:
    """Sensitivity of how many records differ from the next in cyclic order by more than a bound.

    Proof. *Replacing* a record changes two of the differences; *inserting* one adds two and
    removes one. Each counts 0 or 1. (Counting disjoint pairs of a random order would not be
    better: there, one record more moves all pairs behind it.)
    """
    return {"add-remove": 2.0, "replace-one": 2.0}[adjacency]


def release_kendall(
    rows: np.ndarray,
    kernel: Kernel,
    offsets: int | None,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> tuple[np.ndarray, float]:
    """Spend what is left on the Kendall matrix, times n / 2, in squares of the kernel's radius.

    Also the noise's standard deviation.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Private, all finite.
    offsets : int or None
        Every record meets its so many next ones in a random cyclic order; None: all others.

    Raises
    ------
    ValueError
        More records than the guarantee is proven for; beyond that it is no part of the release.
    """
    n, d = rows.shape
    if offsets is None:
        if n > MAX_COMPLETE:
            raise ValueError(
                f"pairs='complete' takes at most {MAX_COMPLETE} records, up to which its guarantee "
                "is proven; set pairs='incomplete'"
            )
        sensitivity, error = complete_pairs(1.0, public.adjacency), complete_error(d)
        total = complete_sum(rows, kernel) / max(n - 1, 1)
    else:
        sensitivity, error = cyclic_pairs(1.0, public.adjacency), cyclic_error(d, offsets)
        total = cyclic_sum(rows, random_order(n, noise), offsets, kernel) / (2 * offsets)
    query = spender.rest("Kendall matrix", sensitivity, size=d, symmetric=True, rounding=error)
    return query.release(total, noise), query.noise_sd


def median_difference(
    rows: np.ndarray,
    direction: np.ndarray | None,
    n: float,
    name: str,
    spender: Spender,
    mu: float,
    public: Public,
    noise: NoiseSource,
) -> float:
    """Median length over sqrt 2 of the records' differences, or of their parts along a direction.

    Every record meets the next in a random cyclic order. Costs `mu`.

    Parameters
    ----------
    n : float
        The (noisy) number of records.
    """
    lengths = adjacent_differences(rows, random_order(len(rows), noise), direction)
    if math.isinf(mu):
        return float(np.median(lengths)) if len(lengths) else 0.0
    moved = adjacent_count(public.adjacency)
    return private_radius(
        lengths, n / 2, name, spender, mu, public, noise, grid=FINE_GRID, sensitivity=moved
    )


def kendall_shares(spectrum: NoisySpectrum, kernel: Kernel, largest: float | None) -> np.ndarray:
    """Shares of the total variance behind the eigenvalues of a noisy Kendall matrix.

    Post-processing. For signs under an elliptical model (`elliptical_variances`); winsorised
    under a Gaussian one, by the same fixed point with
    ``phi_l = E[min(1, r^2 / sum_j v_j z_j^2) v_l z_l^2]``.

    Parameters
    ----------
    largest : float or None
        The largest variance; needed if winsorised.

    Returns
    -------
    ndarray of shape (d,)
        By decreasing size; all alike if nothing can be told.
    """
    seen = spectrum.pooled
    d, top = len(seen), float(seen.max())
    if not top > 0:
        return np.full(d, 1 / d)
    target = np.maximum(seen, SMALLEST * top)
    if kernel.radius is None or not largest:
        return np.sort(elliptical_variances(target))[::-1]
    target = target / target.sum()
    squares = np.random.default_rng(0).standard_normal((DRAWS, d)) ** 2
    shares = target
    for _ in range(200):
        variances = shares * (largest / shares.max() / kernel.radius**2)
        kept = np.minimum(1.0, 1 / (squares @ variances))
        phi = variances * (kept @ squares)
        new = shares * target / (phi / phi.sum())
        new /= new.sum()
        if np.allclose(new, shares, rtol=1e-6, atol=0.0):
            break
        shares = new
    return np.sort(shares)[::-1]
