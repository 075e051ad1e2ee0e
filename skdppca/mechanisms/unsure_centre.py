"""What is released where the centre may be far from the rows: of pairs of rows, if it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..linalg import Eigenvectors
from ..private_data import PrivateData
from ..records.kernels import Kernel
from ..statistics import ClippedSum, KendallMatrix
from .base import Release
from .centre import Centred, reach
from .kendall import count_sd, forms_all_pairs, kendall_matrix
from .norm_histogram import LEAST_NORM
from .spectrum import NoisySpectrum
from .unseen import with_unseen


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

# What was done, and why there are no variances: in the report, and where one asks for them.
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
    """Whether pairs may show something; seen from public numbers and the noisy n."""
    n, d = data.n + UNSURE.count_sds * count_sd(data), data.n_features
    noise_sd = KendallMatrix(d).sensitivity(data.public.adjacency) / data.remaining
    return n / (2 * d) >= UNSURE.least_visible * noise_sd


def _lie_off(data: PrivateData) -> bool:
    """Whether rows point from the centre to one side.

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
