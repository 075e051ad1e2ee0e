"""How far noise turned directions, by released numbers alone: steps' noise, and a span's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...linalg import decreasing_eigh
from ...mechanisms.variances import Variances
from .iteration import ITERATION, Directions


@dataclass(frozen=True)
class TurnedConstants:
    """How alignments are read off the steps."""

    # Halvings of the bracket of an eigenvalue: all digits of it.
    halvings: int = 60


TURNED = TurnedConstants()


def alignments_of_moves(
    found: Directions, along: Variances, surely: np.ndarray, per_row: float
) -> tuple[np.ndarray, float]:
    r"""Expected squared cosines with the components without noise, and the noise floor.

    Parameters
    ----------
    found : Directions
        With `moves`.
    along : Variances
        Their noise is independent of that of the steps.
    surely : ndarray of shape (k,)
        Lower bounds on the variances.
    per_row : float
        A variance over an eigenvalue of a step's mean.

    Returns
    -------
    alignments : ndarray of shape (k,)
        0 for a variance that is not surely above the floor.
    floor : float
        The variance below which no step brings a direction nearer to a component.

    Notes
    -----
    An approximation, to first order in the noise of a step. All d - p directions that are not in
    the span are taken to vary alike: by r, the mean of all that were left out.

    *What a step does.* Let l be the eigenvalue of a component, and q the squared tangent of the
    angle between it and the span. The step to ``W + G / b``, ``b = ||W^T G|| / rate``, multiplies
    what the span has of the component by ``1 + l / b``, and what it has of other directions by
    ``1 + r / b``. It adds noise of mean square ``(d - p) s^2 / b^2`` to a unit vector, and the
    share ``1 / (1 + q)`` of that vector's square is the component's. So

        q <- ((b + r)^2 q + (d - p) s^2 (1 + q)) / (b + l)^2 ,

    from ``(d - p) / p``, that of a random start. No direction is farther from a component than a
    random one, so q is at most ``d - 1``. If l is below ``sqrt((b + r)^2 + (d - p) s^2) - b`` in
    every step, q grows in all of them: the least of these is the floor. For an infinite rate and
    equal steps, ``1 / (1 + q)`` tends to ``1 - (d - p) s^2 / (l^2 - r^2)``, which is 0 there.

    *What is turned within the span.* One noisy matrix says which k of the p directions are kept,
    and another one their order. Noise x off the diagonal turns two directions a gap g apart by a,
    ``tan 2 a = 2 x / g``. The squares of the sines are added to q.

    *Which l.* A released variance v is that along a noisy direction: ``v = c l + (1 - c) r``, with
    the alignment ``c = 1 / (1 + q)``. That is solved for l. The means of the steps are clipped more
    than the variances are, and all directions are taken to lose the same share by it.
    """
    core = decreasing_eigh(found.core)[0]
    left = np.clip(per_row * core.sum() / along.clipped.sum(), ITERATION.least_left, 1.0) / per_row
    steps = _Steps(found, float(left * along.clipped_rest))
    outside = steps.lost(steps.behind(left * along.clipped))
    inside = _reordered(along) + _turned(
        np.abs(core[:, None] - found.dropped), found.moves[-1].noise_sd
    )
    is_seen = left * surely > steps.floor
    return np.where(is_seen, 1 / (1 + outside + inside), 0.0), float(steps.floor / left)


def alignments_of_span(noise_sd: float, d: int, along: Variances) -> np.ndarray:
    """Expected squared cosines of the components of a span that itself has noise; 0 if it is lost.

    Parameters
    ----------
    noise_sd : float
        s, of every entry of k orthonormal directions; infinite if they are lost in it.
    d : int
        The number of features.
    along : Variances

    Notes
    -----
    The directions with noise, as rows Y, have squares of 1 + d s^2 in the mean. Of that, 1 + k s^2
    is in the span without noise. For many features ``Y Y^T`` is about ``(1 + d s^2) I``, so the
    quotient is the expected squared cosine of every direction of the one span with the other. What
    the noisy order turns within the span is added to its squared tangent, as in
    `alignments_of_moves`.
    """
    k = len(along.clipped)
    if math.isinf(noise_sd):
        return np.zeros(k)
    return 1 / ((1 + d * noise_sd**2) / (1 + k * noise_sd**2) + _reordered(along))


@dataclass(frozen=True)
class _Steps:
    """What the steps make of a component, and of their own noise.

    Parameters
    ----------
    found : Directions
    rest : float
        r, in units of the steps' means.
    """

    found: Directions
    rest: float

    @property
    def n_features(self) -> int:
        """D."""
        return self.found.directions.shape[1]

    @property
    def n_outside(self) -> int:
        """D - p."""
        return self.n_features - self.found.started

    @property
    def floor(self) -> float:
        """The least eigenvalue that some step makes clearer."""
        least = (
            math.hypot(move.unit + self.rest, math.sqrt(self.n_outside) * move.noise_sd) - move.unit
            for move in self.found.moves
        )
        return max(self.rest, min(least))

    def lost(self, values: np.ndarray) -> np.ndarray:
        """Q of components with these eigenvalues, which are not below r."""
        q = np.full(len(values), self.n_outside / self.found.started)
        for move in self.found.moves:
            whole = move.unit + values
            passed = ((move.unit + self.rest) / whole) ** 2 * q
            noise = self.n_outside * (move.noise_sd / whole) ** 2 * (1 + q)
            q = np.minimum(passed + noise, self.n_features - 1)
        return q

    def behind(self, seen: np.ndarray) -> np.ndarray:
        """The l of which v is seen; r where v is less.

        ``c (l - r)`` grows with l, and c is at least ``1 / d``.
        """
        beyond = np.maximum(seen - self.rest, 0.0)
        low, high = self.rest + beyond, self.rest + self.n_features * beyond
        for _ in range(TURNED.halvings):
            middle = (low + high) / 2
            too_high = middle - self.rest > beyond * (1 + self.lost(middle))
            low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
        return high


def _reordered(along: Variances) -> np.ndarray:
    """What the noise in the matrix of variances turns each component to the others."""
    gaps = np.abs(along.clipped[:, None] - along.clipped)
    np.fill_diagonal(gaps, np.inf)
    return _turned(gaps, along.error)


def _turned(gaps: np.ndarray, noise_sd: float) -> np.ndarray:
    """By row, the squared sines by which a symmetric matrix's noise turns directions, added up.

    Parameters
    ----------
    noise_sd : float
        Of an entry before it is averaged with the one across the diagonal.
    """
    angles = np.arctan2(math.sqrt(2) * noise_sd, gaps) / 2
    return (np.sin(angles) ** 2).sum(axis=1)
