"""Where the records' norms lie: one noisy histogram over half octaves, which cannot run off.

Its cells are about a power of 2 near the norms (`PrivateData.magnitude`): 1, unless they were seen
elsewhere. Where it shows nothing, a first look over wide cells finds that power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..private_data import PrivateData
from ..statistics import Measure, MeasureHistogram
from ..statistics.lemmas import psd_sum
from .base import ample

# The cells about 1: half octaves from 2^-40.5 to 2^40.5. A norm outside of that is in none.
EDGES = 2.0 ** np.arange(-40.5, 41.0, 0.5)

# The wide cells of a first look: 20 octaves each.
WIDE_EDGES = 2.0 ** np.arange(-140.0, 141.0, 20.0)

# The clipping norm if no norm was seen: nearly all records exceed it in usual units.
LEAST_NORM = float(EDGES[0])

# Why there are no variances: in the report, and where one asks for them.
UNSEEN = (
    "the noise hides how long the records are, which is the scale of the variances; set a larger "
    "epsilon, or give more records"
)

# Cells of the windows that are compared.
LENGTHS = (1, 2, 3, 4, 6, 8, 12)


@dataclass(frozen=True)
class HistogramConstants:
    """Thresholds for trusting windows of cells; sds are those of the noise in a sum of counts.

    What has no origin here is a guess.
    """

    # Sds that the best window must hold: by the union bound over the 1105 windows, noise alone
    # passes in less than 0.4 % of histograms. In a first look, of 69 windows, in less than 0.03 %.
    seen: float = 4.5
    # Sds of the next cell above, to belong to the window: a false one does little harm. As many are
    # enough for a window between these two multiples of an earlier norm: few there can be false.
    next_seen: float = 2.5
    near_from: float = 1 / 16
    near_to: float = 4.0
    # Sds of another window above: a false one would let the noise of all that follows grow.
    apart_seen: float = 6.0
    # Sds that all records in one cell should at least be, if that is paid for, and at most, unless
    # mu is ample: the tail is precise then.
    certain: float = 16.0
    precise: float = 200.0
    # Cells below and above all that stands out that count as well, with their noise, where a mean
    # is read off. With none above, the factor of skewed rows was 1 to 26 % too low; with four, its
    # sd was four times as large (normal, lognormal, count and one-hot rows; n 3000 and 20000).
    cells_below: int = 1
    cells_above: int = 2
    # Points of a cell that a mean takes its norms at, evenly by their logarithm; round.
    points: int = 32
    # The normal law of the norms' logarithms: the sds that are tried, and places a cell.
    least_spread: float = 0.03
    most_spread: float = 1.2
    spreads: int = 30
    places: int = 16
    # The spread below which that law tells where in a cell norms lie; beyond it tails are heavier.
    fine_spread: float = 0.25
    # The mean square of norms over their median's, at least: of one-hot rows it is .9; round.
    least_square: float = 0.5
    # Sds of its noise that what such a mean is divided by exceeds; else there is none.
    certain_divisor: float = 5.0
    # Sds of the noise that all records in one cell must be so that what it tells of the tail bounds
    # what clipping took; where norms are of products, whose tail lies in twice as many cells.
    tail_seen: float = 30.0
    product_tail_seen: float = 100.0


HISTOGRAM = HistogramConstants()


@dataclass(frozen=True)
class NormHistogram:
    """Noisy numbers of records, by their norms.

    Parameters
    ----------
    counts : ndarray of shape (cells,)
    edges : ndarray of shape (cells + 1,)
    noise_sd : float
        Standard deviation of the noise in every count; positive.
    start, stop : int
        The cells among which the best window is looked for.
    """

    counts: np.ndarray
    edges: np.ndarray
    noise_sd: float
    start: int
    stop: int

    @cached_property
    def _window(self) -> tuple[float, int, int]:
        """The window that holds the most for its noise: that ratio, its first cell and its stop."""
        sums = np.concatenate([[0.0], np.cumsum(self.counts[self.start : self.stop])])
        best = (-math.inf, 0, 1)
        for length in LENGTHS:
            held = (sums[length:] - sums[:-length]) / (self.noise_sd * math.sqrt(length))
            if len(held):
                first = int(np.argmax(held))
                best = max(best, (float(held[first]), first, first + length))
        z, first, stop = best
        return z, self.start + first, self.start + stop

    @property
    def z(self) -> float:
        """Signal-to-noise ratio of the best window: its count, in sds of its noise."""
        return self._window[0]

    @cached_property
    def log_normal(self) -> tuple[float, float]:
        """Mean and sd of the norms' logarithms: of the normal law that is nearest to the counts.

        By least squares over the best window and a cell at both ends. It tells spreads well below
        the width of a cell, by how the cells share the records.
        """
        _, first, stop = self._window
        cells = slice(max(first - 1, 0), stop + 1)
        counts, edges = self.counts[cells], np.log(self.edges[cells.start : stop + 2])
        spreads = np.geomspace(HISTOGRAM.least_spread, HISTOGRAM.most_spread, HISTOGRAM.spreads)
        places = np.linspace(edges[0], edges[-1], HISTOGRAM.places * len(counts) + 1)
        held = np.diff(ndtr((edges - places[:, None, None]) / spreads[:, None]), axis=-1)
        along = np.maximum(held @ counts, 0.0) / np.linalg.norm(held, axis=-1)
        place, spread = np.unravel_index(int(np.argmax(along)), along.shape)
        return float(places[place]), float(spreads[spread])

    @property
    def median(self) -> float:
        """Median of the norms in the best window."""
        _, first, stop = self._window
        inside = np.maximum(self.counts[first:stop], 0.0)
        if not inside.any():
            return float(math.sqrt(self.edges[first] * self.edges[stop]))
        below = np.concatenate([[0.0], np.cumsum(inside)]) / inside.sum()
        return float(2.0 ** np.interp(0.5, below, np.log2(self.edges[first : stop + 1])))

    def exceeded_by(self, excess: float) -> float:
        """A norm that about `excess` records exceed, no lower than the best window.

        Above the window count the next cells as long as they stand out, and other windows that do.
        """
        lowest, counts = self._window[1], self._seen
        beyond = 0.0
        for cell in range(len(counts) - 1, lowest - 1, -1):
            if beyond + counts[cell] > excess:
                part = (excess - beyond) / counts[cell]
                low, high = self.edges[cell : cell + 2]
                return float(high * (low / high) ** part)
            beyond += counts[cell]
        return float(self.edges[lowest])

    def factor(self, radius: float, n: float, spherical: bool = False) -> ClippingFactor | None:
        """The mean square of the norms, over that of the norms clipped to a radius.

        It counts the cells that stand out, and their neighbours, with negative counts as they are;
        what the neighbours add is shrunk by its noise. Inside a cell, logarithms of norms are taken
        for uniform; where records were scaled, for those of `log_normal` if it is narrow. The sd is
        that of the first order, without shrinking.

        Parameters
        ----------
        radius : float
            Public or released.
        n : float
            The (noisy) number of records.
        spherical : bool
            Records were scaled to the radius, up or down.

        Returns
        -------
        ClippingFactor or None
            None where the noise hides the clipped norms.
        """
        cells, beside, norms = self._with_neighbours(1)
        left = (np.minimum(norms, radius) ** 2).mean(axis=1)
        whole, spread = (norms**2).mean(axis=1), 0.0
        if spherical:
            place, spread = self.log_normal
            if spread < HISTOGRAM.fine_spread:
                far = ((np.log(norms) - place) / spread) ** 2 / 2
                weights = np.exp(far.min(axis=1, keepdims=True) - far)
                whole = (weights * norms**2).sum(axis=1) / weights.sum(axis=1)
            left = np.full_like(whole, radius**2)
        divisor = float(self.counts[cells] @ left)
        if divisor <= HISTOGRAM.certain_divisor * self.noise_sd * float(np.linalg.norm(left)):
            return None
        if spherical:  # cells below the radius count against those above
            beside = np.zeros_like(beside)
        value = 1 + self._sum(cells, beside, whole - left) / divisor
        error = self.noise_sd * float(np.linalg.norm(whole - value * left)) / divisor
        sees_tail = n > HISTOGRAM.tail_seen * self.noise_sd
        least = HISTOGRAM.least_square if spherical else 1.0
        return ClippingFactor(max(value, least), error, sees_tail, spread=spread)

    def factor_of_products(
        self, radius: float, less: float, trace: float, n: float
    ) -> ClippingFactor:
        """Return the clipping factor of products around a prediction, from a histogram of norms.

        Parameters
        ----------
        radius : float
            Public or released.
        less : float
            By how much the trace of long ones is less than their norm.
        trace : float
            Trace of the mean of the clipped products.
        n : float
            The (noisy) number of records.
        """
        cells, beside, norms = self._with_neighbours(2)
        lost = np.maximum(1 - radius / norms, 0.0)
        taken = (lost * np.maximum(norms - less, 0.0)).mean(axis=1) / (n * trace)
        kept = min(max(self._sum(cells, beside, lost.mean(axis=1)) / n, 0.0), 1.0)
        value = 1 + max(self._sum(cells, beside, taken), 0.0)
        sees_tail = n > HISTOGRAM.product_tail_seen * self.noise_sd
        error = self.noise_sd * float(np.linalg.norm(taken))
        return ClippingFactor(value, error, sees_tail, kept)

    def up_to(self, norm: float) -> NormHistogram:
        """Return a copy whose best window stays below a norm that is public or was released."""
        stop = int(np.searchsorted(self.edges, norm, side="right")) - 1
        return replace(self, stop=max(stop, self.start + 1))

    def near(self, norm: float) -> NormHistogram:
        """Return a copy whose best window lies near a norm that is public or was released."""
        start = int(np.searchsorted(self.edges, HISTOGRAM.near_from * norm))
        return replace(self, start=min(start, len(self.counts) - 1)).up_to(HISTOGRAM.near_to * norm)

    @property
    def _seen(self) -> np.ndarray:
        """The counts of the best window and of what stands out above it; 0 elsewhere."""
        seen, cells = np.zeros_like(self.counts), len(self.counts)
        _, first, stop = self._window
        while True:
            seen[first:stop] = self.counts[first:stop]
            if stop == cells:
                return seen
            if self.counts[stop] > HISTOGRAM.next_seen * self.noise_sd:
                first, stop = stop, stop + 1
                continue
            z, first, stop = replace(self, start=stop, stop=cells)._window
            if z <= HISTOGRAM.apart_seen:
                return seen

    def _sum(self, cells: np.ndarray, beside: np.ndarray, each: np.ndarray) -> float:
        """Return the sum over the records in some cells; that over neighbouring cells is shrunk.

        By sum / (sum + sd of its noise): on eight laws and two tables, the root mean square error
        of the factor was 2 to 46 % smaller in 27 of 30 settings, and up to 8 % larger in 3.
        """
        counts = self.counts[cells]
        more = float(counts[beside] @ each[beside])
        sd = self.noise_sd * float(np.linalg.norm(each[beside]))
        kept = more**2 / (more + sd) if more > 0 else 0.0
        return float(counts[~beside] @ each[~beside]) + kept

    def _with_neighbours(self, times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the cells to average over, the neighbours among them, and points within each cell.

        Parameters
        ----------
        times : int
            How many cells more there are to a length: of products, two.
        """
        _, first, stop = self._window
        standing = self._seen != 0
        standing[first:stop] = True
        top, seen = int(np.flatnonzero(standing)[-1]) + 1, standing.copy()
        seen[max(first - times * HISTOGRAM.cells_below, 0) : first] = True
        seen[top : top + times * HISTOGRAM.cells_above] = True
        low, high = self.edges[:-1][seen], self.edges[1:][seen]
        middles = (np.arange(HISTOGRAM.points) + 0.5) / HISTOGRAM.points
        return seen, ~standing[seen], low[:, None] * (high / low)[:, None] ** middles


def norm_histogram(
    data: PrivateData,
    measure: Measure,
    mu: float,
    name: str,
    edges: np.ndarray | None = None,
) -> NormHistogram:
    """Ask how many records have which norm, with noise; a random part of them, if there is one.

    Parameters
    ----------
    measure : Measure
        The norm; one that only its own record changes.
    mu : float
        What it costs.
    name : str
        For the report.
    edges : ndarray, optional
        Public or released; by default `edges_of` the measure.
    """
    edges = edges_of(data, measure) if edges is None else edges
    answer = data.of_sample.ask(MeasureHistogram(measure, edges), mu, name)
    share = data.sample_share
    return NormHistogram(answer.value / share, edges, answer.noise_sd / share, 0, len(edges) - 1)


def edges_of(data: PrivateData, measure: Measure) -> np.ndarray:
    """The edges of the half octaves about the magnitude of what is measured."""
    return EDGES * data.magnitude**measure.degree


def seen_norms(
    data: PrivateData, measure: Measure, mu: float, name: str
) -> tuple[PrivateData, NormHistogram]:
    """Ask `norm_histogram`; where it shows nothing, once more about what a first look shows.

    So no unit of the records is too small or too large. Both other questions cost mu, too. They are
    asked only if no typical norm is known, and the first one would have shown equal norms.

    Returns
    -------
    data : PrivateData
        Near that magnitude; `unseen` if the norms were not seen now.
    found : NormHistogram
    """
    data = replace(data, unseen=False) if data.unseen else data
    found = norm_histogram(data, measure, mu, name)
    if found.z > HISTOGRAM.seen:
        return data, found
    if data.typical_norm is None and data.n > HISTOGRAM.seen * found.noise_sd:
        wide = norm_histogram(data, measure, mu, "magnitude of the norms", WIDE_EDGES)
        near = data.near(wide.median) if wide.z > HISTOGRAM.seen else data
        if near is not data:
            found = norm_histogram(near, measure, mu, name)
            return replace(near, unseen=found.z <= HISTOGRAM.seen), found
    return replace(data, unseen=True), found


def histogram_mu(data: PrivateData, usual: float, most: float, certain: float) -> float:
    """Return the mu of a histogram: no more than makes its tails precise.

    Parameters
    ----------
    usual, most : float
        What it may cost, as mu; and where records are too few to be seen at that.
    certain : float
        What all records in one cell should at least be, in sds of the noise.
    """
    if data.exact:
        return math.inf
    one_sd = psd_sum(1.0, data.public.adjacency) / data.effective(1.0) / data.of_sample.n
    precise = HISTOGRAM.precise * ample(data.effective(data.budget.mu))
    return max(min(precise * one_sd, usual), min(certain * one_sd, most))


@dataclass(frozen=True)
class ClippingFactor:
    """The mean square of the records' norms, over that of what they were clipped to.

    Parameters
    ----------
    value : float
        Factor by which the clipped total variance is multiplied to estimate the whole.
    error : float
        The sd of the noise in it.
    sees_tail: bool
        Whether the histogram is precise enough for long records, however few, to be seen.
    kept : float
        Where records were clipped about a prediction: the share of it that stayed in their place.
    spread : float
        Where records were scaled to norm 1: the sd of the logarithms of their norms; else 0.
    """

    value: float
    error: float
    sees_tail: bool = True
    kept: float = 0.0
    spread: float = 0.0


def unclipped(
    variances: np.ndarray, factor: ClippingFactor | None
) -> tuple[np.ndarray, np.ndarray]:
    r"""The variances that clipping left, and what it took; and what the factor's noise adds.

    Parameters
    ----------
    variances : ndarray of shape (m,)
        What clipping left along directions, of which the factor tells the total.
    factor : ClippingFactor or None
        None: as they are.

    Returns
    -------
    variances : ndarray of shape (m,)
        In the same order.
    errors : ndarray of shape (m,)
        Sds of the factor's noise.

    Notes
    -----
    Long records lose the most, and they lie along the first components. Let every record x, of a
    normal law with these variances v, lose its square times ``||x||^4``. Of what is lost, the j-th
    has a share proportional to

    .. math:: E[x_j^2 \, \|x\|^4] = v_j \left((t + 2 v_j)^2 + 2 \sum_i v_i^2 + 4 v_j^2\right),

    t the sum of all: of Q, what :math:`\|x\|^2` is if :math:`x_j^2` counts by itself, that is the
    squared mean :math:`t + 2 v_j` plus the variance. Of the powers 0 (the same factor for all), 2,
    4 and 6, 4 was the best on normal, lognormal, count and one-hot rows.
    """
    if factor is None:
        return variances, np.zeros_like(variances)
    largest = float(variances.max(initial=0.0))
    # in units of a power of 2, which is exact: fourth powers could overflow
    unit = 2.0 ** math.floor(math.log2(largest)) if largest else 1.0
    v = variances / unit
    total = float(v.sum())
    twice = total + 2 * v
    lost = v * (twice**2 + 2 * float(v @ v) + 4 * v**2)
    lost = unit * (total * lost / lost.sum()) if total else lost
    return variances + (factor.value - 1) * lost, factor.error * lost


def clipping_details(
    factor: ClippingFactor | None, clipped: np.ndarray, searched: bool
) -> dict[str, Any]:
    """Return the report's entries on clipping: only the clipped variances if there is no factor.

    Parameters
    ----------
    clipped : ndarray
        The variances that clipping left.
    searched : bool
        Whether the norm was found in the records. A public one bounds all records: then nothing
        is said.
    """
    if not searched:
        return {}
    if factor is None:
        return {"clipped_variances": clipped}
    return {
        "clipped_variances": clipped,
        "clipping_errors": unclipped(clipped, factor)[1],
        "clipping_factor": factor.value,
        "clipping_factor_error": factor.error,
        "clipping_sees_tail": factor.sees_tail,
        "clipping_kept": factor.kept,
    }


@dataclass(frozen=True)
class SamplingConstants:
    """Size of the random subset of records. It only saves time."""

    # Records times mu, up to that number of features; for more, it grows with their root. 2500 and
    # most_share .4 made DPPowerMethod's loss 18 % larger on 30 000 normal rows of 100 features;
    # with these no median of four methods rose by more than its error on 100 000.
    records: float = 4000.0
    few_features: int = 100
    # From this share of the records on, all of them are looked at instead; shares are of 2^10.
    most_share: float = 0.25
    steps: int = 2**10
    # The most entries that are gathered in memory (64 MiB).
    most_entries: int = 2**23


SAMPLING = SamplingConstants()


def with_sample(data: PrivateData) -> PrivateData:
    """Return the data with a random subset that answers questions on norms; nothing is charged.

    It tells norms and a rough centre as well as all of them do. From public numbers and the noisy n
    alone: all of them are asked if they are few, if mu is ample (a part would tell less than the
    noise hides), and if the part would not fit into memory or cannot be had at once.

    Proof. Every record draws whether it is in the part, by itself and without a look at data.
    Couple the draws of neighbours so that common records draw alike (`PrivacyFilter.in_parallel`
    has the argument): given the draws, the parts are neighbours or equal, so a sum over the part is
    as sensitive as one over all records, and the squares of what is asked of the part and of all
    add up in one filter. A mixture over the draws is as private. Who is in the part stays secret,
    and so does their number: the part is taken for its share of the noisy n.
    """
    if data.exact or data.sample is not None or not data.remaining > 0:
        return data
    d = data.n_features
    mu = data.effective(data.remaining)
    records = SAMPLING.records * math.sqrt(max(1.0, d / SAMPLING.few_features)) / mu
    share = math.ceil(SAMPLING.steps * records / data.n) / SAMPLING.steps
    wide = not data.public.is_sparse and share * data.n * d > SAMPLING.most_entries
    if share >= SAMPLING.most_share or wide or ample(mu) > 1:
        return data
    return data.sampled(round(SAMPLING.steps * share), SAMPLING.steps)
