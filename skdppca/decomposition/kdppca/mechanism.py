"""k-DP-PCA with full privacy, all directions at once."""

from __future__ import annotations

from dataclasses import dataclass

from ...mechanisms.block_mean import BlockMean
from ...mechanisms.steps import Found
from ...private_data import PrivateData
from ..oracles import PowerOracle
from ..subspace import SubspaceMechanism

__all__ = ["BlockPower"]


@dataclass(frozen=True)
class BlockPower(SubspaceMechanism):
    """k-DP-PCA (Düngler & Sanyal, Algorithm 2) with all directions at once.

    The paper's private range and private mean are here a clipping radius around a predicted
    gradient, and one Gaussian query in the ball: no histograms of every coordinate, whose
    thresholds few records reach.

    Parameters
    ----------
    oracle : PowerOracle
    """

    oracle: PowerOracle

    def directions(self, data: PrivateData, k: int) -> Found:
        """The power iteration with a block of k directions."""
        return self.oracle.block(BlockMean(data), k)
