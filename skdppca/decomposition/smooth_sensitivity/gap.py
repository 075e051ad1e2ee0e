"""The span of the top eigenvectors, with noise that follows the gap below them.

Gap and span are no sums over records. This file takes the records themselves (`exact_span`), so it
also holds the theorem that says how far one record can move either (`SpanSensitivity`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.special import ndtri

from ...noise import MAX_SD, NoiseSource
from ...noise.gaussian import grid_steps, mu_of_pure
from ...noise.heavy_tails import (
    CAUCHY,
    chi,
    chi_error,
    rounded_noise,
    rounded_student,
    saturated_sum,
)
from ...private_data import PrivateData
from ...records import MAX_ROWS, UNIT_ROUNDOFF
from ...statistics import Spreads
from ...statistics.lemmas import count
from .eigensolver import Spectrum, top_span

# A random rotation comes from Gaussians whose sd is ROTATION_SD grid units, redrawn until their
# least singular value is at least LEAST / sqrt(k) sds, which seven in eight matrices exceed.
ROTATION_SD = 2.0**33
LEAST = 1 / 8

# Times k^1.5: how far a rotation is from one that is exactly uniform, and what that costs.
ROTATION_ERROR = 2.0**-29
ROTATION_LOSS = 2.0**-28


@dataclass(frozen=True)
class SpanConstants:
    """Shares of the budget for a span and its noise; guesses."""

    # Gap release: the gap's share of what remains. The rest carries the noise, which the gap's own
    # error makes larger.
    gap_share: float = 0.09
    # Gap release: shares of mu^2 of the clipping norm, usual and largest; round.
    radius_share: float = 0.02
    most_radius_share: float = 0.05
    # Gap release: the share of delta with which the released gap may exceed the true one; round.
    failure_share: float = 0.1
    # Smooth sensitivity: shares of epsilon, of the number of records; and, with Student's and
    # Cauchy's noise, for how fast the sensitivity may change.
    count_share: float = 0.02
    smoothness: float = 1 / 3


SPAN = SpanConstants()


@dataclass(frozen=True)
class SpanSensitivity:
    r"""Sensitivity of the span of the top k eigenvectors to one record, for a given gap below them.

    Distances are ``min_R ||V R - V'||_F`` over orthogonal k x k matrices R; eigenvalues are in
    units of the largest trace that one record's matrix ``A_i`` can have.

    Parameters
    ----------
    step : float
        How far a neighbour's gap can be from this one's.
    reach : float
        How much of a gap one record can bridge.
    blur : float
        How much smaller the true gap may be than the computed one.
    cap : float
        The largest distance there is.
    rounding : float
        What rounding adds to every distance.

    Notes
    -----
    **Theorem.** Let H have the gap g > 1 between its k-th and next eigenvalue, and let ``H' = H +
    P``, where P or -P is positive semi-definite of trace at most 1. Then the spans of the top k
    eigenvectors are within

    .. math:: LS(g) = 2 \sin\left(\tfrac14 \arcsin\tfrac1g\right),

    about ``1 / (2 g)``, whatever k and d are. If P is a difference of two such matrices, the same
    holds with 2 / g for 1 / g, if g > 2. Both are attained for every k < d.

    *Proof.* 1. Let U and U' project on the spans, ``S = 2 U' - I`` and ``U2 = S U S``. The
    principal angles between the ranges of U and U2 are twice those between U and U', t_i (as long
    as those are below pi/4). S commutes with H', so ``H - S H S = S P S - P``. On the range of
    U, H is at least ``l_k``; off the range of U2, ``S H S`` is at most ``l_k - g``. So ``X =
    (I - U2) U`` solves a Sylvester equation with right-hand side ``Y = (I - U2)(S P S - P) U``, and
    ``g ||X|| <= ||Y||`` in every unitarily invariant norm (Davis & Kahan 1970, the sin 2 theta
    theorem; Bhatia 1997, VII.2). In the nuclear norm: ``g sum_i sin(2 t_i) <= ||Y||_*``.

    2. Let ``P = x x^T``, ``||x|| <= 1``, ``y = S x``. Then ``(I - U2) y = S (I - U) x`` and
    ``(I - U2) x = S (I - U) y``, so ``||Y||_* <= ||(I - U) x|| ||U y|| + ||(I - U) y|| ||U x||``,
    which is ``sin a cos b + sin b cos a <= 1`` for unit vectors. A positive semi-definite P of
    trace 1 is a convex combination of such, and Y is linear in P: ``sum_i sin(2 t_i) <= 1 / g``.
    A difference of two gives 2 / g.

    3. The gap of ``H + s P`` stays positive for s in [0, 1], so the spans, and the t_i, move
    continuously from 0; ``sin(2 t_i) <= 1 / g < 1`` on the way, so no t_i passes pi/4.

    4. ``min_R ||V R - V'||_F^2 = 2 sum_i (1 - cos t_i) = sum_i f(sin 2 t_i)`` with ``f(u) = 4
    sin^2(arcsin(u) / 4)``. f is convex (its derivative is ``sin(a / 2) / cos a``, ``a =
    arcsin u``) with f(0) = 0, hence superadditive: the sum is at most ``f(1 / g)``. It is attained
    in the plane of ``v_k, v_{k+1}`` by x at the angle b from v_k with ``cos 2 b = -1 / g`` (two
    orthogonal x at 45 degrees of the tilted axes, for a difference).

    *The cap.* ``||V R - V'||_F^2 = 2 k - 2 ||V^T V'||_*``, and at least ``2 k - d`` of the
    cosines are 1: at most ``2 min(k, d - k)``.

    *The gap* moves by at most 1 (2): eigenvalues move by between 0 and ``||P||``, all to one side
    (and then to the other).

    *Computed spans.* Let V span the top k eigenvectors of ``H + E`` with gap ``g_E``, ``||E||_F <=
    e``, and likewise for H'. Then P becomes ``P + E' - E``: eigenvalues move by 4 e more than
    above in all, and as Y has rank at most ``m = min(k, d - k)``, ``||Y||_*`` grows by ``sqrt(m)
    ||S (E' - E) S - (E' - E)||_F <= 4 sqrt(m) e``. A computed gap within b of ``g_E`` moves by
    2 b more. Norms that clip with a relative error r let traces be ``(1 + r)^2``.
    """

    step: float
    reach: float
    blur: float
    cap: float
    rounding: float = 0.0

    def local(self, gap: float) -> float:
        """Bound on the distance of any neighbour, for a computed gap of at least `gap`."""
        gap -= self.blur
        if not gap > self.reach:
            return self.cap + self.rounding
        distance = 2 * math.sin(math.asin(self.reach / gap) / 4) * (1 + 8 * UNIT_ROUNDOFF)
        return min(distance, self.cap) + self.rounding

    def smooth(self, gap: float, beta: float) -> float:
        """The least upper bound of `local` that changes by at most exp(beta) between neighbours.

        That is ``max_s exp(-beta s / step) local(gap - s)`` over s >= 0 (Nissim, Raskhodnikova &
        Smith 2007). Where `local` is not the cap it is log-convex: ``-d log LS / dg`` is
        ``(1 + cos(a/2)) cos(a/2) tan(a) / 2`` for ``a = arcsin(1/g)``, which increases with a. So
        the maximum is at one of two ends: here, or where the cap begins.
        """
        away = max(0.0, gap - self.blur - self.reach) / self.step
        return max(self.local(gap), (self.cap + self.rounding) * math.exp(-beta * away))


def span_sensitivity(
    k: int,
    n_features: int,
    adjacency: str,
    error: float = 0.0,
    gap_error: float = 0.0,
    norm_error: float = 0.0,
) -> SpanSensitivity:
    """The sensitivity of k computed eigenvectors of n_features; see `SpanSensitivity`.

    Parameters
    ----------
    error, gap_error : float
        Fields of `Spectrum`.
    norm_error : float
        Relative error of the norms by which records were clipped.
    """
    records = (1 if adjacency == "add-remove" else 2) * count(adjacency) * (1 + norm_error) ** 2
    m, rotation = min(k, n_features - k), 0.0 if k == 1 else ROTATION_ERROR * k**1.5
    return SpanSensitivity(
        step=records + 4 * error + 2 * gap_error,
        reach=records + 4 * math.sqrt(m) * error,
        blur=gap_error,
        cap=math.sqrt(2 * m),
        rounding=2 * rotation + 4 * k * n_features * UNIT_ROUNDOFF,
    )


def exact_span(
    data: PrivateData, radius: float, k: int, exact: bool = False
) -> tuple[Spectrum, SpanSensitivity]:
    """The exact span and gap of the clipped records, **not private**, and their sensitivity.

    Parameters
    ----------
    radius : float
        What the records are clipped to; public or released.
    k : int
        Less than d.
    exact : bool
        Use LAPACK, whatever it costs; see `top_span`.
    """
    records = data.unprotected_records("the eigengap and the span")
    spectrum = top_span(records, data.centre, radius, k, data.noise, exact)
    sensitivity = span_sensitivity(
        k,
        data.n_features,
        data.public.adjacency,
        spectrum.error,
        spectrum.gap_error,
        Spreads(data.centre).error(records.layout),
    )
    return spectrum, sensitivity


def release_span(
    data: PrivateData, spectrum: Spectrum, sensitivity: SpanSensitivity, failure: float
) -> tuple[np.ndarray, float]:
    r"""Gap release: the gap with Gaussian noise, then the span with the noise that it asks for.

    Spends all the budget that is left, and fails with probability at most `failure`.

    Parameters
    ----------
    spectrum, sensitivity
        Results of `exact_span`.
    failure : float
        In (0, 1).

    Returns
    -------
    directions : ndarray of shape (k, d)
        Orthonormal rows, in no order.
    noise_sd : float
        Standard deviation of the noise in every entry of what they span; infinite if no gap was
        seen. Released: it follows from g^.

    Notes
    -----
    What is left after the gap pays for the span's noise and for `rotation_mu`, of which it must be
    more than 8 times as much.

    *Proof.* With ``z = Phi^-1(1 - failure)``, ``g^ = g + N(0, s^2) - z s`` exceeds g with
    probability at most `failure`. V Q, Q uniform over O(k), has the law of V R Q for every R: so
    one may compare with the R nearest to the neighbour's V'. Where ``g^ <= max(g, g')``,
    ``LS(g^) >= min_R ||V R - V'||_F``, and the two answers are two Gaussian mechanisms, the second
    adaptive: ``mu^2 = mu_1^2 + mu_2^2``. The event ``g^ > max(g, g')`` is one of the first answer;
    let both data sets answer the same there, and nothing is lost but its probability, `failure`.
    That Q is known up to ``2^-29 k^1.5`` is inside the sensitivity; see `rotated`.
    """
    # 1. g^: below the gap but with probability `failure`
    query = data.pay_for(
        "eigengap",
        data.remaining * math.sqrt(SPAN.gap_share),
        sensitivity.step,
        rounding=UNIT_ROUNDOFF * MAX_ROWS,
    )
    below = -float(ndtri(failure)) * query.noise_sd * (1 + 2.0**-40) + query.grid
    gap = float(query.release(spectrum.gap, data.noise)) - below
    # 2. V Q + noise
    k, d = spectrum.directions.shape
    mu = data.remaining - rotation_mu(k)
    local = sensitivity.local(gap)
    span = data.pay_for("span", mu, local, size=k * d, rounding=UNIT_ROUNDOFF)
    rows = span.release(rotated(spectrum.directions, data.noise).ravel(), data.noise)
    noise_sd = span.noise_sd if local < sensitivity.cap else math.inf
    return as_directions(rows.reshape(k, d)), noise_sd


def rotated(directions: np.ndarray, noise: NoiseSource) -> np.ndarray:
    """``Q V``, Q uniform over the orthogonal k x k matrices: V as one of equals.

    Notes
    -----
    For k = 1 a sign, exactly. Otherwise the orthogonal factor of a Gaussian matrix G, whose law
    does not change if G is rotated; nor does it given that G's least singular value is at least
    ``LEAST / sqrt(k)``. Entries of G are known to 2^-34: that moves Q by less than ``2^-29 k^1.5``,
    and where it decides whether G is redrawn, the law changes by a factor of at most
    ``1 + 2^-28 k^1.5`` (`ROTATION_LOSS`), for the density of the least singular value is at most
    sqrt(k) (Edelman 1988).
    """
    k = len(directions)
    if k == 1:
        return directions * (1.0 if noise.labels(1, 2)[0] else -1.0)
    while True:
        gaussian = noise.rounded_gaussian(ROTATION_SD, (k, k)) / ROTATION_SD
        if linalg.svdvals(gaussian)[-1] * math.sqrt(k) >= LEAST:
            break
    q, r = linalg.qr(gaussian)
    return (q * np.where(np.diag(r) < 0, -1.0, 1.0)) @ directions


def rotation_mu(k: int) -> float:
    r"""By how much more mu a release is GDP because its rotation is not exactly uniform.

    Notes
    -----
    Let P and Q be the laws on neighbours if it were uniform, m-GDP, and P', Q' the true ones, whose
    densities are within factors of ``exp(l / 2)`` of theirs, ``l = 2^-28 k^1.5``. If l is at most
    m / 8 and 1 / 16, P' and Q' are mu-GDP, ``mu = m + 2 l``.

    *Proof.* It is to be shown, for any ``e >= 0`` and both orders of P and Q, that the hockey-stick
    divergence of P' and Q' is at most ``D(mu, e)``, ``D(m, e) = Phi(y) - exp(e) Phi(y - m)``, ``y =
    m/2 - e/m``, which that of P and Q is at most (Dong, Roth & Su 2022, Corollary 2.13). By m, D
    has the derivative phi(y), by e ``-exp(e) Phi(y - m)``; ``exp(e) phi(y - m) = phi(y)``. Let
    ``m(s) = mu - 2 l s``, from mu to m, and ``R = Phi / phi``, which increases.

    If ``e >= mu^2/2 + l``: p' - exp(e) q' is at most ``exp(l/2) (p - exp(e - l) q)``, so the
    divergence at most ``exp(l/2) D(m, e - l)``. In ``exp(s l/2) D(m(s), e - s l)`` y is never
    positive, and its derivative by s is ``exp(s l/2)`` times ``l (D/2 + exp(e - s l) Phi(y - m)) -
    2 l phi(y) <= l phi(y) (R(y) - 2) < 0``, as ``R(0) < 1.26``.

    If not: ``min(p', exp(e) q') >= exp(-l/2) min(p, exp(e) q)``, so one less the divergence is at
    least ``exp(-l/2) (1 - D(m, e))``. In ``exp(-s l/2) (1 - D(m(s), e))`` y is at least -1/2, and
    its derivative is ``exp(-s l/2)`` times ``2 l phi(y) - (l/2) (1 - D) = l phi(y) (2 - (R(-y) +
    R(y - m)) / 2) > 0``, as ``R(1/2) < 1.97``.
    """
    return 0.0 if k == 1 else 2 * ROTATION_LOSS * k**1.5


def as_directions(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the same span."""
    return linalg.qr(rows.T, mode="economic", check_finite=False)[0].T


# Relative error of the noise's scale, for which every entry pays.
SCALE_ERROR = 2.0**-46

# Released values are multiples of this, or of 2^-33 of the largest scale.
FINEST = 2.0**-40


@dataclass(frozen=True)
class SmoothQuery:
    r"""A span with noise that follows its smooth sensitivity S, which stays private.

    Parameters
    ----------
    law : {"gaussian", "student", "cauchy"}
    epsilon : float
    delta : float
        0 but for "gaussian".
    size : int
        m, the number of entries.
    sensitivity : SpanSensitivity
    name, part : str

    Notes
    -----
    Noise ``scale S Z`` on every entry, S = ``sensitivity.smooth(gap, beta)``:

    - "gaussian" (epsilon < 1): with ``L = log(2 / delta)``, ``beta = epsilon / (4 (m + L))`` and
      ``scale = 5 sqrt(2 L) / epsilon``, as in Nissim, Raskhodnikova & Smith (2007), Lemma 2.7, but
      not by their Lemma 2.6: first a shift, then a change of scale, each at delta / 2, cost
      ``delta (1 + exp(epsilon / 2)) / 2``. *Proof in one step.* Neighbours' spans are D apart,
      ``||D|| <= min(S, S')``, and ``b = log(S' / S)`` is between -beta and beta. In units of
      ``scale S`` it is N(0, I) against ``N(D, exp(2 b) I)``, whose log ratio at z is ``m b - (1 -
      exp(-2 b)) ||z||^2 / 2 + exp(-2 b) (||D||^2 / 2 - <z, D>)``. Let ``r = sqrt(m L)``. Under the
      first, but with probability ``exp(-L) / 2 + exp(-L) < delta``, ``-<z, D> <= sqrt(2 L) ||D||``,
      and ``||z||^2`` is below ``m + 2 r + 2 L`` (b < 0) or above ``m - 2 r`` (b > 0; Laurent &
      Massart 2000, Lemma 1). As ``exp(-b) ||D|| <= 1 / scale``, the last term is then at most
      ``exp(beta) epsilon / 5 + epsilon^2 / (100 L)``. The others are at most ``2 beta (r + L) +
      1.11 beta^2 (m + 2 r + 2 L)`` for either sign, as ``beta < .148`` (m is at least 1, L above
      log 2). With ``r + L <= 1.208 (m + L)`` and ``m + 2 r + 2 L <= 2.619 (m + L)`` all is less
      than ``(.232 + .015 + .604 + .108) epsilon``: the log ratio exceeds epsilon with a probability
      below delta.
    - "student": Z of density proportional to ``(1 + ||z||^2)^-q``, ``q = (m + v) / 2``, that is
      Gaussians over the root of a chi-square of v degrees of freedom; v is m, or m + 1 if that is
      odd. The log density has a gradient ``2 q ||z|| / (1 + ||z||^2) <= q``, so a shift by S
      costs ``q / scale``; its derivative by the log of the scale is between -m and v, so a change
      of S by exp(beta) costs ``v beta``. Both add up to epsilon.
    - "cauchy" (the paper's): independent entries. A shift costs 1 / scale times its l1 norm, at
      most ``sqrt(m) S``; a change of the scale ``m beta``.

    *Floating point.* The span is rounded to a public grid, which `sensitivity.rounding` pays for,
    and the noise is the rounding of an exact draw, so the release is that of the real mechanism,
    rounded. What is inexact is the scale, by a relative error h (of S, and of the chi draw).
    That changes densities by a factor of at most ``exp((m + 2 q) h)``, wherever one looks; of
    Student's law because ``int r^m exp(-r^2 ||z||^2 (1 + h)^2 / 2) dP(r)`` is the density at
    ``(1 + h) z`` up to a constant. Both data sets pay: `_loss`. For "gaussian" the change of scale
    is taken off beta.
    """

    law: str
    epsilon: float
    delta: float
    size: int
    k: int
    sensitivity: SpanSensitivity
    name: str = "span"
    part: str = ""

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter that epsilon-DP implies; infinite if delta is not 0."""
        return math.inf if self.delta else mu_of_pure(self.epsilon)

    @property
    def widened_sensitivity(self) -> float:
        """The largest there is: that of the data is private."""
        return self.sensitivity.cap

    noise_sd = math.inf  # private

    @property
    def dof(self) -> int:
        """v, the degrees of freedom of the divisor."""
        return self.size + self.size % 2

    @property
    def _loss(self) -> float:
        h = SCALE_ERROR + (chi_error(self.dof) if self.law == "student" else 0.0)
        rotation = ROTATION_LOSS * self.k**1.5 if self.k > 1 else 0.0
        return 6 * (self.size + 1) * h + rotation

    @property
    def noise(self) -> tuple[float, float]:
        """The smoothness beta, and the noise's scale over the sensitivity.

        Raises
        ------
        ValueError
            If epsilon is so small that nothing is left of it.
        """
        epsilon = self.epsilon * (1 - 2.0**-40) - self._loss
        if epsilon > self.epsilon / 2:
            beta, scale = self._calibrated(epsilon)
            if beta > 4 * SCALE_ERROR and scale * math.sqrt(self.size) <= MAX_SD / 4:
                return beta, scale
        raise ValueError(
            f"epsilon={self.epsilon} is less than what floating point costs with "
            f"{self.size} entries; raise epsilon, or ask for fewer components"
        )

    def _calibrated(self, epsilon: float) -> tuple[float, float]:
        if self.law == "gaussian":
            log = math.log(2 / self.delta) + self._loss  # of delta as well
            beta = epsilon / (4 * (self.size + log)) - 4 * SCALE_ERROR
            return beta, 5 * math.sqrt(2 * log) / epsilon
        shift = (1 - SPAN.smoothness) * epsilon
        if self.law == "student":
            return SPAN.smoothness * epsilon / self.dof, (self.size + self.dof) / 2 / shift
        return SPAN.smoothness * epsilon / self.size, math.sqrt(self.size) / shift

    def release(self, spectrum: Spectrum, noise: NoiseSource) -> np.ndarray:
        """Orthonormal rows of shape (k, d), in no order."""
        beta, scale = self.noise
        # With `noise`'s check: no scale passes MAX_SD, whatever the gap is.
        most = self.sensitivity.cap + self.sensitivity.rounding
        finest = max(FINEST, scale * most / MAX_SD)
        grid = 2.0 ** math.ceil(math.log2(finest) + 1)
        rounding = self.sensitivity.rounding + grid * math.sqrt(self.size)
        private = replace(self.sensitivity, rounding=rounding).smooth(spectrum.gap, beta)
        steps = grid_steps(rotated(spectrum.directions, noise).ravel(), grid)
        draws = self._draws(scale * private / grid, noise)
        rows = grid * saturated_sum(steps, draws).astype(np.float64)
        return as_directions(rows.reshape(spectrum.directions.shape))

    def _draws(self, scale: float, noise: NoiseSource) -> np.ndarray:
        if self.law == "gaussian":
            return noise.rounded_gaussian(scale, self.size)
        if self.law == "student":
            return rounded_student(chi(self.dof, noise), scale, self.size, noise)
        return rounded_noise(CAUCHY, scale, self.size, noise)
