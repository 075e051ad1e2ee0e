"""DPGauss: the covariance matrix with Gaussian noise, and its eigenvectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..linalg import decreasing_eigh
from ..mechanisms.base import Public, Spender
from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import Clipping, clip_groups, clip_rows
from ..mechanisms.gram import NoisyGram, release_gram
from ..mechanisms.radius import noisy_count
from ..mechanisms.spectrum import NoisySpectrum, correlation, minka_rank, scaled_variances
from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..records import Records
from ._base import BasePrivatePCA, Release

__all__ = ["DPGauss", "DPGaussMechanism"]

# Share of mu^2 of the number of records. The Gram matrix gets what is left of all.
COUNT_SHARE = 0.01


@dataclass(frozen=True)
class DPGaussMechanism:
    """Analyze Gauss (Dwork, Talwar, Thakurta & Zhang, STOC 2014), told nothing of the data.

    It differs from the paper in that the clipping norm and the mean are private as well, and
    that the noise has the exact scale of the Gaussian mechanism and no more variance off the
    diagonal than it needs (METHODS 1-5).
    """

    public: Public
    event: PrivacyEvent
    n_components: int | float | str | None
    norm_bound: float | None
    clip: str
    center: bool
    mean: np.ndarray | None
    start: np.ndarray | None = None  # where to look for the centre
    correlate: bool = False  # divide by the standard deviations that the matrix itself shows

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        d = records.n_features
        spender = Spender(getattr(self.event, "mu", math.inf))
        # 1. n: how many records
        n = noisy_count(records.private_n, spender, spender.share(COUNT_SHARE), self.public, noise)
        # 2. c: a rough centre
        centre, distances = np.zeros(d) if self.mean is None else self.mean, None
        if self._augments:
            asked = (spender, self.public, noise, self.start)
            centre, distances = rough_centre(records, n, self.norm_bound, *asked)
        # 3. R: the clipping norm around it
        around = centre if centre.any() else None
        clipping = self._clip(records, around, distances, n, spender, noise)
        # 4. the noisy Gram matrix, about the mean that its own last row gives
        gram = release_gram(records, around, clipping, spender, self.public, noise)
        if clipping.n_rows is None:
            n = n_rows = self._count(gram, n, spender)
        else:
            n_rows = clipping.n_rows
        scatter, shift = gram.about_mean(n_rows)
        if self._augments and clipping.median is None:
            centre = centre + shift
        if not gram.query.noise_sd and not np.isfinite(scatter).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        scale, noise_sd = None, gram.query.noise_sd
        if self.correlate and noise_sd:
            total = n_rows if clipping.median is None else None
            scatter, noise_sd, scale = correlation(scatter, noise_sd, total)
            centre = centre / scale
        values, vectors = decreasing_eigh(scatter)
        # 5. eigenvalues without the noise's share, and as many components as they support
        spectrum = NoisySpectrum(values, noise_sd)
        if clipping.median is None:
            variances = spectrum.debiased / max(n_rows - 1, 1.0)
        else:
            variances = scaled_variances(spectrum, clipping.median)
        k = self._count_components(spectrum, variances, n_rows)
        rank = d if spectrum.noise_sd else min(d, int(n_rows))
        rest = variances[k:rank]
        return Release(
            components=vectors[:k],
            centre=centre,
            explained_variance=variances[:k],
            total_variance=float(variances.sum()),
            noise_variance=float(rest.mean()) if len(rest) else 0.0,
            n_samples=n,
            n_rows=n_rows,
            spender=spender,
            details={
                "clip": "norm" if clipping.median is None else "spherical",
                "norm_bound": clipping.radius,
                "noise_sd": noise_sd,
                "alignments": spectrum.alignments[:k],
                "noise_edge": spectrum.edge / max(n_rows - 1, 1.0),
                "spectrum": variances,
            },
            scale=scale,
        )

    @property
    def _augments(self) -> bool:
        return self.center and self.mean is None

    def _clip(
        self,
        records: Records,
        centre: np.ndarray | None,
        distances: np.ndarray | None,
        n: float,
        spender: Spender,
        noise: NoiseSource,
    ) -> Clipping:
        grouped = self.public.grouped
        if math.isinf(spender.mu):
            n_rows = float(records.private_sizes.sum()) if grouped else None
            return Clipping(math.inf, constant=float(grouped and self._augments), n_rows=n_rows)
        told = (records, centre, n, self.norm_bound)
        paid = (spender, self.public, noise)
        if grouped:
            return clip_groups(*told, self._augments, *paid)
        return clip_rows(*told, distances, self.clip == "spherical", self._augments, *paid)

    def _count(self, gram: NoisyGram, n: float, spender: Spender) -> float:
        """The number of rows: two counts of them, averaged by inverse variance."""
        if not gram.constant or self.public.n_records is not None:
            return n
        rows, rows_sd = gram.count()
        sd = 1 / spender.share(COUNT_SHARE)
        return max(1.0, (n / sd**2 + rows / rows_sd**2) / (1 / sd**2 + 1 / rows_sd**2))

    def _count_components(
        self, spectrum: NoisySpectrum, variances: np.ndarray, n_rows: float
    ) -> int:
        d = len(variances)
        wanted = self.n_components
        if wanted is None:
            return d if spectrum.noise_sd else min(d, int(n_rows))
        if isinstance(wanted, Integral):
            return int(wanted)
        signal = max(1, int(np.count_nonzero(spectrum.values > spectrum.edge)))
        if wanted == "auto":
            return signal
        if wanted == "mle":
            return minka_rank(variances, max(2, round(n_rows)), signal)
        explained = np.cumsum(variances)
        enough = np.searchsorted(explained, wanted * explained[-1], side="right")
        return min(d, int(enough) + 1)


class DPGauss(BasePrivatePCA):
    """Private PCA by one noisy covariance matrix ("Analyze Gauss").

    The strongest method on ordinary data as long as the d x d matrix fits. It is told nothing of
    the data: the mean, the clipping norm and the number of records are found privately, inside
    the stated budget.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None, default=None
        How many components: so many; enough for a share of the variance; those above the noise
        (at least one); by Minka's likelihood; all. All but the int look at the released spectrum
        only, so they cost nothing.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` computes an ordinary PCA that is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`.
    norm_bound : float or None, default=None
        Public bound on the records: on the norms of the (scaled) rows, and of the rows less the
        mean; with groups, on the root of the Frobenius norm of a group's Gram matrix. Enforced by
        clipping. It saves the search for one.
    clip : {"auto", "spherical"}, default="auto"
        "auto" clips more when the noise dominates, up to "spherical": every row is scaled to norm
        1, and the variances are found under an elliptical model.
    center : bool, default=True
        Subtract a private mean. False: components of the second moments about `mean` or 0.
    mean : array-like of shape (n_features,) or None, default=None
        A public mean; it costs nothing.
    scale : array-like of shape (n_features,), "private" or None, default=None
        Public scales, by which the features are divided; or private ones, for 15 % of the budget
        (more if records are few), as by a `StandardScaler`; `norm_bound` is in units of them.
    whiten : bool, default=False
        Transform to unit variance.
    accountant : PrivacyAccountant, PrivacyLedger or None, default=None
        Charged before every fit.
    random_state : int, RandomState or None, default=None
        None draws secure noise. A seed makes the release repeatable, so **not private**.
    n_jobs : int or None, default=None
        Threads for the passes over the data.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing variance.
    mean_ : ndarray of shape (n_features,)
        The private mean.
    scale_ : ndarray of shape (n_features,)
        The private scales, with ``scale="private"``.
    explained_variance_ : ndarray of shape (n_components,)
        Variances without the noise's share, at least the noise's standard deviation over n.
    explained_variance_ratio_ : ndarray of shape (n_components,)
    singular_values_ : ndarray of shape (n_components,)
    noise_variance_ : float
        Mean of the variances left out.
    n_components_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If the columns of X have names.
    n_samples_ : float
        The number of records; noisy under add-remove.
    privacy_ : PrivacyReport
        What was released, at what cost. ``privacy_.details`` holds the clipping norm, the noise's
        sd, the whole spectrum and the components' `alignments`: expected squared cosine with the
        direction that the same method would give without noise.

    See Also
    --------
    sklearn.decomposition.PCA : The same without privacy.

    Notes
    -----
    Everything in the attributes is private at the stated cost. Rows that go through `transform`
    are not.

    References
    ----------
    C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss: optimal bounds for
    privacy-preserving principal component analysis. STOC 2014, Theorem 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> X = load_digits().data
    >>> pca = DPGauss(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> pca.transform(X).shape
    (1797, 2)
    >>> pca.privacy_.private
    True
    """

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: str = "add-remove",
        unit: str = "row",
        norm_bound: float | None = None,
        clip: str = "auto",
        center: bool = True,
        mean: Any = None,
        scale: Any = None,
        whiten: bool = False,
        accountant: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.unit = unit
        self.norm_bound = norm_bound
        self.clip = clip
        self.center = center
        self.mean = mean
        self.scale = scale
        self.whiten = whiten
        self.accountant = accountant
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _mechanism(self, public: Public) -> DPGaussMechanism:
        if self.clip == "spherical" and public.grouped:
            raise ValueError(
                f"clip='spherical' scales single rows, but unit={self.unit!r}; use clip='auto'"
            )
        return DPGaussMechanism(
            public=public,
            event=self._event(),
            n_components=self.n_components,
            norm_bound=None if self.norm_bound is None else float(self.norm_bound),
            clip=self.clip,
            center=self.center,
            mean=self._public_mean(public.n_features),
        )
