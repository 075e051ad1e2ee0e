"""Absent entries: how many every feature has, and what filling them did to the moments.

See the page "Missing entries" of the theory. All that is decided here follows from answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..privacy import GaussianEvent, NonPrivateEvent, PrivacyEvent
from ..private_data import PrivateData
from .base import Mechanism, Release
from .column_cells import ask_cells

__all__ = ["Filled", "left_along", "more_noise", "share_present", "undone", "with_present"]

# Shares of mu^2 of the number of records, and of how many values every feature has.
COUNT_SHARE, PRESENT_SHARE = 0.01, 0.02

# No feature is taken for emptier than that: the noise would grow by the inverse square.
LEAST = 0.1


@dataclass(frozen=True)
class Filled:
    """How many entries are there, and then a method on filled rows that takes that into account.

    It is asked whether or not an entry is absent: otherwise that would show.

    Parameters
    ----------
    method : Mechanism
    """

    method: Mechanism

    @classmethod
    def around(cls, method: Mechanism, event: PrivacyEvent) -> Mechanism:
        """The same method at the same cost in all.

        Where noise is not Gaussian no part of the budget can be split off: then rows are filled,
        and nothing is asked or undone.
        """
        return cls(method) if type(event) in (GaussianEvent, NonPrivateEvent) else method

    def run(self, data: PrivateData) -> Release:
        """Release what the method releases, and the shares of the entries that are there."""
        known = with_present(data)
        release = self.method.run(known.portion(known.left))
        return replace(release, details={**release.details, "present": known.present})


def undone(moments: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Second moments about the centre, without what filling took of them.

    Parameters
    ----------
    moments : ndarray of shape (d, d)
        Of rows that were filled with the centre.
    present : ndarray of shape (d,)
        Share of the entries that are there.
    """
    shares = np.outer(present, present)
    np.fill_diagonal(shares, present)
    return moments / shares


def left_along(direction: np.ndarray, moments: np.ndarray, present: np.ndarray | None) -> float:
    """What filling leaves of the variance along a direction, as a share.

    Parameters
    ----------
    direction : ndarray of shape (d,)
    moments : ndarray of shape (d, d)
        Of complete rows about the centre, in any unit.
    present : ndarray of shape (d,) or None
    """
    if present is None:
        return 1.0
    off = direction * present
    own = direction**2 @ (present * (1 - present) * np.diag(moments))
    complete = float(direction @ moments @ direction)
    if not complete > 0:
        return share_present(present)
    return float(np.clip((off @ moments @ off + own) / complete, LEAST**2, 1.0))


def more_noise(present: np.ndarray | None) -> float:
    """By how much `undone` raises the noise of an entry, as a root mean square."""
    return 1.0 if present is None else float(np.mean(present**-2.0))


def share_present(present: np.ndarray | None) -> float:
    """Of all entries; a filled row's mean square is so much of a complete one's."""
    return 1.0 if present is None else float(np.mean(present))


def with_present(data: PrivateData) -> PrivateData:
    """The same, the share of every feature's entries that are there known, at a cost.

    The noisy shares are pulled to their mean by what is noise in how they differ: entries are often
    as rare in one feature as in the next, and an error would be one of all its moments.
    """
    d, data = data.n_features, data.counted(data.share(COUNT_SHARE))
    whole = np.zeros(d), np.ones(d), np.array([-np.inf, np.inf])
    counts, sd = ask_cells(data, np.arange(d), *whole, PRESENT_SHARE, "present values")
    shares, variance = counts[:, 0] / data.n, (sd / data.n) ** 2
    mean, spread = float(shares.mean()), float(shares.var())
    kept = max(spread - variance, 0.0) / spread if spread else 0.0
    return replace(data, present=np.clip(mean + kept * (shares - mean), LEAST, 1.0))
