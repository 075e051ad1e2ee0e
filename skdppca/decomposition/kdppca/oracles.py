"""1-PCA oracles: what finds one direction, for a deflation to repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...mechanisms.block_mean import BlockMean
from ...mechanisms.steps import iterate, orthonormal_start, steps

__all__ = ["Oracle", "PowerOracle"]


class Oracle(Protocol):
    """Finds the top direction of the mean matrix, seen through private means only."""

    def __call__(self, mean: BlockMean) -> tuple[np.ndarray, float]:
        """Spend at most what `mean` has left.

        Parameters
        ----------
        mean : BlockMean
            Private means of ``A_i w``, projected off ``mean.removed``. Its call is the only way to
            the records: an oracle that reads ``mean.data.source`` itself has no guarantee. Random
            starts are drawn from ``mean.data.noise``.

        Returns
        -------
        direction : ndarray of shape (d,)
            Of unit length, orthogonal to ``mean.removed``.
        value : float
            The eigenvalue it is thought to have; 0 if nothing is known.
        """


@dataclass(frozen=True)
class PowerOracle:
    """The power iteration with adaptive noise: Modified DP-PCA made private and sharper.

    Düngler & Sanyal, Algorithm 2, and Liu et al., Algorithm 3, with the private means of
    `BlockMean`. For one direction; `KDPPCA` runs the same iteration with all directions at once.

    Parameters
    ----------
    n_iter : int
    learning_rate : float or "auto"
        "auto" is the limit of a large rate: the power iteration.
    sampling : {"reuse", "split"}
        Whether every step sees all records, or its own.
    range_share : float
        Share of the budget (or of the records) for the radii.
    ratio : float
        From step to step, of the budgets of the means.
    """

    n_iter: int = 7
    learning_rate: float | str = "auto"
    sampling: str = "reuse"
    range_share: float = 0.2
    ratio: float = 1.4

    def __call__(self, mean: BlockMean) -> tuple[np.ndarray, float]:
        """The block iteration with a single direction."""
        directions, core = self.block(mean, 1)
        return directions[0], float(core[0, 0])

    def block(self, mean: BlockMean, width: int) -> tuple[np.ndarray, np.ndarray]:
        """So many directions at once, and the mean matrix within them."""
        todo = steps(mean, self.sampling, self.n_iter, self.ratio, self.range_share)
        start = orthonormal_start(width, mean.n_features, mean.removed, mean.data.noise)
        return iterate(list(todo), start, self.learning_rate, predicts=True)
