"""k-DP-Ojas in full passes."""

from __future__ import annotations

from dataclasses import dataclass

from ...mechanisms.block_mean import BlockMean
from ...mechanisms.steps import Found
from ...private_data import PrivateData
from ..oracles import OjasOracle
from ..subspace import SubspaceMechanism

__all__ = ["BlockOjas"]


@dataclass(frozen=True)
class BlockOjas(SubspaceMechanism):
    """k-DP-Ojas (Düngler & Sanyal, Algorithm 3) with all directions at once.

    The printed noise rests on amplification by shuffling, for tiny epsilon only; this is the
    Gaussian mechanism on the sum over all records of a step.

    Parameters
    ----------
    oracle : OjasOracle
    """

    oracle: OjasOracle

    def directions(self, data: PrivateData, k: int) -> Found:
        """Clipped gradient after clipped gradient, from a random start."""
        return self.oracle.block(BlockMean(data), k)
