"""Noise of a fit's released numbers, computed from the release alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..privacy import NonPrivateEvent

# A variance is no less than its noise: there it is a bound, and no estimate.
AT_BOUND = 1 + 1e-6

# The share of all fits that a bar is to hold, and the sds that hold it for a normal distribution:
# noise alone explains an entry within them.
LEVEL = 0.95
BAR_SDS = 1.96


def alignments(pca: Any) -> np.ndarray:
    """Return the components' alignments, or ones if the method does not release them."""
    released = pca.privacy_.details.get("alignments")
    if released is None:
        return np.ones(len(pca.components_))
    return np.asarray(released, dtype=float)


def left_out(pca: Any, most: int) -> np.ndarray:
    """Return the variances of the first components that the fit did not keep."""
    kept = len(pca.explained_variance_)
    spectrum = np.asarray(pca.privacy_.details.get("spectrum", ()), dtype=float)
    return spectrum[kept : kept + most]


def is_elliptical(pca: Any) -> bool:
    """Return whether variances rest on an elliptical model, as records were scaled to norm 1."""
    return _shares(pca) is not None


def lost_in_noise(pca: Any) -> np.ndarray:
    """Return which components the noise drowns."""
    errors = _clipped_errors(pca)
    at_bound = (errors > 0) & (_clipped_variances(pca) <= errors * AT_BOUND)
    return (alignments(pca) <= 0) | at_bound


def variance_intervals(pca: Any, level: float = LEVEL) -> np.ndarray:
    """Return the ends of every variance's error bar, as the notes of `ScreeDisplay` derive them.

    NaN where there is no bar.
    """
    details, k = pca.privacy_.details, len(pca.explained_variance_)
    lower, errors, lost = _clipped_variances(pca), _clipped_errors(pca), lost_in_noise(pca)
    modelled = details.get("clip", "norm") != "norm" or "alignments" not in details
    clipped = "clipped_variances" in details
    if modelled or (clipped and not details.get("clipping_sees_tail")):
        return np.full((k, 2), np.nan)
    z, taken = float(ndtri(0.5 + level / 2)), 0.0
    if clipped:
        kept = float(details["clipping_kept"])
        lower = (1 - kept) * lower
        share = details["clipping_factor"] - 1 + z * details["clipping_factor_error"] + kept
        taken = share * float(np.sum(details["clipped_variances"]))
    # A released direction has the share of its alignment, a debiased eigenvalue all of it.
    seen = lower if "spectrum" in details else lower / np.where(lost, 1.0, alignments(pca))
    number = np.arange(1, k + 1)
    places = np.maximum(number[:, None] - number + 1, 1)
    upper = np.where(number <= number[:, None], seen + z * errors + taken / places, np.inf)
    ends = np.stack([np.maximum(lower - z * errors, 0.0), upper.min(axis=1)], axis=1)
    ends[lost | (errors == 0)] = np.nan
    return ends


def _clipped_variances(pca: Any) -> np.ndarray:
    """Return what clipping left of the variances; all of them if the report does not say."""
    variances = np.asarray(pca.explained_variance_, dtype=float)
    left = pca.privacy_.details.get("clipped_variances", variances)
    return np.asarray(left, dtype=float)[: len(variances)]


def _clipped_errors(pca: Any) -> np.ndarray:
    """Return the sds of the noise in what clipping left of the variances."""
    aligned, shares, details = alignments(pca), _shares(pca), pca.privacy_.details
    for name in ("clipped_errors", "variance_errors"):
        if name in details:
            return np.asarray(details[name], dtype=float)
    if not details.get("noise_sd"):
        return np.zeros_like(aligned)
    errors = _noise_sd(pca) / np.sqrt(np.where(aligned > 0, aligned, np.inf))
    if shares is not None:
        slope = (1 - 2 * shares[: len(errors)]) ** 2 + 2 * (shares @ shares)
        return _seen(pca).sum() * errors / slope
    # what was asked first by each name; a search keeps its winner's
    asked = {query.name: query.noise_sd for query in reversed(pca.privacy_.spendings)}
    asked = details.get("search", {}).get("noise_sds", {}) | asked
    relative = asked.get("number of records", 0.0) / pca.n_samples_
    if "present" in details:  # products of two features are divided by the square of their share
        present = np.asarray(details["present"], dtype=float)
        present = present[present > 0]  # features without values load on nothing
        shares_sd = asked.get("present values", math.nan)
        shares_sd /= math.sqrt(len(present)) * pca.n_samples_
        relative = np.hypot(relative, 2 * shares_sd / np.mean(present))
    relative = np.where(aligned > 0, relative, 0.0)
    return np.hypot(errors, relative * _clipped_variances(pca))


def noise_floor_of(pca: Any) -> float | None:
    """Return the noise floor of `ScreeDisplay`'s notes: None if unknown, 0 without noise."""
    details, shares = pca.privacy_.details, _shares(pca)
    if isinstance(pca.privacy_.event, NonPrivateEvent):
        return 0.0
    if not details.get("noise_sd"):
        known = details.get("noise_floor")
        return None if known is None else _unclipped(pca, float(known))
    # Half the noise's half-width from its centre.
    half_width = math.sqrt(2 * _dimensions(pca)) * _noise_sd(pca)
    floor = float(details["noise_edge"]) - half_width / 2
    if shares is None:
        return _unclipped(pca, floor)
    return float(_seen(pca).sum()) * floor / (1 + 2 * float(shares @ shares))


def _unclipped(pca: Any, clipped: float) -> float:
    """Return such a variance as if clipping had taken nothing of it: as of its neighbours."""
    details = pca.privacy_.details
    if "clipped_variances" not in details:
        return clipped
    whole = np.asarray(details.get("spectrum", pca.explained_variance_), dtype=float)[::-1]
    left = np.asarray(details["clipped_variances"], dtype=float)[: len(whole)][::-1]
    return float(np.interp(clipped, np.append(0.0, left), np.append(0.0, whole)))


def entry_errors(pca: Any) -> np.ndarray | None:
    r"""Return the sd of the noise in every entry of the components, or None if it is unknown.

    The components are eigenvectors of a matrix plus symmetric noise of off-diagonal sd tau. To
    first order, component i gets ``tau z / (theta_i - theta_j)`` of eigenvector j, where z is a
    standard normal number and theta are the eigenvalues. Of the eigenvectors that were left out
    only the span is known, so each counts as a random direction in it. Noise may have widened a
    gap, which would hide it: a gap counts for tau less than it is seen. Near the edge of the noise
    the first order is too small, so squares are divided by the component's alignment.

    Known for one noisy matrix whose spectrum was released. Not for private scales, which have a
    noise of their own, nor for nested subspaces.
    """
    details = pca.privacy_.details
    known = details.get("clip") in ("norm", "spherical") and {"spectrum", "noise_sd"} <= set(
        details
    )
    if not known or "scale_" in vars(pca):
        return None
    components = np.asarray(pca.components_, dtype=float)
    values = np.asarray(details.get("clipped_variances", details["spectrum"]), dtype=float)
    scaled = details["clip"] == "spherical"
    tau = float(details["noise_sd"]) / math.sqrt(2) / (pca.n_samples_ if scaled else _divisor(pca))
    if scaled:  # to unit rows, whose number is the sum of the values
        shares = values / values.sum()
        # eigenvalues of the sign covariance by shares of the variance, to second order
        values = shares - 2 * shares**2 + 2 * shares * float(shares @ shares)
    k, d = components.shape
    outside = np.maximum(1 - np.sum(components**2, axis=0), 0.0) / max(d - k, 1)
    gaps = np.abs(values[:k, None] - values) - tau
    turned = np.minimum(tau / np.maximum(gaps, tau), 1.0) ** 2 if tau else np.zeros_like(gaps)
    turned[np.arange(k), np.arange(k)] = 0.0
    squares = turned[:, :k] @ components**2 + np.outer(turned[:, k:].sum(axis=1), outside)
    aligned = alignments(pca)[:k, None]
    return np.sqrt(squares / np.where(aligned > 0, aligned, 1.0))


def _dimensions(pca: Any) -> int:
    """Return the dimensions of the (last sub)space that the noisy matrix is of."""
    return int(pca.privacy_.details.get("subspaces", [pca.n_features_in_])[-1])


def _seen(pca: Any) -> np.ndarray:
    """Return the variances along all of these dimensions."""
    return np.asarray(pca.privacy_.details["spectrum"], dtype=float)[: _dimensions(pca)]


def _shares(pca: Any) -> np.ndarray | None:
    """Return their shares of what they add up to if rows were scaled to norm 1, else None."""
    clip = pca.privacy_.details.get("clip")
    if clip == "spherical" or (clip == "nested" and pca.privacy_.unit == "row"):
        return _seen(pca) / _seen(pca).sum()
    return None


def _divisor(pca: Any) -> float:
    """Return what the Gram matrix was divided by for the variances."""
    return float(pca.singular_values_[0] ** 2 / pca.explained_variance_[0])


def _noise_sd(pca: Any) -> float:
    """Return the noise sd of a variance: that of the Gram matrix, divided as the variances are."""
    return float(pca.privacy_.details["noise_sd"] / _divisor(pca))
