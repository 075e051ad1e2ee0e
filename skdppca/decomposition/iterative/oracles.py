"""1-PCA oracles find one direction, for a deflation to repeat; those of users are tried first."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np

from ...mechanisms.block_mean import BlockMean
from ...noise import NoiseSource
from ...privacy import PrivacyFilter
from ...private_data import PrivateData, Public
from ...records import Records
from .iteration import ITERATION, Directions, iterate, orthonormal_start, steps
from .subspace import SubspaceMechanism


def start_width(width: int, n_features: int) -> int:
    """Return the number of start directions of an iteration that is to return `width`."""
    return min(n_features, width + ITERATION.oversampling)


def columns(strategy: str, k: int, n_features: int) -> int:
    """Return the number of entries a feature has in the means of a step, or of all k rounds."""
    rounds, width = (1, k) if strategy == "block" else (k, 1)
    return rounds * start_width(width, n_features)


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
            Unit vector, orthogonal to ``mean.removed``.
        value : float
            The eigenvalue it is thought to have; 0 if nothing is known.
        """


@dataclass(frozen=True)
class PowerOracle:
    """The power iteration with adaptive noise: Modified DP-PCA made private and sharper.

    Düngler & Sanyal, Algorithm 2, and Liu et al., Algorithm 3, with the private means of
    `BlockMean`. For one direction; `KDPPCA` runs the same iteration with all directions at once.
    The papers' private range and private mean are here a clipping radius around a predicted
    gradient, and one Gaussian query in the ball: no histograms of every coordinate, whose
    thresholds few records reach.

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
    learning_rate: float | Literal["auto"] = "auto"
    sampling: str = "reuse"
    range_share: float = 0.2
    ratio: float = 1.4

    def __call__(self, mean: BlockMean) -> tuple[np.ndarray, float]:
        """The block iteration with a single direction."""
        return _single(self.block(mean, 1))

    def block(self, mean: BlockMean, width: int) -> Directions:
        """Find `width` directions at once, and the mean matrix within them."""
        todo = steps(mean, self.sampling, self.n_iter, self.ratio, self.range_share)
        narrowed = (ITERATION.wide_steps, width)
        return iterate(list(todo), _start(mean, width), self.learning_rate, True, None, narrowed)


@dataclass(frozen=True)
class OjasOracle:
    """Oja's iteration over clipped private gradients: DP-Ojas with a guarantee that holds.

    Düngler & Sanyal, Algorithm 3, and Liu et al., Algorithm 2, with the private means of
    `BlockMean` around 0: nothing is predicted, so the noise follows the length of the records. For
    one direction; `KDPOjas` runs the same iteration with all directions at once. The printed noise
    rests on amplification by shuffling, for tiny epsilon only; this is the Gaussian mechanism on
    the sum over all records of a step.

    Parameters
    ----------
    n_iter : int
    learning_rate : float or "auto"
        The step is ``learning_rate / t`` over the top eigenvalue of the step's mean; "auto" is 8.
    sampling : {"reuse", "split"}
        Whether every step sees all records, or its own.

    Examples
    --------
    >>> from skdppca import KDPPCA
    >>> from skdppca.datasets import make_spiked
    >>> from skdppca.decomposition import OjasOracle
    >>> X, groups, components, _ = make_spiked(2000, 20, 2, (10, 5), 0.1, random_state=0)
    >>> pca = KDPPCA(2, strategy="deflation", oracle=OjasOracle(), unit="matrix", center=False)
    >>> bool(abs(components[0] @ pca.fit(X, groups=groups).components_[0]) > 0.9)
    True
    """

    n_iter: int = 12
    learning_rate: float | Literal["auto"] = "auto"
    sampling: str = "reuse"

    def __call__(self, mean: BlockMean) -> tuple[np.ndarray, float]:
        """The block iteration with a single direction."""
        return _single(self.block(mean, 1))

    def block(self, mean: BlockMean, width: int) -> Directions:
        """Find `width` directions at once, and the mean matrix within them."""
        ratio, range_share = ITERATION.ojas_ratio, ITERATION.ojas_range_share
        searches = ITERATION.ojas_searches
        todo = steps(mean, self.sampling, self.n_iter, ratio, range_share, searches)
        rate = ITERATION.ojas_rate if isinstance(self.learning_rate, str) else self.learning_rate
        narrowed = (self.n_iter, width)
        return iterate(list(todo), _start(mean, width), rate, False, None, narrowed)


@dataclass(frozen=True)
class BlockIteration(SubspaceMechanism):
    """k-DP-PCA or k-DP-Ojas (Düngler & Sanyal, Algorithms 2 and 3) with all directions at once.

    Parameters
    ----------
    oracle : PowerOracle or OjasOracle
    """

    oracle: PowerOracle | OjasOracle

    def directions(self, data: PrivateData, k: int) -> Directions:
        """Private mean after private mean, from a random start."""
        return self.oracle.block(BlockMean(data), k)


def _start(mean: BlockMean, width: int) -> np.ndarray:
    """Random directions outside of what is removed."""
    found = 0 if mean.removed is None else len(mean.removed)
    wide = start_width(width, mean.n_features - found)
    return orthonormal_start(wide, mean.n_features, mean.removed, mean.data.noise)


def _single(found: Directions) -> tuple[np.ndarray, float]:
    """The only direction of a block of one, and its value."""
    return found.directions[0], float(found.core[0, 0])


@dataclass(frozen=True)
class RehearsalConstants:
    """The made-up rows; round numbers."""

    # Rows, and the most entries that they have together, which is 16 MB.
    rows: int = 256
    entries: int = 2_000_000
    # The budget: so large that noise hides nothing of the made-up rows.
    mu: float = 100.0
    # Calls: the first sees no direction that is removed, the second one.
    calls: int = 2


REHEARSAL = RehearsalConstants()


def rehearse_oracle(oracle: Oracle, n_features: int) -> None:
    """Refuse an oracle that is a class, fails, or returns no direction and value.

    It sees no record of the fit, and a copy of the oracle is called, with noise of its own: the fit
    finds the oracle and its own noise as if nothing had been tried.

    Parameters
    ----------
    oracle : Oracle
    n_features : int

    Raises
    ------
    TypeError, ValueError
        If it is a class, or returns something else. What the oracle itself raises is not caught.
    """
    if isinstance(oracle, type):
        name = oracle.__name__
        raise TypeError(f"oracle={name} is a class; pass an instance of it: oracle={name}()")
    tried, mean = deepcopy(oracle), _made_up(n_features)
    found = np.empty((0, n_features))
    with np.errstate(all="ignore"):  # as in the fit
        for left in range(min(REHEARSAL.calls, n_features), 0, -1):
            part = mean.split(mean.remaining / np.sqrt(left) * (1 - 1e-12))
            direction = _direction(tried(part.without(found)), n_features)
            found = np.vstack([found, direction / np.linalg.norm(direction)])


def _made_up(n_features: int) -> BlockMean:
    """Private means of rows whose variances fall from feature to feature."""
    n = min(REHEARSAL.rows, max(REHEARSAL.entries // n_features, 2))
    scales = 1 / np.sqrt(np.arange(1, n_features + 1))
    rows = np.random.default_rng(0).standard_normal((n, n_features)) * scales
    data = PrivateData(
        source=Records.of(rows),
        public=Public(n_features, "replace-one", n_records=n, in_memory=True),
        budget=PrivacyFilter(REHEARSAL.mu),
        noise=NoiseSource(0),
        centre=np.zeros(n_features),
        n=float(n),
    )
    return BlockMean(data)


def _direction(answer: Any, n_features: int) -> np.ndarray:
    """The direction of what an oracle has returned; refuse what is none."""
    returns = "oracle must return (direction, value)"
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise TypeError(
            f"{returns}, but it returned {_kind(answer)} for made-up rows; end it with "
            "`return direction, value`. Nothing was charged"
        )
    direction, value = answer
    shape = (n_features,)
    if not isinstance(direction, np.ndarray) or direction.shape != shape:
        raise ValueError(
            f"{returns} with a direction of shape {shape}, but it returned {_kind(direction)} for "
            "made-up rows; return one row, such as W[0]. Nothing was charged"
        )
    length = np.linalg.norm(direction) if direction.dtype.kind == "f" else 0.0
    if not (np.isfinite(length) and length > 0):
        raise ValueError(
            f"{returns} with a direction of finite real numbers that are not all 0, but for "
            "made-up rows it did not; divide a direction by its norm only if that is positive. "
            "Nothing was charged"
        )
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(
            f"{returns} with a finite number as value, but it returned {_kind(value)} for made-up "
            "rows; return float(value), or 0.0 if you do not know it. Nothing was charged"
        )
    return direction


def _kind(found: Any) -> str:
    """Return the type of an object, in words."""
    if isinstance(found, np.ndarray):
        return f"an array of shape {found.shape}"
    size = f" of length {len(found)}" if isinstance(found, tuple | list) else ""
    return f"a {type(found).__name__}{size}"
