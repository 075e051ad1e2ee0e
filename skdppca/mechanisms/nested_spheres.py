"""Nested spheres: noisy matrices of directions alone, in ever smaller subspaces.

For budgets at which the noise of one d x d matrix drowns nearly all there is to see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..linalg import Eigenvectors, leading_span
from ..private_data import PrivateData
from ..statistics import ClippedSum, clip_measure
from ..statistics.lemmas import ball_sum, psd_sum
from .base import BUDGET, Release
from .clipping import Clip, radius_share
from .missing import share_present
from .noisy_covariance import NoisyGram, release_gram
from .norm_histogram import HISTOGRAM, UNSEEN, norm_histogram
from .spectrum import NoisySpectrum, count_components, shares_behind

# Scale every record to norm 1, in every subspace.
SPHERE = Clip(1.0, spherical=True)


def release_nested(
    data: PrivateData,
    n_components: int | float | str | None,
    n_rows: float,
    *,
    radius: float | None = None,
    typical_norm: float | None = None,
    start: NoisyGram | None = None,
    variances: bool = True,
    is_clear: Callable[[NoisySpectrum], bool] | None = None,
    instead: Callable[[NoisyGram], Release] | None = None,
) -> Release:
    """Spend all that is left on nested spheres, and on how long the records are.

    Parameters
    ----------
    n_components : int or "auto"
    n_rows : float
        Public or released.
    radius, start
        See `sphere_costs`.
    typical_norm : float, optional
        About the median of what records are clipped by (`clip_measure`), if it was released.
    variances : bool
        Whether variances are released; it costs a look at lengths.
    is_clear, instead : callable, optional
        Whether the spectrum of the first matrix shows enough; what is then released of that matrix,
        for all that is left.
    """
    # 1. the spheres, with all but what a look at the lengths of the scores costs
    mu_length = 0.0
    if variances:
        most = BUDGET.most_look_share if typical_norm is None else BUDGET.question_share
        mu_length = radius_share(data, BUDGET.question_share, most)
    mu = math.sqrt(data.remaining**2 - mu_length**2) * (1 - 1e-12)
    wanted = int(n_components) if isinstance(n_components, Integral) else 1
    costs = sphere_costs(data, wanted, mu, radius, start)
    first = start or release_gram(data, SPHERE, costs[1])
    found = nested_spheres(data, costs, first, radius, is_clear)
    if found is None:
        assert instead is not None
        return instead(first)
    lengths = _lengths(found, typical_norm, mu_length) if variances else None
    square, spread = (1.0, 0.0) if lengths is None else lengths
    known = lengths is not None
    # 2. eigenvalues without the noise's share: what cannot be seen shares what is left
    spectrum, grouped = found.spectrum, data.public.grouped
    visible = spectrum.visible
    floor = max((found.trace - visible.sum()) / len(visible), spectrum.noise_sd)
    values = floor + visible
    # 3. of the scores' directions, under an elliptical model; of groups as if all were as long
    per_row = max(n_rows - 1, 1.0)
    shares = values / per_row if grouped else shares_behind(values, spread)
    inside = shares * square / share_present(data.present)
    # 4. other directions vary no more than those that were kept
    d, p = data.n_features, len(inside)
    rest = min(inside.sum() * (1 / found.shorter - 1) / max(d - p, 1), inside[-1])
    variance = np.append(inside, np.full(d - p, rest))
    k = count_components(n_components, spectrum, values, n_rows)
    unit = square if grouped else 1.0
    details = {
        "clip": "nested",
        "norm_bound": math.sqrt(unit),
        "noise_sd": unit * spectrum.noise_sd,
        "alignments": (spectrum.alignments * found.kept)[:k],
        "subspaces": found.dimensions,
    }
    if known:
        edge = unit * (floor + spectrum.half_width) / per_row
        details |= {"noise_edge": edge, "spectrum": variance}
    elif variances:
        details["no_variances"] = UNSEEN
    return Release(
        components=found.components(k),
        centre=found.data.centre,
        n_samples=data.n,
        explained_variance=variance[:k] if known else None,
        total_variance=float(variance.sum()) if known else None,
        noise_variance=float(variance[k:].mean()) if known else None,
        n_rows=n_rows if known else None,
        details=details,
    )


def _lengths(found: NestedSpheres, expected: float | None, mu: float) -> tuple[float, float] | None:
    """About the mean square of rows' scores, and the sd of their logarithms; None if hidden.

    For groups it is the square of the median of what they are clipped by.

    A window of mere noise may lie anywhere, and would put the variances off by any factor.
    """
    scores = found.scores
    measure = clip_measure(scores.centre, 0.0, scores.public.grouped)
    seen = norm_histogram(scores, measure, mu, "length in the subspace")
    if seen.z <= HISTOGRAM.seen:
        if expected is None:
            return None
        seen = seen.near(expected * math.sqrt(found.shorter))
        if seen.z <= HISTOGRAM.next_seen:
            return None
    factor = None if scores.public.grouped else seen.factor(seen.median, scores.n, spherical=True)
    if factor is None:
        return seen.median**2, 0.0
    return factor.value * seen.median**2, factor.spread


@dataclass(frozen=True)
class SphereConstants:
    """When spheres are nested, and how. Tuned on digits, MNIST, breast cancer and power laws."""

    # The records times mu over the features (`_visible`): below the first one matrix shows little,
    # below the second many stages show more than few.
    little: float = 3.0
    very_little: float = 1.3
    few_stages: int = 2
    many_stages: int = 4
    # A subspace has this share of the dimensions of the last, and at least this number for each
    # component that is wanted.
    shrinkage: float = 0.7
    least_dimensions: int = 2
    # From this number of columns on, where not even records that are all alike would be seen in any
    # of many stages, there are two, and the second has this share of the dimensions; round.
    wide: int = 1500
    hidden: float = 0.02
    # The mean square of the scores in a subspace is taken for this power of its share of the
    # dimensions times what it was: 1 if they spread alike in all directions, 0 if nothing is lost.
    loss: float = 0.6
    # All inner centres together cost this over kappa^2 (`_costs`), between two shares of mu^2.
    centres: float = 4.0
    least_centres: float = 0.01
    most_centres: float = 0.12


SPHERES = SphereConstants()


@dataclass(frozen=True)
class NestedSpheres:
    """Result of nested spheres: the last subspace, its eigenvectors and the records' scores in it.

    Parameters
    ----------
    data : PrivateData
        The records about the centre that was found.
    scores : PrivateData
        The same in the last subspace.
    basis : ndarray of shape (p, d) or None
        Orthonormal rows that span the last subspace; None for all features.
    eigenvectors : Eigenvectors
        Eigenvectors of the sum of ``u u^T`` there.
    spectrum : NoisySpectrum
        The eigenvalues of the sum of ``u u^T`` in the last subspace, as they are seen.
    trace : float
        That sum's trace: the number of records, as far as it is seen; or more for groups.
    kept : ndarray of shape (p,)
        What the subspaces before are expected to have kept of each noise-free component's square.
    shorter : float
        The mean square of the scores there over that of the records, as `SPHERES.loss` has it.
    dimensions : tuple of int
        Dimensions of all subspaces.
    """

    data: PrivateData
    scores: PrivateData
    basis: np.ndarray | None
    eigenvectors: Eigenvectors
    spectrum: NoisySpectrum
    trace: float
    kept: np.ndarray
    shorter: float
    dimensions: tuple[int, ...]

    def components(self, k: int) -> np.ndarray:
        """The top k eigenvectors, as rows in the features."""
        if self.basis is None:
            return self.eigenvectors.top(k)
        # a product of fewer rows has other last bits: a seeded fit keeps what it had
        return (self.eigenvectors.at_least(k) @ self.basis)[:k]


def shows_more(data: PrivateData, n_components: Any) -> bool:
    """Return whether nested spheres beat one matrix, judged by public numbers and the noisy n.

    Parameters
    ----------
    n_components : int, "auto" or others
        Others need one matrix of all features.
    """
    wanted = 1 if n_components == "auto" else n_components
    if data.exact or not isinstance(wanted, Integral):
        return False
    is_smaller = len(subspaces(data.n_features, int(wanted))) > 1
    return is_smaller and _visible(data, data.effective(data.remaining)) < SPHERES.little


def subspaces(
    n_features: int,
    n_components: int,
    stages: int = SPHERES.many_stages,
    shrinkage: float = SPHERES.shrinkage,
) -> list[int]:
    """Their dimensions, all features first; just those if no other would be smaller."""
    found = [n_features]
    for _ in range(stages - 1):
        least = SPHERES.least_dimensions * n_components
        smaller = max(math.ceil(shrinkage * found[-1]), least)
        if smaller >= found[-1]:
            break
        found.append(smaller)
    return found


def sphere_costs(
    data: PrivateData,
    n_components: int,
    mu: float,
    radius: float | None = None,
    start: NoisyGram | None = None,
) -> tuple[list[int], float, float]:
    """Return the dimensions and costs of `nested_spheres`, from public numbers and the noisy n.

    Parameters
    ----------
    n_components : int
        At least; the last subspace has twice as many dimensions, or more.
    mu : float
        What all of it costs.
    radius : float, optional
        About the median distance of the records from a private centre, which is made better in
        every subspace.
    start : NoisyGram, optional
        The first matrix, if there is one: it is not paid for here.

    Returns
    -------
    dimensions : list of int
        Dimensions of the subspaces, all features first.
    gram, centre : float
        What a matrix costs, and a centre; 0 for no centres. Together they cost no more than mu.
    """
    noise = psd_sum(1.0, data.public.adjacency)
    before = 0.0 if start is None else noise / start.noise_sd
    in_all = math.hypot(data.effective(mu), before)
    visible, hidden = _visible(data, in_all), _hides_all(data, in_all)
    few = hidden or visible >= SPHERES.very_little
    stages = SPHERES.few_stages if few else SPHERES.many_stages
    shrinkage = SPHERES.hidden if hidden else SPHERES.shrinkage
    dimensions = subspaces(data.n_features, n_components, stages, shrinkage)
    share, mu, stages = 0.0, mu * (1 - 1e-12), len(dimensions)  # both are rounded
    if radius is not None and not data.public.grouped and stages > 1:
        moved = ball_sum(1.0, data.public.adjacency) * math.sqrt(data.n_features)
        seen = data.effective(mu) * data.n / moved
        share = max(SPHERES.centres / seen**2, SPHERES.least_centres)
        share = min(share, SPHERES.most_centres)
    gram = math.sqrt((1 - share) / max(stages - (start is not None), 1))
    return dimensions, mu * gram, mu * math.sqrt(share / max(stages - 1, 1))


def nested_spheres(
    data: PrivateData,
    costs: tuple[list[int], float, float],
    first: NoisyGram,
    radius: float | None = None,
    is_clear: Callable[[NoisySpectrum], bool] | None = None,
) -> NestedSpheres | None:
    r"""Release sums of ``u u^T`` in nested subspaces, u the direction of a record there.

    Inside a subspace that holds most of the signal every record is scaled to norm 1 again: the
    signal rises by what the records lost of their length, and the noise has fewer dimensions.

    Proof. Every sum is a `ClippedGram` of sensitivity 1 (replace-one sqrt2), if the scores
    ``z = V (x - c)`` that it scales to norm 1 belong to their record alone. They do, to the bit. A
    score is an inner product whose terms are added in an order that follows from the number of
    features alone (`DenseRows.scores`): z is a function of x, V and c, and so are its norm and
    u. That other records come, go or move changes no bit of u, however small z is; with a product
    of matrices it would, and of a record that is orthogonal to V the direction u is made of nothing
    but such bits. ``z = 0``, and a z whose square underflows, give ``u = 0``. The rows of a group
    are scaled as one. All else is computed from answers.

    Parameters
    ----------
    costs : tuple
        The dimensions, and the mu of a matrix and of a centre, as `sphere_costs` returns them.
    first : NoisyGram
        The first matrix, of records of norm 1 at most; it was paid for.
    radius : float, optional
        Median distance of the records from a private centre; see `sphere_costs`.
    is_clear : callable, optional
        Whether the spectrum of the first matrix shows enough.

    Returns
    -------
    NestedSpheres or None
        None if the first matrix shows enough; then nothing was asked.
    """
    # 1. p_1, ..., p_T: the dimensions of the subspaces; and what every question costs
    (dimensions, mu_gram, mu_centre), (d, n) = costs, (data.n_features, data.n)
    basis, scores = None, data
    S, precision = np.zeros((d, d)), 0.0
    square, shorter, kept = (radius or 1.0) ** 2, 1.0, np.ones(dimensions[-1])
    for t, p in enumerate(dimensions):
        # 2. G: the noisy sum of u u^T; S: its mean with what was known of it, by precision
        gram = release_gram(scores, SPHERE, mu_gram) if t else first
        new = gram.noise_sd**-2
        S *= precision
        S += new * gram.matrix
        precision += new
        S /= precision
        is_last = t == len(dimensions) - 1
        q = p if is_last else dimensions[t + 1]
        # so few dimensions follow only where nothing can stand out (`_hides_all`)
        blind = q < SPHERES.shrinkage * p
        if not blind:
            found = Eigenvectors(S) if is_last else Eigenvectors(S, q)
            spectrum = NoisySpectrum(found.values, precision**-0.5)
            if is_clear and t == 0 and is_clear(spectrum):
                return None
        if is_last:
            break
        # 3. V: the next subspace, of the top q eigenvectors; f: how much shorter scores are there
        f = (q / p) ** SPHERES.loss
        if blind:
            top = np.ascontiguousarray(leading_span(S, q, math.sqrt(2 * p / precision)))
            S, precision, kept = np.zeros((q, q)), 0.0, np.zeros_like(kept)
        else:
            top, S = np.ascontiguousarray(found.top(q)), np.diag(found.values[:q])
            kept = kept * _kept(spectrum, q)[: len(kept)]
        basis, scores = top if basis is None else top @ basis, scores.projected(top)
        # 4. e: the mean of the scores, clipped to their length and shrunk to its signal
        if mu_centre:
            clipped = ClippedSum(scores.centre, math.sqrt(f * square))
            answer = scores.ask(clipped, mu_centre, "centre in the subspace")
            mean, variance = answer.value / n, (answer.noise_sd / n) ** 2
            signal = max(float(mean @ mean) / q - variance, 0.0)
            e = mean * (signal / (signal + variance))
            scores, data = scores.centred_at(e), data.centred_at(data.centre + e @ basis)
            S -= n * np.outer(e, e) / square
        # 5. S: what is known of the next sum, over scores that are shorter by f
        S /= f
        precision *= f**2
        square, shorter = f * square, f * shorter
    return NestedSpheres(
        data=data,
        scores=scores,
        basis=basis,
        eigenvectors=found,
        spectrum=spectrum,
        trace=_trace(data, gram),
        kept=kept,
        shorter=shorter,
        dimensions=tuple(dimensions),
    )


def _trace(data: PrivateData, gram: NoisyGram) -> float:
    """Return the trace of the sum; of rows it is their number, which was released as well."""
    seen, n = float(np.trace(gram.matrix)), data.n
    if data.public.grouped:
        return max(n, seen)
    if data.public.n_records is not None:
        return n
    variance = len(gram.matrix) * gram.noise_sd**2
    weight = 1 / (1 + variance * data.effective(data.fraction(BUDGET.question_share)) ** 2)
    return max(1.0, n + weight * (seen - n))


def _visible(data: PrivateData, mu: float) -> float:
    """Return the signal-to-noise ratio of all records together, for each feature.

    Filling shrinks a product of two features to the square of the share of present entries.

    Parameters
    ----------
    mu : float
        What that noise amounts to (`PrivateData.effective`).
    """
    seen = data.n * share_present(data.present) ** 2
    return mu * seen / (psd_sum(1.0, data.public.adjacency) * data.n_features)


def _hides_all(data: PrivateData, mu: float) -> bool:
    """Return whether a wide table has too few records to be seen, even if all were alike.

    They add n to one eigenvalue. In p dimensions it stands out of noise of sd s on the diagonal
    from ``s sqrt(p / 2)`` on, and in many stages p falls to a power of their shrinkage. From public
    numbers and the noisy n.

    Parameters
    ----------
    mu : float
        What that noise amounts to (`PrivateData.effective`).
    """
    last = SPHERES.shrinkage ** (SPHERES.many_stages - 1) * data.n_features
    signal = _visible(data, mu) * data.n_features
    return data.n_features >= SPHERES.wide and signal < math.sqrt(last / 2)


def _kept(spectrum: NoisySpectrum, q: int) -> np.ndarray:
    """Return the share of noise-free components' squares expected in the top q of p eigenvectors.

    In the spiked Wigner model what is not aligned is spread over all dimensions alike.
    """
    return 1 - (1 - spectrum.alignments) * (1 - q / len(spectrum.values))
