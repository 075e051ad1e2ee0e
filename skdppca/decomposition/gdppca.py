"""GDPPCA: eigenvectors of a noisy multivariate Kendall matrix, and all that goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from .._sklearn import Interval, RealNotInt, StrOptions
from ..linalg import Eigenvectors
from ..mechanisms.base import BUDGET, Release, ample, with_unseen
from ..mechanisms.centre import location_error, robust_location, rough_centre
from ..mechanisms.clipping import Clip, with_typical_norm
from ..mechanisms.kendall import forms_all_pairs, kendall_matrix
from ..mechanisms.missing import left_along, noise_inflation, undone
from ..mechanisms.noisy_covariance import release_gram
from ..mechanisms.norm_histogram import with_sample
from ..mechanisms.spectrum import NoisySpectrum, count_components, elliptical_variances
from ..private_data import PrivateData, Public
from ..records import MAX_ROWS
from ..records.machine import MATRICES, Held
from ..records.pairs import MAX_COMPLETE, Kernel, ScaleFunction
from ..statistics import AdjacentDifferences, CountBeyond
from .base import BasePrivatePCA
from .parameters import estimator, parameter

# The number of normal vectors, the same for everybody, over which the winsorised eigenvalues of
# given variances are means.
DRAWS = 2048

# The least share of the largest eigenvalue that can be inverted.
SMALLEST = 1e-12


def kendall_shares(spectrum: NoisySpectrum, kernel: Kernel, largest: float | None) -> np.ndarray:
    """Shares of the total variance behind the eigenvalues of a noisy Kendall matrix.

    For signs under an elliptical model (`elliptical_variances`); for other kernels under a Gaussian
    one, by the same fixed point with ``phi_l = E[xi(t)^2 v_l z_l^2 / t^2]``,
    ``t^2 = sum_j v_j z_j^2``. Where it leads nowhere, because a kernel leaves nothing of such
    pairs, the last shares are kept.

    Parameters
    ----------
    kernel : Kernel
    largest : float or None
        The largest variance; needed but for signs.

    Returns
    -------
    ndarray of shape (d,)
        By decreasing size; all alike if nothing can be told.
    """
    seen = spectrum.pooled
    d, top = len(seen), float(seen.max())
    if not top > 0:
        return np.full(d, 1 / d)
    target = np.maximum(seen, SMALLEST * top)
    if kernel.radius is None or not largest:
        return np.sort(elliptical_variances(target))[::-1]
    target = target / target.sum()
    squares = np.random.default_rng(0).standard_normal((DRAWS, d)) ** 2
    shares = target
    unit = math.sqrt(largest)
    for _ in range(200):
        variances = shares / shares.max()  # in squares of the unit
        lengths = squares @ variances
        kept = kernel.weights(lengths.copy(), unit, partial(np.multiply, np.sqrt(lengths), unit))
        phi = variances * (kept @ squares)
        if not (phi > 0).all():
            break
        new = shares * target / (phi / phi.sum())
        new /= new.sum()
        if np.allclose(new, shares, rtol=1e-6, atol=0.0):
            break
        shares = new
    return np.sort(shares)[::-1]


# Made-up lengths: the ends of what may occur, steps between these, and ordinary numbers. The last
# trial has MANY of them at once, in another order.
ENDS = np.array([0.0, 2.0**-450, 2.0**450, np.inf])
STEPS = 2.0 ** np.arange(-60, 60.5, 0.5)
ORDINARY = np.exp(np.random.default_rng(0).normal(size=64))
MANY = 2**14


def name_of(kernel: Any) -> str:
    """Module and name of a function, or of the class of what is called like one."""
    while isinstance(kernel, partial):
        kernel = kernel.func
    named = kernel if hasattr(kernel, "__name__") else type(kernel)
    module = getattr(named, "__module__", None) or type(named).__module__
    return f"{module}.{getattr(named, '__qualname__', named.__name__)}"


def check_kernel(kernel: ScaleFunction) -> None:
    """Try a scale function on made-up lengths.

    Raises
    ------
    ValueError
        If it fails, or if what it returns for a length depends on the other lengths.
    """
    name, lengths = name_of(kernel), np.concatenate([ENDS, STEPS, ORDINARY])
    values = _tried(kernel, lengths, name)
    alone = np.concatenate([_tried(kernel, lengths[i : i + 1], name) for i in range(len(lengths))])
    order = np.random.default_rng(0).integers(len(lengths), size=MANY)
    for seen, there in (
        (alone, values),
        (_tried(kernel, lengths[::-1], name), values[::-1]),
        (_tried(kernel, lengths[order], name), values[order]),
    ):
        if not np.array_equal(seen, there, equal_nan=True):
            raise ValueError(
                f"kernel={name} gives a length another value among others than alone or the next "
                "time, so one record would reach the pairs of others and the guarantee would not "
                "hold. Use functions that act on every entry by itself, as "
                "lambda t: np.minimum(t, 3.0) does"
            )


def _tried(kernel: ScaleFunction, lengths: np.ndarray, name: str) -> np.ndarray:
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(kernel(lengths.copy()))
        problem = _problem(values, lengths)
    except Exception as error:
        problem = f"raised {type(error).__name__}"  # its text is code's, so it is not shown
    if problem:
        raise ValueError(
            f"kernel={name} {problem} for made-up lengths from 0 to infinity. It gets an array of "
            "lengths and must return as many real numbers, as lambda t: np.minimum(t, 3.0) does. "
            "To see what goes wrong, call it on 2.0 ** np.arange(-60, 61), [0.0] and [np.inf]"
        )
    return values.astype(np.float64)


def _problem(values: np.ndarray, lengths: np.ndarray) -> str:
    """Say what is wrong with the returned values; "" if nothing is."""
    if values.shape == lengths.shape and values.dtype.kind in "fiub":
        return ""
    return f"returned {values.dtype} of shape {values.shape}, and not {lengths.shape},"


# Half-lengths of differences are searched on this grid about `PrivateData.magnitude`, 2^-40 .. 2^40
# in steps of 4.4 %: a record changes several of them, so a histogram would not bound what it moves.
FINE_GRID = 2.0 ** np.arange(-40, 40.03125, 0.0625)

# Median of the square of a standard normal variable.
MEDIAN_CHI2 = 0.4549364231195727


@dataclass(frozen=True)
class KendallConstants:
    """Shares of mu^2 that are spent beside the Kendall matrix: round numbers."""

    # A radius of winsorisation.
    radius_share: float = 0.05
    # The centre, where it is what the signs are taken around; and the most that its noise may be
    # against them (`location_error`), or pairs are taken.
    centre_share: float = 0.20
    most_error: float = 0.2
    # The most halvings of the last cell of a search for a median, whatever the budget is.
    most_further: int = 10


KENDALL = KendallConstants()


@dataclass(frozen=True)
class GDPPCAMechanism:
    """g-DPPCA (Kim & Jung 2025, Algorithm 1), with the exact noise and everything else private.

    It differs from the paper in that the matrix is ``S / (n - 1)`` with its sharp sensitivity and
    the Gaussian mechanism's exact scale, about half the noise; in that pairs may be left out at
    random; and in that radius, mean and variances are released as well.

    Parameters
    ----------
    n_components : int, float, "auto" or None
    kernel : {"spherical", "winsorized"} or callable
        See `Kernel.xi` for the last.
    kernel_bound : float or None
        Public largest value of a callable kernel.
    pairs : {"auto", "complete", "incomplete"}
    n_pairs : int
        Others that a record meets if pairs are incomplete; even.
    centering : {"pairs", "private"}
    center : bool
        Whether a private location is found.
    location_share, variance_share : float
        Share of the budget; 0 for none.
    """

    n_components: int | float | Literal["auto"] | None
    kernel: Literal["spherical", "winsorized"] | ScaleFunction
    kernel_bound: float | None
    pairs: str
    n_pairs: int
    centering: str
    center: bool
    location_share: float
    variance_share: float

    def __call__(self, data: PrivateData) -> Release:
        """Release the whole noisy spectrum, and as many components as are wanted."""
        # All rows at once; a group counts by its mean row, everywhere. What is absent is filled
        # with a centre that is found before (n is known then): no later one fills it anew.
        present = data.present
        if self.kernel != "winsorized":  # a norm bound is its radius, and says nothing else
            data = replace(data, norm_bound=None, magnitude=1.0)
        if present is not None and self.center:
            data = rough_centre(data).data
        data = replace(data.mean_rows(), present=None)
        # 1. n: how many records
        data = data.ask_count(data.fraction(BUDGET.question_share))
        # 2. c: a location, for `mean_`, and for the signs if they are taken around it
        data, around_centre = self._located(data)
        # One random order for all that meets the next records: given it, each answer is proven.
        data = data.shuffled()
        # 3. r: the radius of winsorisation
        kernel = self._kernel(data)
        # 4. K: the noisy matrix, with all but what the variances cost
        paid = data.reserving(self.variance_share)
        if around_centre:
            matrix, noise_sd = _signs_around_centre(paid, kernel)
        else:
            n_pairs = None if self._forms_all_pairs(data) else self.n_pairs
            matrix, noise_sd = kendall_matrix(paid, kernel, n_pairs)
        if present is not None:
            matrix, noise_sd = undone(matrix, present), noise_sd * noise_inflation(present)
        found = Eigenvectors(matrix)
        spectrum = NoisySpectrum(found.values, noise_sd)
        # 5. the variances behind its eigenvalues, and their scale along the first component
        largest = None
        if self.variance_share:
            name = "median along the first component"
            first = found.top(1)[0]
            length = _median_difference(data, data.remaining, name, first)
            largest = length**2 / MEDIAN_CHI2 / left_along(first, matrix, present)
        shares = kendall_shares(spectrum, kernel, largest)
        k = count_components(self.n_components, spectrum, shares, data.n)
        variances = total = rest = None
        if largest is not None:
            variances = shares * (largest / shares[0])
            total = float(variances.sum())
            rest = float(variances[k:].mean()) if k < len(variances) else 0.0
        weight = data.n if around_centre else data.n / 2  # what the signs' eigenvalues sum to
        pairs = "complete" if self._forms_all_pairs(data) else "incomplete"
        release = Release(
            components=found.top(k),
            centre=data.centre,
            n_samples=data.n,
            explained_variance=None if variances is None else variances[:k],
            total_variance=total,
            noise_variance=rest,
            n_rows=data.n,
            details={
                "clip": self.kernel if isinstance(self.kernel, str) else name_of(self.kernel),
                "norm_bound": kernel.radius,
                "pairs": "none" if around_centre else pairs,
                "noise_sd": noise_sd * data.n / weight,
                "noise_edge": spectrum.edge / weight,
                "alignments": spectrum.alignments[:k],
                "spectrum": shares if variances is None else variances,
            },
        )
        sought = self.center and (self.location_share > 0 or self.centering == "private")
        sought = sought or (self.center and present is not None)
        unseen = {"no_centre" if sought else "no_norms": data.unseen}
        return with_unseen(release, data.public, **unseen)

    def _located(self, data: PrivateData) -> tuple[PrivateData, bool]:
        """The records about a location, near their norms; and whether signs are taken around it."""
        around_centre = self.centering == "private"
        mu = data.fraction(self.location_share)
        if not (self.center and (mu or around_centre)):
            lengths = self.variance_share or self.kernel == "winsorized"
            return (with_typical_norm(data) if lengths else data), around_centre
        data = with_sample(data)  # until the records are shuffled
        if around_centre:
            enough = data.fraction(KENDALL.centre_share)
            around_centre = location_error(data, enough) < KENDALL.most_error
            mu = enough if around_centre else mu
        return (robust_location(data, mu) if mu else with_typical_norm(data)), around_centre

    def _kernel(self, data: PrivateData) -> Kernel:
        """Return the kernel for the lengths of differences: signs, winsorised, or by a function."""
        if not isinstance(self.kernel, str):
            return Kernel(self.kernel_bound, self.kernel)
        if self.kernel == "spherical":
            return Kernel()
        if data.norm_bound is not None:
            return Kernel(data.norm_bound)
        mu = data.fraction(KENDALL.radius_share)
        return Kernel(_median_difference(data, mu, "radius of winsorisation") or 1.0)

    def _forms_all_pairs(self, data: PrivateData) -> bool:
        return forms_all_pairs(data) if self.pairs == "auto" else self.pairs == "complete"


def _signs_around_centre(data: PrivateData, kernel: Kernel) -> tuple[np.ndarray, float]:
    """Spend all on the sum of signs (or winsorised rows) around the centre; also the noise's sd."""
    clip = Clip(1.0, spherical=True) if kernel.radius is None else Clip(kernel.radius)
    gram = release_gram(data, clip)
    unit = clip.radius**2
    return gram.matrix / unit, gram.noise_sd / unit


def _median_difference(
    data: PrivateData, mu: float, name: str, direction: np.ndarray | None = None
) -> float:
    """Median length over sqrt 2 of the records' differences, or of their parts along a direction.

    Every record meets the next in their random cyclic order.
    """
    differences = AdjacentDifferences(direction, data.centre)
    if data.exact:
        lengths = data.unprotected_records("a median").measured(differences)
        return float(np.median(lengths)) if len(lengths) else 0.0
    # binary search over a grid, and within its last cell as far as the budget sees; then as if
    # lengths were uniform on a logarithmic scale between the last two numbers
    grid = FINE_GRID * data.magnitude
    steps = math.ceil(math.log2(len(grid)))
    steps += min(round(math.log2(ample(mu))), KENDALL.most_further)
    step = mu / math.sqrt(steps)
    low, high, beyond = -1, len(grid) - 1, dict[float, float]()

    def exceed(length: float) -> bool:
        """Return whether more than half of the lengths do; as far as noise shows it."""
        answer = data.ask(CountBeyond(differences, length), step, name)
        beyond[length] = float(answer.value) - data.n / 2
        return beyond[length] > 0

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceed(float(grid[middle])) else (low, middle)
    least, most = float(grid[max(low, 0)]), float(grid[high])
    for _ in range(steps - len(beyond)):  # what is left of the budget
        between = math.sqrt(least * most)
        least, most = (between, most) if exceed(between) else (least, between)
    if least == most or beyond.get(least, 0.0) <= 0 or most not in beyond:  # an end of the grid
        return most
    share = beyond[least] / (beyond[least] - beyond[most])
    return float(least * (most / least) ** share)


@estimator
class GDPPCA(BasePrivatePCA):
    """Private PCA of heavy-tailed or contaminated rows, by differences of signs.

    g-DPPCA of Kim & Jung, with half the noise. Every pair of records adds its difference, turned to
    a bounded length: so the noise does not depend on how long the rows are, no mean is needed, and
    outliers weigh no more than others. Under an elliptical law (Gaussian, t, Cauchy) the components
    are those of its scatter matrix. On light-tailed rows `DPGauss` has less noise.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=None
        Number of components to release: an int; a float between 0 and 1, enough to explain that
        share of the variance; "auto", those that stand above the privacy noise, at least one; or
        None, as many as features. All but the int look at what is released only, so they cost
        nothing more.
    kernel : {"spherical", "winsorized"} or callable, default="spherical"
        What length a pair's difference gets, its direction being kept.

        - "spherical": 1.
        - "winsorized": its own, but a radius at most.
        - A callable is a function ``xi`` of your own. It gets a one-dimensional float64 array of
          lengths ``||x_i - x_j|| / sqrt(2)``, from 0 to infinity, and returns an array of as many
          real numbers. They are clipped to ``[0, kernel_bound]``; NaN, and a length for which it
          raises, count as 0. **It must be made of public numbers, and act on every length by
          itself, without a look at others or at earlier calls**: otherwise the guarantee does not
          hold. It is tried on made-up lengths before the charge. What it prints, warns of or keeps
          during a fit is not protected.
    kernel_bound : float or None, default=None
        Public largest value of a callable `kernel`, which needs one; the noise is in proportion
        to its square. The other kernels do not use it.
    pairs : {"auto", "complete", "incomplete"}, default="auto"
        All pairs, in time n^2 d; or each record with `n_pairs` others at random, in time
        n d (n_pairs + d). "auto" forms all up to a (noisy) number of about 8000 records.
    n_pairs : int, default=20
        An even number. The variance of what incomplete pairs estimate is about 1 + 1.6 / n_pairs
        times that of all pairs.
    centering : {"pairs", "private"}, default="pairs"
        Differences of pairs; or of rows from a private centre, which costs a fifth of the budget
        and leaves half the noise. Where the (noisy) number of records is too small for such a
        centre, pairs are formed all the same. A public `mean` is a centre for nothing.
    location_share : float, default=0.05
        Share of the budget for `mean_`, which the components do not depend on; 0 leaves it at 0.
        With ``centering="private"`` it is that centre, and the share is a fifth.
    variance_share : float, default=0.05
        Share of the budget for the scale of `explained_variance_` and what depends on it; 0 leaves
        them out. Their ratios are free (with the spherical kernel).
    unit : str, default="row"
        What is protected as a whole: "row", or a name such as "patient" for the groups that you
        pass to `fit`. A group counts by its mean row.
    norm_bound : float or None, default=None
        Public radius of winsorisation, for differences over the root of 2. It saves the search for
        the median. Other kernels need none.
    center : bool, default=True
        Release a private location as `mean_`. False: it is `mean` or 0.
    n_jobs : int or None, default=None
        Threads that share each pass over the data, as in `DPGauss`; complete pairs, and those of a
        kernel of your own, use those of the BLAS.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        A private location that outliers hardly move; 0 if the budget is too small to find one.
    explained_variance_ : ndarray of shape (n_components,)
        From a private median along the first component, and the ratios. Consistent for Gaussian
        rows; for an elliptical law right up to a common factor.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Behind the eigenvalues of the matrix, under an elliptical model; a Gaussian one for kernels
        other than the spherical.
    privacy_ : PrivacyReport
        What was released, at what cost. ``privacy_.details`` holds the noise's sd, the whole
        spectrum, the components' `alignments` (expected squared cosine with the direction that the
        same pairs would give without noise) and whether all pairs were formed.

    Raises
    ------
    ValueError
        If ``pairs="complete"`` and there are more than 131072 records.

    See Also
    --------
    DPGauss : Less noise on light-tailed rows; ``clip="spherical"`` is the sign covariance around a
        rough mean.

    Notes
    -----
    All rows are held at once, dense. A row whose squared norm overflows is no record.

    References
    ----------
    M. Kim, S. Jung. Robust and differentially private PCA for non-Gaussian data. 2025, Algorithm 1,
    with the sensitivities of `skdppca.statistics.KendallMatrix`.

    Examples
    --------
    >>> from skdppca import GDPPCA
    >>> from skdppca.datasets import make_elliptical
    >>> from skdppca.metrics import sin_theta
    >>> X, _, components, _ = make_elliptical(5000, 10, [9, 4], 1.0, df=1, random_state=0)
    >>> pca = GDPPCA(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> bool(sin_theta(pca.components_, components) < 0.3)
    True
    """

    n_components: int | float | Literal["auto"] | None = parameter(
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="neither"),
        StrOptions({"auto"}),
        None,
        default=None,
        kw_only=False,
    )
    kernel: Literal["spherical", "winsorized"] | ScaleFunction = parameter(
        StrOptions({"spherical", "winsorized"}), callable, default="spherical"
    )
    kernel_bound: float | None = parameter(
        Interval(Real, 0, None, closed="neither"), None, default=None
    )
    pairs: Literal["auto", "complete", "incomplete"] = parameter(
        StrOptions({"auto", "complete", "incomplete"}), default="auto"
    )
    n_pairs: int = parameter(Interval(Integral, 2, 1024, closed="both"), default=20)
    centering: Literal["pairs", "private"] = parameter(
        StrOptions({"pairs", "private"}), default="pairs"
    )
    location_share: float = parameter(Interval(Real, 0, 0.4, closed="both"), default=0.05)
    variance_share: float = parameter(Interval(Real, 0, 0.5, closed="both"), default=0.05)

    _beyond_sums: ClassVar[str] = "pairs of records"

    _held: ClassVar[Held] = MATRICES

    _not_released: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            ("explained_variance_", "singular_values_", "noise_variance_"),
            "variance_share=0 leaves them out; set variance_share=0.05",
        ),
        "explained_variance_ratio_": (
            "but for kernel='spherical' it needs their scale; set variance_share=0.05"
        ),
    }

    _more_records = "set pairs='incomplete'"

    @property
    def _max_records(self) -> int:
        return MAX_COMPLETE if self.pairs == "complete" else MAX_ROWS

    def _mechanism(self, public: Public) -> GDPPCAMechanism:
        if self.n_pairs % 2:
            raise ValueError(
                f"n_pairs={self.n_pairs} is odd, but every record meets as many before it as "
                f"behind it; choose {self.n_pairs + 1}"
            )
        share = isinstance(self.n_components, Real) and not isinstance(self.n_components, Integral)
        if share and self.kernel != "spherical" and not self.variance_share:
            raise ValueError(
                f"n_components={self.n_components} is a share of the variance, which "
                f"kernel={self._kernel_name} needs a scale for; set variance_share=0.05"
            )
        if not isinstance(self.kernel, str):
            self._check_own_kernel(self.kernel)
        return GDPPCAMechanism(
            n_components=self.n_components,
            kernel=self.kernel,
            kernel_bound=None if self.kernel_bound is None else float(self.kernel_bound),
            pairs=self.pairs,
            n_pairs=int(self.n_pairs),
            centering=self.centering,
            center=self._finds_centre,
            location_share=float(self.location_share),
            variance_share=float(self.variance_share),
        )

    @property
    def _kernel_name(self) -> str:
        return repr(self.kernel) if isinstance(self.kernel, str) else name_of(self.kernel)

    def _check_own_kernel(self, kernel: ScaleFunction) -> None:
        if self.kernel_bound is None:
            raise ValueError(
                f"kernel={self._kernel_name} is a function of your own, which the noise needs a "
                "public bound for; set kernel_bound, the largest value that it may return"
            )
        if self.centering == "private":
            raise ValueError(
                f"kernel={self._kernel_name} is a function of the differences of pairs, but "
                "centering='private' forms none; set centering='pairs'"
            )
        check_kernel(kernel)

    def _attributes(self, release: Release, n_features: int) -> dict[str, Any]:
        found = super()._attributes(release, n_features)
        if release.explained_variance is None and self.kernel == "spherical":
            shares = release.details["spectrum"]
            found["explained_variance_ratio_"] = shares[: found["n_components_"]]
        return found
