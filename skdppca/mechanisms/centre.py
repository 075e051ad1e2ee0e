"""A private centre, however far away the records are; outliers hardly move it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..linalg import Eigenvectors
from ..private_data import PrivateData
from ..records.pairs import Kernel
from ..statistics import ClippedSum, Distances, KendallMatrix
from ..statistics.lemmas import ball_sum, psd_sum
from .base import BUDGET, Release, ample, with_unseen
from .clipping import excess_records
from .kendall import count_sd, forms_all_pairs, kendall_matrix
from .missing import noise_inflation
from .norm_histogram import (
    HISTOGRAM,
    LEAST_NORM,
    NormHistogram,
    histogram_mu,
    norm_histogram,
    seen_norms,
)
from .spectrum import NoisySpectrum


@dataclass(frozen=True)
class CentreConstants:
    """Shares of a private centre's budget. They are of mu^2 of what remains at its start.

    All were tuned on normal rows of 10 to 100 features, whose variances follow power laws and whose
    mean is up to 1e5 spreads away.
    """

    # Least sds of the noise that all records in one cell of a histogram of distances make, in each
    # after the first (`HISTOGRAM.certain`).
    certain_later: float = 8.0
    # Far rounds: the noise of one is as long as the distance over this, if that costs no more than
    # the share.
    far: float = 2.5
    most_far_share: float = 0.08
    # They go on while they bring the distance below this share of the last one; their number.
    shrinkage: float = 0.75
    most_rounds: int = 20
    # The largest share of the whole centre, histograms and last rounds too; round.
    most_share: float = 0.5
    # The last rounds together cost this over `reach`, between two shares, which are reserved.
    polishing: float = 1.2
    least_polishing: float = 0.01
    most_polishing: float = 0.16
    # The number of last rounds; and of a location, which spends most on them. After those of a
    # random part, some are of all records, with that share of what all cost; a guess.
    polishing_rounds: int = 3
    last_of_all: float = 0.8
    rounds_of_all: int = 1
    location_rounds: int = 6
    location_rounds_of_all: int = 2
    # Clipping takes about that share of how far a mean is. All records are not asked again for it
    # where it is less than the noise, or than the error of sampling.
    left: float = 0.1
    # The least share of the last rounds with a public norm bound, which may be loose.
    least_polishing_bounded: float = 0.08
    # A first mean is noise unless its square exceeds that of the noise by this number of
    # the latter's sds. Without this, a window that is noise sent the centre away in 5 of 2616 fits.
    guard: float = 3.0
    # Octaves that the first distance may be away from where norms are looked for: the spread about
    # the centre, whose distance is looked for next, may be as much shorter; round.
    far_octaves: float = 24.0


CENTRE = CentreConstants()

# For the report.
DISTANCES = "distances from the centre"


@dataclass(frozen=True)
class Centred:
    """Records about a private centre.

    Parameters
    ----------
    data : PrivateData
    radius : float or None
        About the median distance from the centre. None if the centre is still where it was: no
        distance was seen in the noise, or no mean.
    unsure : bool
        The search ended, but not because the distance no longer shrank: the records may be far.
    """

    data: PrivateData
    radius: float | None
    unsure: bool = False


def rough_centre(data: PrivateData, corrected: bool = False, mu: float | None = None) -> Centred:
    """The records about a private centre; at most half of what is left goes into it.

    A round asks for the mean of the records, clipped to their median distance from the centre so
    far: at first that is what they are seen from. Rounds go on as long as the distance shrinks, so
    the centre is found however far away it is; the last ones make it precise. A public norm bound
    takes the place of the distances, which are not asked for then, and leaves only those. Where a
    random part of the records tells norms, it also tells all means but the last one, and that one
    too where it will be corrected.

    Parameters
    ----------
    corrected : bool
        Whether a Gram matrix of all records will tell how far their mean is from the centre: then
        no mean of all is needed where a random part tells the others.
    mu : float, optional
        What a thorough search spends, whose last rounds get all that is left of it; it looks for
        distances whatever bound is public.
    """
    thorough, start = mu is not None, data
    if data.exact:
        total = data.ask(ClippedSum(np.zeros(data.n_features), math.inf), name="centre").value
        return Centred(data.centred_at(total / (data.n * _present(data))), None)
    budget = data.remaining if mu is None else mu
    bound = None if thorough else data.norm_bound
    # the share of the last rounds together
    polishing = 1 - CENTRE.most_share
    if not thorough:
        least = CENTRE.least_polishing if bound is None else CENTRE.least_polishing_bounded
        least *= ample(data.effective(budget))  # what less clipping costs in noise
        polishing = max(CENTRE.polishing / reach(data.of_sample, budget), least)
        polishing = min(polishing, CENTRE.most_polishing)
    spent, near, is_blind = 0.0, False, False
    tail: NormHistogram | None = None
    last_rounds, asks_all = CENTRE.polishing_rounds, CENTRE.rounds_of_all
    if thorough:
        last_rounds, asks_all = CENTRE.location_rounds, CENTRE.location_rounds_of_all
    if start.sample is None:
        asks_all = 0
    elif corrected:
        last_rounds, asks_all = last_rounds - asks_all, 0
    rounds = _last_rounds(polishing, last_rounds, asks_all)
    if bound is not None:
        estimate, radius, near = _Estimate(start), bound, True
    else:
        # 1. the median distance from where they are seen from
        mu = _look_mu(start, budget, HISTOGRAM.certain)
        given, spent = start, (mu / budget) ** 2
        start, distances = seen_norms(start, Distances(start.centre), mu, DISTANCES)
        if start.unseen:
            return Centred(start, None, unsure=True)
        if start.magnitude != given.magnitude:  # after two more questions
            spent *= 3
        radius, start = distances.median, start.near(distances.median, CENTRE.far_octaves)
        if not start.public.grouped:
            start = replace(start, typical_norm=radius)
        estimate = _Estimate(start)
        # 2. means and distances in turn, as long as the mean may be far
        mu = _look_mu(start, budget, CENTRE.certain_later)
        far = (CENTRE.far / reach(start.of_sample, budget)) ** 2
        most = (1.0 if thorough else CENTRE.most_share) - polishing - far - (mu / budget) ** 2
        shortest, seen = math.inf, True
        for _ in range(CENTRE.most_rounds if far <= CENTRE.most_far_share else 0):
            near = seen and radius >= CENTRE.shrinkage * shortest
            if spent > most or radius >= CENTRE.shrinkage * shortest:
                break
            better = estimate.improved(radius, budget * math.sqrt(far), "rough centre")
            spent += far
            if better.is_noise and asks_all:  # or it is near: all records will tell
                near = is_blind = True
                break
            if better.is_noise:  # likewise: one of the last rounds will tell
                (share, _), *rounds = rounds
                better = estimate.improved(radius, budget * math.sqrt(share), "centre")
                spent += share
                if better.is_noise:
                    return Centred(start.near(radius), None)
            estimate, shortest = better, radius
            moved = estimate.data
            distances = norm_histogram(moved, Distances(moved.centre), mu, DISTANCES).near(radius)
            spent += (mu / budget) ** 2
            seen = distances.z > HISTOGRAM.next_seen
            if seen:
                radius = distances.median
        # a location is to be clipped, however little noise there is
        if seen and not thorough and ample(start.effective(budget)) > 1:
            tail = distances
    # 3. means that are precise; each shortens the distance by what it moves the centre
    if thorough:
        rounds = _last_rounds(1 - spent, len(rounds), asks_all)
        rounds = [(share * (1 - 1e-12), of_all) for share, of_all in rounds]
    if is_blind:
        rounds = _of_all(rounds, asks_all)
    while rounds:
        (share, of_all), *rounds = rounds
        mu, longest = budget * math.sqrt(share), radius
        if tail is not None:
            excess = excess_records(start.n, start.n_features, start.effective(mu))
            longest = max(radius, tail.exceeded_by(min(excess, start.n / 2)))
        better = estimate.improved(longest, mu, "centre", of_all)
        if better.is_noise and asks_all and not of_all:
            rounds = _of_all(rounds, asks_all)
            continue
        if better.is_noise:
            return Centred(start.near(radius), None, unsure=not near)
        # a further pass over all records would tell less than these records tell of others
        left, enough = CENTRE.left**2 * better.signal, max(better.noise, radius**2 / start.n)
        estimate, radius = better, math.sqrt(max(radius**2 - better.signal, radius**2 / 4))
        if of_all and not thorough and left <= enough:
            break
    length = None if start.typical_norm is None else radius
    found = replace(estimate.data.near(radius), typical_norm=length)
    return Centred(found, radius, unsure=not near)


def robust_location(data: PrivateData, mu: float) -> PrivateData:
    """The records about a Huber mean: of the records clipped to their median distance from it.

    Found as `rough_centre` is, but all of `mu` goes into it if a distance is seen. A record moves a
    mean by no more than the distance over n, wherever the record lies.
    """
    if data.exact:
        return _clipped_mean(data)
    return rough_centre(data, mu=mu).data


def improved_centre(data: PrivateData, radius: float, variance: float, mu: float) -> PrivateData:
    """The records about a known centre, improved by their mean; a mean that has moved is followed.

    Parameters
    ----------
    data : PrivateData
        About that centre, which is public or was released.
    radius : float
        What distances are clipped to.
    variance : float
        Variance of an entry's error in the centre; 0 if it is unknown.
    mu : float
        What the mean costs.
    """
    if data.exact:
        return rough_centre(data).data
    return _Estimate(data, variance).improved(radius, mu, "centre", of_all=True).data


def location_error(data: PrivateData, mu: float) -> float:
    """Noise of `robust_location` in all directions, over the spread in one: what misleads signs.

    Its norm is about ``sqrt(d)`` times the noise of one entry, for a radius of 1, and so long are
    rows of which one entry spreads over ``1 / sqrt(d)``. Infinite where no distance may be seen.
    From public numbers and the noisy n.
    """
    if math.isinf(mu):
        return 0.0
    look = _look_mu(data, mu, HISTOGRAM.certain) * data.of_sample.n
    seen = data.effective(look) / psd_sum(1.0, data.public.adjacency)
    if seen < HISTOGRAM.certain * (1 - 1e-12):
        return math.inf
    share = 1 - CENTRE.most_share
    if data.sample is not None:
        share *= CENTRE.last_of_all
    return math.sqrt(data.n_features) / reach(data, mu * math.sqrt(share))


def reach(data: PrivateData, mu: float) -> float:
    """The distance that records are clipped to, over the length of the noise in their mean."""
    moved = ball_sum(1.0, data.public.adjacency) * math.sqrt(data.n_features)
    return data.effective(mu) * data.n / moved


def shrink_to_signal(vector: np.ndarray, noise_sd: float) -> np.ndarray:
    """James and Stein's positive-part estimate: 0 if the vector is no longer than its noise."""
    square = float(vector @ vector)
    if not square:
        return vector
    return vector * max(0.0, 1 - len(vector) * noise_sd**2 / square)


def _last_rounds(share: float, number: int, asks_all: int) -> list[tuple[float, bool]]:
    """Return each last round's share of mu^2, and whether it asks all the records."""
    if not asks_all:
        return [(share / number, False)] * number
    last, others = CENTRE.last_of_all * share, number - asks_all
    return [((share - last) / others, False)] * others + [(last / asks_all, True)] * asks_all


def _of_all(rounds: list[tuple[float, bool]], asks_all: int) -> list[tuple[float, bool]]:
    """One more round of all records instead, at the same cost: the first may go far."""
    return [(sum(share for share, _ in rounds) / (asks_all + 1), True)] * (asks_all + 1)


@dataclass(frozen=True)
class _Estimate:
    """A centre so far.

    Parameters
    ----------
    data : PrivateData
        About it.
    variance : float or None
        Variance of an entry's error; None before the first mean.
    signal : float
        The square of how far the last mean was from the centre before, less that of its noise.
    noise : float
        The expected square of that noise.
    is_noise : bool
        The first mean cannot be told from noise.
    """

    data: PrivateData
    variance: float | None = None
    signal: float = 0.0
    noise: float = 0.0
    is_noise: bool = False

    def improved(self, radius: float, mu: float, name: str, of_all: bool = False) -> _Estimate:
        """By the mean of the records clipped to a radius, weighted by inverse variance.

        That of a random part of them, if there is one and it need not be of all.
        """
        data, d = self.data if of_all else self.data.of_sample, self.data.n_features
        answer = data.ask(ClippedSum(data.centre, radius), mu, name)
        # what is absent is where the centre is, so the mean is too near to it
        mean = answer.value / (data.n * _present(data))
        noise = (answer.noise_sd / data.n) ** 2 * noise_inflation(data.present)
        signal = float(mean @ mean) - d * noise
        is_noise = self.variance is None and signal <= CENTRE.guard * math.sqrt(2 * d) * noise
        # The mean tells how far off the centre is: James & Stein's estimate, where that is more.
        variance = max(self.variance or 0.0, signal / d)
        weight = variance / (variance + noise)
        centre = data.centre + weight * mean
        moved = self.data.centred_at(centre)
        return _Estimate(moved, weight * noise, signal, d * noise, is_noise)


def _present(data: PrivateData) -> np.ndarray | float:
    """The share of every feature's entries that are there."""
    return 1.0 if data.present is None else data.present


def _look_mu(data: PrivateData, budget: float, certain: float) -> float:
    """Return the mu of a first histogram of distances."""
    shares = BUDGET.rough_look_share, BUDGET.most_look_share
    usual, most = (budget * math.sqrt(share) for share in shares)
    return histogram_mu(data, usual, most, certain)


def _clipped_mean(data: PrivateData) -> PrivateData:
    """Without noise: steps of means of the records, clipped to their median distance."""
    for _ in range(CENTRE.location_rounds):
        distances = data.unprotected_records("a median").measured(Distances(data.centre))
        median = float(np.median(distances))
        if not 0 < median < math.inf:
            break
        total = data.ask(ClippedSum(data.centre, median), name="location").value
        data = data.centred_at(data.centre + total / data.n)
    return data


@dataclass(frozen=True)
class UnsureConstants:
    """When rows are taken to lie off the point where the search for their centre ended.

    Checked on normal rows of 6 to 50 features at 0 to 1000 spreads, on clusters, counts, one-hot
    and lognormal tables, and on resampled wine, iris, breast cancer and digits.
    """

    # Pairs must show this: what their matrix has in every direction if all are alike, in sds of its
    # noise. Below that the direction of the mean is often a better guess.
    least_visible: float = 0.9
    # For this number of sds more records than were counted: a count that is too small is what a
    # search fails by, and it does no harm to pairs.
    count_sds: float = 2.0
    # The mean of the rows' directions, a vector of length 1 at most: its noise in any direction is
    # to be 1 over this, for a share of what is left between two.
    sharp: float = 14.0
    least_share: float = 0.01
    most_share: float = 0.1
    # They lie off it if the square of that length, less that of the noise, is more than this, as
    # for rows about as far away as they spread; and more than this number of the noise's sds.
    off: float = 0.4
    sds: float = 2.5
    # Others that a row meets where not all pairs are formed, as in `GDPPCA`; even.
    n_pairs: int = 20


UNSURE = UnsureConstants()

# Words on pairs in place of a centre, and on missing variances: for reports and errors.
OF_PAIRS = (
    "mean_ is the point where the search ended, and the rows lie away from it; so the components "
    "are of differences of pairs of rows, which need no centre"
)
NO_LENGTHS = (
    "no centre was seen, so the components are of the directions of differences alone, which do "
    "not have the scale of the variances; set a larger epsilon, or give more records or the mean"
)


def release_centred(
    centred: Centred, n_components: int, about: Callable[..., Release], paired: bool
) -> Release:
    """The release of records about where a search for their centre ended, or of pairs of them.

    Parameters
    ----------
    centred : Centred
    n_components : int
    about : callable
        ``about(data, radius)`` spends what is left on the records about that point.
    paired : bool
        Whether differences of pairs may take its place: of rows that are all in memory, where no
        variances are needed.
    """
    data = centred.data
    paired = paired and data.n_features > 1
    if paired and centred.unsure and _may_be_told(data) and _lie_off(data):
        return _of_pairs(data, n_components)
    release = about(data, centred.radius)
    return with_unseen(release, data.public, no_centre=data.unseen, paired=True)


def _may_be_told(data: PrivateData) -> bool:
    """Return whether pairs may show a direction, judged by public numbers and the noisy n."""
    n, d = data.n + UNSURE.count_sds * count_sd(data), data.n_features
    noise_sd = KendallMatrix(d).sensitivity(data.public.adjacency) / data.remaining
    return n / (2 * d) >= UNSURE.least_visible * noise_sd


def _lie_off(data: PrivateData) -> bool:
    """Return whether the rows lie to one side of the centre, by a noisy mean direction.

    The sum of ``x / max(||x||, R)``, R a norm that nearly all exceed, is a `ClippedSum` over R: a
    row adds a vector of norm 1 at most, and one that is the centre adds 0.
    """
    least = LEAST_NORM
    sharp = reach(data, data.remaining) * math.sqrt(data.n_features)
    share = max((UNSURE.sharp / sharp) ** 2, UNSURE.least_share)
    mu = data.remaining * math.sqrt(min(share, UNSURE.most_share))
    answer = data.ask(ClippedSum(data.centre, least), mu, "mean direction")
    mean, variance = answer.value / least / data.n, (answer.noise_sd / least / data.n) ** 2
    signal = float(mean @ mean) - len(mean) * variance
    return signal > max(UNSURE.off, UNSURE.sds * math.sqrt(2 * len(mean)) * variance)


def _of_pairs(data: PrivateData, n_components: int) -> Release:
    """All that is left goes into the signs of differences of pairs."""
    rows = data.mean_rows().shuffled()
    complete = forms_all_pairs(rows)
    matrix, noise_sd = kendall_matrix(rows, Kernel(), None if complete else UNSURE.n_pairs)
    found = Eigenvectors(matrix)
    return Release(
        components=found.top(n_components),
        centre=data.centre,
        n_samples=data.n,
        details={
            "clip": "spherical",
            "norm_bound": None,
            "pairs": "complete" if complete else "incomplete",
            "noise_sd": 2 * noise_sd,
            "alignments": NoisySpectrum(found.values, noise_sd).alignments[:n_components],
            "no_centre": OF_PAIRS,
            "no_variances": NO_LENGTHS,
        },
    )
