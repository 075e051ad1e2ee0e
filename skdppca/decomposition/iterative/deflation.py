"""Deflation: k directions from k calls of a 1-PCA oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...mechanisms.block_mean import BlockMean
from ...noise import NoiseSource
from ...private_data import PrivateData
from .iteration import Directions, orthonormal_start
from .oracles import Oracle
from .subspace import SubspaceMechanism


@dataclass(frozen=True)
class Deflation:
    """Find a direction, project every record off it, and so on (k-DP-PCA, Algorithm 1).

    Düngler & Sanyal. The records are projected in their factors, ``x - U^T (U x)``: no d x d
    matrix is formed.

    Parameters
    ----------
    oracle : Oracle
        Finds one direction.
    n_components : int
        k.
    sampling : {"reuse", "split"}
        - "reuse": every round sees all records at ``mu / sqrt(k)``. The rounds compose in Gaussian
          DP, so the noise grows with sqrt(k). The privacy is exact. That reusing records does not
          hurt the utility is an open question of the paper, answered here by experiments only.
        - "split": every round sees its own records, about n / k, at the full mu.

    Notes
    -----
    **Proof of "split".** Every record draws its round by itself, without a look at the data. Its
    label follows from a secret key and its number. As long as the key stays secret, labels are
    independent and of one law at every number, so neighbouring data sets can be coupled so that
    each record in both draws the same round (`PrivacyFilter.in_parallel`). Given these labels, the
    data sets differ in the records of one round. The other rounds ask the same questions of the
    same records, given the answers so far; so all answers together are as private as those of that
    round: mu-GDP. A mixture of mu-GDP pairs with common weights is mu-GDP. By positions instead
    ("record i to round ``i k / n``"), or to whoever knows the key, one record less moves others
    to other rounds, and the proof and the guarantee break.
    """

    oracle: Oracle
    n_components: int
    sampling: str = "reuse"

    def __call__(self, mean: BlockMean) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal directions of shape (k, d), and the matrix of their predicted values."""
        k = self.n_components
        if self.sampling == "split":
            rounds = mean.parts((1,) * k)
        else:
            mu = mean.remaining / math.sqrt(k) * (1 - 1e-12)
            rounds = [mean.split(mu) for _ in range(k)]
        found = np.empty((0, mean.n_features))
        values = []
        for part in rounds:
            direction, value = self.oracle(part.without(found))
            found = np.vstack([found, _unit(direction, found, mean.data.noise)])
            values.append(value)
        return found, np.diag(values)


@dataclass(frozen=True)
class DeflatedOracle(SubspaceMechanism):
    """k-DP-PCA as printed (Düngler & Sanyal, Algorithm 1): one direction after the other.

    Parameters
    ----------
    oracle : Oracle
    sampling : {"reuse", "split"}
        Use of the records by the rounds; what an oracle does with its own records is its own
        affair.
    """

    oracle: Oracle
    sampling: str

    def directions(self, data: PrivateData, k: int) -> Directions:
        """Direction after direction, each off those found before."""
        return Directions(*Deflation(self.oracle, k, self.sampling)(BlockMean(data)))


def _unit(direction: np.ndarray, found: np.ndarray, noise: NoiseSource) -> np.ndarray:
    """Make a direction one of unit length, orthogonal to those found; at random if none is left."""
    length = np.linalg.norm(direction)
    for _ in range(2):  # twice is enough
        direction = direction - (found @ direction) @ found
    if np.linalg.norm(direction) <= 1e-8 * length:
        return orthonormal_start(1, len(direction), found, noise)[0]
    return direction / np.linalg.norm(direction)
