"""Absent entries: how many every feature has, and what filling them did to the moments.

See the page "Missing entries" of the theory. All that is decided here follows from answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from ..privacy import GaussianEvent, NonPrivateEvent, PrivacyEvent
from ..private_data import PrivateData
from .base import BUDGET, Mechanism, Release
from .scales.octaves import ask_cells

# Values of a feature that is taken for empty are divided by that, so hardly anything of them is
# left; float32 holds what has been divided by it and by a private scale.
HIDING = 2.0**64


@dataclass(frozen=True)
class MissingConstants:
    """Cost of counting absent entries, and thresholds for empty features; round numbers."""

    # Share of mu^2 of how many values every feature has.
    present_share: float = 0.02
    # No feature is taken for emptier: the noise would grow by the inverse square. One that is seen
    # to be is left out.
    least_present: float = 0.1
    # Probability, over all features, that one as full as the mean one is taken for empty; and that
    # an empty one is not seen to be, where records are not few.
    error: float = 0.01


MISSING = MissingConstants()


def filled(method: Mechanism, event: PrivacyEvent) -> Mechanism:
    """Return a method that counts the entries that are there, and then is given filled rows.

    It costs the same in all. Where noise is not Gaussian no part of the budget can be split off:
    then rows are filled, and nothing is asked or undone.
    """
    gaussian = type(event) in (GaussianEvent, NonPrivateEvent)
    return partial(_release_filled, method) if gaussian else method


def _release_filled(method: Mechanism, data: PrivateData) -> Release:
    """Release what the method releases, and the shares of the entries that are there.

    It is asked whether or not an entry is absent: otherwise that would show. Features that are
    taken for empty are hidden from the method, and do not load.
    """
    known, shares = with_present(data)
    release = method(known.split(known.remaining))
    empty = shares == 0
    if empty.any():
        release = without_empty(empty, release, data.centre)
    return replace(release, details={**release.details, "present": shares})


def undone(moments: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Second moments about the centre, without what filling took of them.

    Parameters
    ----------
    moments : ndarray of shape (d, d)
        Second moments of rows that were filled with the centre.
    present : ndarray of shape (d,)
        Share of the entries that are there.
    """
    shares = np.outer(present, present)
    np.fill_diagonal(shares, present)
    return moments / shares


def left_along(direction: np.ndarray, moments: np.ndarray, present: np.ndarray | None) -> float:
    """Return the share of the variance along a direction that filling preserves.

    Parameters
    ----------
    direction : ndarray of shape (d,)
    moments : ndarray of shape (d, d)
        Second moments of complete rows around the centre, in any unit.
    present : ndarray of shape (d,) or None
    """
    if present is None:
        return 1.0
    off = direction * present
    own = direction**2 @ (present * (1 - present) * np.diag(moments))
    complete = float(direction @ moments @ direction)
    if not complete > 0:
        return share_present(present)
    return float(np.clip((off @ moments @ off + own) / complete, MISSING.least_present**2, 1.0))


def noise_inflation(present: np.ndarray | None) -> float:
    """By how much `undone` raises the noise of an entry, as a root mean square."""
    return 1.0 if present is None else float(np.mean(present**-2.0))


def share_present(present: np.ndarray | None) -> float:
    """Share of all entries that are there: a filled row's mean square over a complete one's."""
    return 1.0 if present is None else float(np.mean(present))


def with_present(data: PrivateData) -> tuple[PrivateData, np.ndarray]:
    """Return the data with noisy shares of present entries, and these shares; this is charged.

    The noisy shares are pulled to their mean by what is noise in how they differ: entries are often
    as rare in one feature as in the next, and an error would be one of all its moments. Features
    that are taken for empty have the share 0 and no part in that mean, and their values are hidden.
    """
    d, data = data.n_features, data.ask_count(data.fraction(BUDGET.question_share))
    whole = np.zeros(d), np.ones(d), np.array([-np.inf, np.inf])
    counts, sd = ask_cells(data, np.arange(d), *whole, MISSING.present_share, "present values")
    noisy, error = counts[:, 0] / data.n, sd / data.n
    empty = _empty(noisy, error)
    shares = noisy[~empty]
    mean, spread = float(shares.mean()), float(shares.var())
    kept = max(spread - error**2, 0.0) / spread if spread else 0.0
    shares = np.clip(mean + kept * (noisy - mean), MISSING.least_present, 1.0)
    if not empty.any():
        return replace(data, present=shares), shares
    # as constant as a feature of zeros, and as full as the others
    shares[empty] = shares[~empty].mean()
    hidden = data.scaled(np.where(empty, HIDING, 1.0))
    return replace(hidden, present=shares), np.where(empty, 0.0, shares)


def _empty(shares: np.ndarray, error: float) -> np.ndarray:
    """Return a mask of nearly empty features: counts within the noise, or too few.

    Parameters
    ----------
    shares : ndarray of shape (d,)
        Noisy.
    error : float
        Sd of their noise.

    Notes
    -----
    With z the one-sided quantile of normal noise at ``error / d``, a share is at most z sds, or
    less than `least_present` (half the mean, where that is less); and it is more than z sds below
    the mean. By the union bound, some empty feature fails the first with probability `error` at
    most, and some feature that is as full as the mean meets the second with no more. Where records
    are so few that the mean is less than 2 z sds, an empty feature may fail the second.
    """
    far, mean = -float(ndtri(MISSING.error / len(shares))) * error, float(shares.mean())
    return (shares <= max(far, min(MISSING.least_present, mean / 2))) & (shares < mean - far)


def without_empty(empty: np.ndarray, release: Release, centre: np.ndarray) -> Release:
    """Return the release restricted to the non-empty features: the others stay at the centre.

    Parameters
    ----------
    empty : ndarray of bool of shape (d,)
    release : Release
        Release of records of which these features were hidden.
    centre : ndarray of shape (d,)
        Public.
    """
    scale = None if release.scale is None else np.where(empty, 1.0, release.scale)
    return replace(
        release,
        components=_directions_without(empty, release.components),
        centre=np.where(empty, centre, release.centre),
        scale=scale,
        matrix=release.matrix and release.matrix.without(empty, centre),
    )


def _directions_without(empty: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """The nearest directions that do not load on these features: noise alone made them load.

    Those that are mostly noise come last. More directions than there are other features end with
    the axes of these.
    """
    kept = directions[:, ~empty]
    last = np.argsort(np.sum(kept**2, axis=1) < 0.5, kind="stable")
    k, d = directions.shape
    within = min(k, kept.shape[1])
    found = np.zeros((k, d))
    basis, signed = np.linalg.qr(kept[last].T)
    signs = np.where(np.diag(signed) < 0, -1.0, 1.0)
    found[:within, ~empty] = (basis * signs).T
    found[np.arange(within, k), np.flatnonzero(empty)[: k - within]] = 1.0
    return found
