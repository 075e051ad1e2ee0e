"""A mechanism's release, and the words in a report where the noise hid the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..private_data import PrivateData, Public

if TYPE_CHECKING:
    from .scatter import NoisyScatter


@dataclass(frozen=True)
class BudgetConstants:
    """Shares of mu^2 that mechanisms have in common: round numbers."""

    # The number of records; a histogram of norms or sizes, and its largest share where records are
    # few. Half and double change no loss by more than 2 %.
    question_share: float = 0.01
    most_look_share: float = 0.04
    # The usual share of one that only tells about how long records are, or how far away.
    rough_look_share: float = 0.002
    # From this mu on (epsilon 4.6 at delta 1e-6) the noise is the lesser evil: all records are
    # asked, histograms cost more, and clipping takes less, the more mu exceeds it. With what suits
    # a small mu, errors stopped falling or rose from epsilon 10 to 1e6 on five tables; round.
    ample_mu: float = 1.0


BUDGET = BudgetConstants()


def ample(mu: float) -> float:
    """Return by what factor a mu exceeds the one from which noise is the lesser evil, or 1."""
    return max(1.0, mu / BUDGET.ample_mu)


@dataclass(frozen=True)
class Release:
    """Output of a mechanism: every field is a private output or computed from private outputs.

    Parameters
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows.
    centre : ndarray of shape (d,)
        In units of the scaled features.
    n_samples : float
        The number of records: exact where it is public, noisy elsewhere.
    explained_variance : ndarray of shape (k,) or None
        None if no variances are released.
    total_variance, noise_variance : float or None
    n_rows : float or None
        What the variances were divided by, plus 1.
    details : dict
        For the report.
    scale : ndarray of shape (d,) or None
        Private scales: what the components' features were divided by, in units of the features of
        the records that the mechanism was given. The centre is then in units of the scaled ones.
    matrix : NoisyScatter or None
        What the rest was read off, if that is released as well.
    """

    components: np.ndarray
    centre: np.ndarray
    n_samples: float
    explained_variance: np.ndarray | None = None
    total_variance: float | None = None
    noise_variance: float | None = None
    n_rows: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    scale: np.ndarray | None = None
    matrix: NoisyScatter | None = None


# A whole private algorithm, built from parameters and public facts alone. It releases, asking the
# data for all that depends on the records; these hold exactly the budget of its estimator's event.
Mechanism = Callable[[PrivateData], Release]

ABOUT_START = (
    "mean_ is the point where the search began, and the components are of the rows about it, so "
    "the first one may point to where the rows are"
)
ELSEWHERE = "differences of pairs of rows need no centre, but all rows in memory"
NO_SCALE = "the components are of the directions of the rows, and no variance has a scale"


def with_unseen(
    release: Release,
    public: Public,
    *,
    no_centre: bool = False,
    no_norms: bool = False,
    paired: bool = False,
) -> Release:
    """Say in a release what the noise hid.

    Parameters
    ----------
    release : Release
    public : Public
    no_centre, no_norms : bool
        The records' distances, or how long they are, were looked for and not seen; released.
    paired : bool
        The method takes pairs of rows that are all in memory where no centre is seen.
    """
    details = dict(release.details)
    if no_centre:
        elsewhere = paired and not (public.in_memory or public.grouped)
        details["no_centre"] = f"{ABOUT_START}; {ELSEWHERE}" if elsewhere else ABOUT_START
    elif no_norms:
        details["no_norms"] = NO_SCALE
    return replace(release, details=details)
