"""The clipped, augmented Gram matrix in one Gaussian release (METHODS 4 and 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..noise import NoiseSource
from ..records import Records
from .base import Public, Spender
from .centre import clip_weights, norm_error, precise_records, shrink_to_signal
from .clipping import Clipping
from .gaussian import GaussianQuery, summation_error
from .sensitivity import psd_sum

__all__ = ["NoisyGram", "release_gram"]


@dataclass(frozen=True)
class NoisyGram:
    """The noisy sum of ``[y, t]^T [y, t]`` over clipped centred rows y, ``t`` a public constant.

    Parameters
    ----------
    matrix : ndarray of shape (d, d) or (d + 1, d + 1)
    constant : float
        t; 0 if the rows were not augmented.
    query : GaussianQuery
        How it was released.
    """

    matrix: np.ndarray
    constant: float
    query: GaussianQuery

    def count(self) -> tuple[float, float]:
        """The noisy (weighted) number of rows and the sd of its noise."""
        square = self.constant**2
        return self.matrix[-1, -1] / square, self.query.noise_sd / square

    def about_mean(self, n: float) -> tuple[np.ndarray, np.ndarray]:
        """The Gram matrix about the rows' mean, and that mean relative to the centre.

        The mean is shrunk towards the centre by what is noise in it.
        """
        if not self.constant:
            return self.matrix, np.zeros(len(self.matrix))
        scale = self.constant * n
        mean = self.matrix[-1, :-1] / scale
        mean = shrink_to_signal(mean, self.query.noise_sd / math.sqrt(2) / scale)
        return self.matrix[:-1, :-1] - n * np.outer(mean, mean), mean


def release_gram(
    records: Records,
    centre: np.ndarray | None,
    clipping: Clipping,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> NoisyGram:
    """Spend what is left on the Gram matrix of the clipped records.

    Parameters
    ----------
    centre : ndarray of shape (d,) or None
        Subtracted from every row; public or released.
    clipping : Clipping
        What the records are clipped to, and the constant that augments them.
    """
    radius, constant, norms = clipping.radius, clipping.constant, clipping.norms
    bound = radius**2 + constant**2
    reach = math.sqrt(bound) if public.grouped else radius
    if norms is None:
        weights = None
    elif clipping.median is not None:
        weights = np.divide(reach, norms, out=np.zeros_like(norms), where=norms > 0)
    else:
        weights = clip_weights(norms, reach)
    size = records.n_features + (constant != 0)
    shift = np.zeros(records.n_features) if centre is None else centre
    if clipping.median is not None and centre is not None:
        # Weights grow without bound near the centre: no cancellation may be left to the products.
        precise, terms = records.explicit(), radius
    else:
        precise, terms = precise_records(records, shift, radius)
    query = spender.rest(
        "Gram matrix",
        psd_sum(bound, public.adjacency),
        size=size,
        symmetric=True,
        norm_error=2 * norm_error(records),
        rounding=summation_error(terms**2 + constant**2, records.span_rows, size),
    )
    total = precise.fold(
        lambda out, block, w: block.add_gram(out, w, centre, constant), (size, size), weights
    )
    return NoisyGram(query.release(total, noise), constant, query)
