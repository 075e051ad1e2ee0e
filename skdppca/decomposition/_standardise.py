"""Private standardisation: any Gaussian method on privately scaled features (METHODS 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..mechanisms.base import Mechanism, Public, Spender
from ..mechanisms.scales import exact_scales, private_scales
from ..noise import NoiseSource
from ..privacy import GaussianEvent, NonPrivateEvent, PrivacyEvent
from ..records import Records
from ._release import Release

__all__ = ["Standardised", "standardise"]


@dataclass(frozen=True)
class Standardised:
    """Rough private scales, then a method on the features divided by them.

    Parameters
    ----------
    public : Public
    event : PrivacyEvent
        Of both together; the method gets what the searches leave of it.
    inner : Mechanism
        The method, a dataclass with the fields `event` and `mean`. One with `start` is told the
        locations, one with `correlate` that it may mend the scales.
    center : bool
        Whether deviations are from private locations, where there is no public mean; else from 0.

    Notes
    -----
    All queries are Gaussian, so ``mu^2`` of the searches and of the method add up exactly. The
    method's share follows from which searches were needed: that is a private output, and the
    spender a Gaussian-DP filter.
    """

    public: Public
    event: PrivacyEvent
    inner: Any
    center: bool

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        spender = Spender(getattr(self.event, "mu", math.inf))
        mean, located = self.inner.mean, self.center and self.inner.mean is None
        # 1. where every feature lies and how far it spreads, in units of X
        around = None if located else (np.zeros(records.n_features) if mean is None else mean)
        if math.isinf(spender.mu):
            found = exact_scales(records, around)
        else:
            found = private_scales(records, around, spender, self.public, noise)
        # 2. the method, with all that is left, on features divided by that
        told: dict[str, Any] = {"event": self.event}
        if isinstance(self.event, GaussianEvent):
            told["event"] = replace(self.event, mu=spender.left)
        if mean is not None:
            told["mean"] = mean / found.scale
        if located:
            told["start"] = found.location / found.scale
        told["correlate"] = True
        known = {field.name for field in fields(self.inner)}
        method = replace(self.inner, **{k: v for k, v in told.items() if k in known})
        release = method(records.scaled(found.scale), noise)
        # 3. one account, and one scale
        spender.enclose(release.spender)
        scale = found.scale if release.scale is None else found.scale * release.scale
        return replace(release, spender=spender, scale=scale)


def standardise(inner: Mechanism, public: Public, center: bool) -> Standardised:
    """The mechanism on privately standardised features, at the same cost in all.

    Raises
    ------
    ValueError
        If its cost is not that of Gaussian noise, of which alone a part can be split off.
    TypeError
        If it is no dataclass with an `event` and a `mean`, and cannot be told of either.
    """
    if not {"event", "mean"} <= {field.name for field in fields(inner)}:
        raise TypeError(
            f"{type(inner).__name__} has no fields event and mean, so scale='private' cannot be "
            "put before it; give public scales"
        )
    if type(inner.event) not in (GaussianEvent, NonPrivateEvent):
        raise ValueError(
            "scale='private' needs a part of the budget of Gaussian noise, but with these "
            f"parameters the method costs {inner.event!r}; give public scales, or choose another "
            "noise"
        )
    return Standardised(public, inner.event, inner, center)
