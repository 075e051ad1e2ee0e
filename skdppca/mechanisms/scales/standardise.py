"""Private standardisation: any Gaussian method on privately scaled features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...privacy import GaussianEvent, NonPrivateEvent, PrivacyEvent
from ...private_data import PrivateData
from ..base import Mechanism, Release
from .private_scales import exact_scales, private_scales


@dataclass(frozen=True)
class Standardised:
    """Rough private scales, then a method on the features divided by them.

    Parameters
    ----------
    method : Mechanism
    center : bool
        Whether deviations are from private locations, which the method then starts from; else from
        the public mean or 0.

    Notes
    -----
    All queries are Gaussian, so ``mu^2`` of the searches and of the method add up exactly. The
    method's share follows from which searches were needed: that is a private output, and the
    budget a Gaussian-DP filter.
    """

    method: Mechanism
    center: bool

    @classmethod
    def checked(cls, method: Mechanism, event: PrivacyEvent, center: bool) -> Standardised:
        """The method on privately standardised features, at the same cost in all.

        Raises
        ------
        ValueError
            If its cost is not that of Gaussian noise, of which alone a part can be split off.
        """
        if type(event) not in (GaussianEvent, NonPrivateEvent):
            raise ValueError(
                "scale='private' needs a part of the budget of Gaussian noise, but with these "
                f"parameters the method costs {event!r}; give public scales, or choose another "
                "noise"
            )
        return cls(method, center)

    def run(self, data: PrivateData) -> Release:
        """Release scales, and what the method releases of the scaled features."""
        # 1. where every feature lies and how far it spreads, in units of X
        find = exact_scales if data.exact else private_scales
        found = find(data, located=self.center)
        # 2. the method, with all that is left, on features divided by that
        located = data.centred_at(found.location) if self.center else data
        release = self.method.run(located.split(data.remaining).scaled(found.scale))
        # 3. one scale
        scale = found.scale if release.scale is None else found.scale * release.scale
        matrix = release.matrix and replace(release.matrix, units=np.asarray(found.scale))
        return replace(release, scale=np.asarray(scale), matrix=matrix)
