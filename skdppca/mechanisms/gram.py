"""The clipped, augmented Gram matrix in one Gaussian release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..private_data import PrivateData
from ..statistics import ClippedGram
from .centre import shrink_to_signal
from .clipping import Clip
from .missing import noise_inflation, undone


@dataclass(frozen=True)
class NoisyGram:
    """The noisy sum of ``[y, t]^T [y, t]`` over clipped centred rows y, ``t`` a public constant.

    Parameters
    ----------
    matrix : ndarray of shape (d, d) or (d + 1, d + 1)
    constant : float
        t; 0 if the rows were not augmented.
    noise_sd : float
        Of the diagonal; off it the noise has sd ``noise_sd / sqrt(2)``.
    """

    matrix: np.ndarray
    constant: float
    noise_sd: float

    def averaged(self, other: NoisyGram) -> NoisyGram:
        """Two matrices of the same records, about one centre, weighted by inverse variance."""
        mine, theirs = self.noise_sd**-2, other.noise_sd**-2
        matrix = (mine * self.matrix + theirs * other.matrix) / (mine + theirs)
        return replace(self, matrix=matrix, noise_sd=(mine + theirs) ** -0.5)

    def count(self) -> tuple[float, float]:
        """The noisy (weighted) number of rows and the sd of its noise."""
        square = self.constant**2
        return self.matrix[-1, -1] / square, self.noise_sd / square

    def about_mean(
        self, n: float, present: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The Gram matrix about the rows' mean, and that mean relative to the centre.

        The mean is shrunk towards the centre by what is noise in it.

        Parameters
        ----------
        present : ndarray of shape (d,), optional
            Share of the entries that are there; what filling the others did is undone.
        """
        d = len(self.matrix) - bool(self.constant)
        moments, filled = self.matrix[:d, :d], np.ones(d) if present is None else present
        moments = moments if present is None else undone(moments, present)
        if not self.constant:
            return moments, np.zeros(d)
        scale = self.constant * n
        noise_sd = self.noise_sd / math.sqrt(2) / scale * math.sqrt(noise_inflation(present))
        mean = shrink_to_signal(self.matrix[-1, :-1] / scale / filled, noise_sd)
        return moments - n * np.outer(mean, mean), mean


def release_gram(
    data: PrivateData, clip: Clip, constant: float = 0.0, mu: float | None = None
) -> NoisyGram:
    """The Gram matrix of the clipped records about their centre.

    Parameters
    ----------
    constant : float
        What every row is augmented with.
    mu : float, optional
        By default all that is left.
    """
    gram = ClippedGram(data.centre, clip.radius, constant, data.public.grouped, clip.spherical)
    answer = data.ask(gram, mu, "Gram matrix")
    return NoisyGram(answer.value, constant, answer.noise_sd)
