"""1-PCA oracles: what finds one direction, for a deflation to repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..mechanisms.base import Spender
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.steps import Step, combine, orthonormal_start, predict, steps
from ..noise import NoiseSource

__all__ = ["Oracle", "PowerOracle", "iterate"]


class Oracle(Protocol):
    """Finds the top direction of the mean matrix, seen through private means only."""

    def __call__(
        self, mean: BlockMean, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, float]:
        """Spend at most what `spender` has.

        Parameters
        ----------
        mean : BlockMean
            Private means of ``A_i w``, projected off ``mean.removed``. It is the only way to the
            records: an oracle that reads ``mean.records`` itself has no guarantee.
        spender : Spender
            The budget of this direction.
        noise : NoiseSource
            Also for random starts.

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
    METHODS 6. For one direction; `KDPPCA` runs the same iteration with all directions at once.

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

    def __call__(
        self, mean: BlockMean, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, float]:
        directions, core = self.block(mean, 1, spender, noise)
        return directions[0], float(core[0, 0])

    def block(
        self, mean: BlockMean, width: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        """So many directions at once, and the mean matrix within them."""
        todo = steps(mean, self.sampling, self.n_iter, self.ratio, self.range_share, spender, noise)
        start = orthonormal_start(width, mean.records.n_features, mean.removed, noise)
        return iterate(list(todo), start, self.learning_rate, predicts=True)


def iterate(
    todo: list[Step], start: np.ndarray, learning_rate: float | str, predicts: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Oja's iteration over private means.

    Parameters
    ----------
    start : ndarray of shape (p, d)
        Orthonormal rows.
    learning_rate : float or "auto"
        ``eta_t = learning_rate / (t ||W^T G||)``, or infinite.
    predicts : bool
        Ask for the means around what the last one predicts, or around 0.

    Returns
    -------
    directions : ndarray of shape (p, d)
    core : ndarray of shape (p, p)
        The mean matrix within them, as the last step saw it.
    """
    directions, prediction = start, np.zeros_like(start)
    core = np.zeros((len(start), len(start)))
    variance = math.inf
    for t, step in enumerate(todo, start=1):
        # 1. G: the noisy mean of A_i W, around its prediction C
        answer = step(directions, prediction)
        gradient = answer.mean
        if predicts:
            # 2. what the prediction knows already is worth as much as its variance is small
            gradient, variance = combine(prediction, variance, answer)
        # 3. Q, M: its span, and A within that
        basis, within = predict(gradient, directions)
        # 4. W: the power limit, or a step of Oja's
        if learning_rate == "auto":
            directions, core = basis, within
        else:
            length = np.linalg.norm(directions @ gradient.T, 2)
            rate = learning_rate / (t * length) if length else 0.0
            directions = np.linalg.qr((directions + rate * gradient).T)[0].T
            turn = directions @ basis.T
            core = turn @ within @ turn.T
        # 5. C: what A would do to the new W
        if predicts:
            prediction = (directions @ basis.T) @ within @ basis
    return directions, core
