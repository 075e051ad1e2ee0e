"""k-DP-PCA with full privacy: all directions at once, or one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.block_mean import BlockMean
from ...private_data import PrivateData
from ..subspace import SubspaceMechanism
from .deflation import Deflation
from .oracles import Oracle, PowerOracle

__all__ = ["BlockPower", "DeflatedOracle"]


@dataclass(frozen=True)
class BlockPower(SubspaceMechanism):
    """k-DP-PCA (Düngler & Sanyal, Algorithm 2) with all directions at once.

    The paper's private range and private mean are here a clipping radius around a predicted
    gradient, and one Gaussian query in the ball: no histograms, whose argmax is not private without
    a threshold.

    Parameters
    ----------
    oracle : PowerOracle
    """

    oracle: PowerOracle

    def directions(self, data: PrivateData, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The power iteration with a block of k directions."""
        return self.oracle.block(BlockMean(data), k)


@dataclass(frozen=True)
class DeflatedOracle(SubspaceMechanism):
    """k-DP-PCA as printed (Düngler & Sanyal, Algorithm 1): one direction after the other.

    Parameters
    ----------
    oracle : Oracle
    sampling : {"reuse", "split"}
        Of the rounds; what an oracle does with its own records is its own affair.
    """

    oracle: Oracle
    sampling: str

    def directions(self, data: PrivateData, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Direction after direction, each off those found before."""
        return Deflation(self.oracle, k, self.sampling)(BlockMean(data))
