"""Assumed variances: a named spectrum, or the user's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SpikedConstants:
    """Variances of "spiked" over that of all directions but the components. Round numbers."""

    # The first component, and the last; those between are at equal steps.
    first: float = 10.0
    last: float = 5.0


SPIKED = SpikedConstants()


def _spiked(d: int, k: int) -> np.ndarray:
    spikes = np.linspace(SPIKED.first, SPIKED.last, k)
    return np.r_[spikes, np.ones(d - k)] / SPIKED.first


# Name -> variances of d directions when k components are wanted; the first variance is 1.
SPECTRA: dict[str, Callable[[int, int], np.ndarray]] = {
    "power-law": lambda d, k: 1 / np.arange(1.0, d + 1),
    "spiked": _spiked,
    "flat": lambda d, k: np.ones(d),
}
DEFAULT = "power-law"


def check_spectrum(spectrum: Any, d: int, k: int) -> tuple[str, np.ndarray]:
    """Return the spectrum's name ("given" for numbers) and its d variances, largest first."""
    if isinstance(spectrum, str):
        return spectrum, SPECTRA[spectrum](d, k)
    try:
        variances = np.asarray(spectrum)
        if np.iscomplexobj(variances):
            raise TypeError
        variances = variances.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"spectrum={spectrum!r} is neither a name nor numbers; give one of {sorted(SPECTRA)}, "
            f"or {d} variances"
        ) from None
    if variances.shape != (d,):
        raise ValueError(
            f"spectrum has shape {variances.shape}, but n_features={d}; give as many variances "
            "as features"
        )
    if not (np.isfinite(variances).all() and (variances >= 0).all() and variances.any()):
        raise ValueError(
            "spectrum must be finite variances of at least 0, not all of them 0; give public "
            "guesses of the covariance's eigenvalues"
        )
    return "given", np.sort(variances)[::-1]
