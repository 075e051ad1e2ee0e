"""ResidualGauss: a noisy covariance matrix, refined where its components are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn import Interval, StrOptions
from ..linalg import decreasing_eigh
from ..mechanisms.base import Public, Spender
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.clipping import Clipping
from ..mechanisms.gram import release_gram
from ..mechanisms.radius import excess_records, private_radius
from ..mechanisms.steps import Step, geometric
from ..noise import NoiseSource
from ._adaptive import MAX_ITER, AdaptiveMechanism, AdaptivePCA
from ._oracles import iterate

__all__ = ["ResidualGauss", "ResidualGaussMechanism"]

# Shares of mu^2, before they are made to add up: the start, all refinements, and each radius.
START, REFINEMENTS, RADIUS = 0.2, 0.8, 0.02

# From refinement to refinement, of the cost of the means.
RATIO = 1.45

# An eigenvalue of the start is worth refining if it is so many times the noise-only spectrum's end.
VISIBLE = 4.0

# Weight of the noise in the number of clipped records of the start, and the most that it clips.
NOISE_WEIGHT, MAX_EXCESS = 8.0, 0.5

# Clipping bias that is left in a refinement, as a share of its correction's square: without it
# the variance of the estimate is thought too small, and it sticks.
LEFT_OVER_BIAS = 0.1


@dataclass(frozen=True)
class ResidualGaussMechanism(AdaptiveMechanism):
    """Analyze Gauss, then private corrections of its top eigenvectors' products (METHODS 6)."""

    n_iter: int
    rate: float

    def directions(
        self, mean: BlockMean, k: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        d = mean.records.n_features
        mu_radius, mu_start, *mus = self._divide(spender.left)
        # 1. S: the mean Gram matrix, with noise of sd s0
        S, s0 = self._start(mean, mu_radius, mu_start, spender, noise)
        values, W = decreasing_eigh(S)
        if s0 == 0:
            return W[:k], np.diag(values[:k])
        if values[k - 1] < VISIBLE * math.sqrt(2 * d) * s0:
            # 2. nothing to refine: the power iteration, from the best directions there are
            todo = [self._step(mean, spender, mu_radius, mu, noise) for mu in mus]
            return iterate(todo, W[:k], "auto", predicts=True)
        # 3. vW: the variance of S W; each refinement is weighted against it
        v0 = variance = s0**2 / 2
        W_old = None
        for t, mu in enumerate(mus, start=1):
            W = decreasing_eigh(S)[1][:k]
            C = W @ S
            if W_old is not None:
                variance += v0 * np.linalg.norm(W - (W @ W_old.T) @ W_old) ** 2 / k
            gradient = self._step(mean, spender, mu_radius, mu, noise)(W, C)
            weight = variance / (variance + gradient.noise_sd**2) * min(1.0, self.rate / t)
            D = weight * (gradient.mean - C)
            # 4. the symmetric matrix nearest to S that maps W to S W + D
            S = S + D.T @ W + W.T @ D - W.T @ ((W @ D.T + D @ W.T) / 2) @ W
            miss = float(np.mean((gradient.mean - C) ** 2))
            variance = (1 - weight) * variance + LEFT_OVER_BIAS * weight**2 * miss
            W_old = W
        values, W = decreasing_eigh(S)
        return W[:k], np.diag(values[:k])

    def _step(
        self, mean: BlockMean, spender: Spender, mu_radius: float, mu: float, noise: NoiseSource
    ) -> Step:
        return lambda W, C: mean(W, C, spender, mu_radius, mu, noise)

    def _divide(self, mu: float) -> list[float]:
        """What a radius, the start and the refinements cost, all of `mu` together."""
        radius = RADIUS if self.norm_bound is None else 0.0
        shares = np.array([radius, START, *REFINEMENTS * geometric(RATIO, self.n_iter)])
        total = shares.sum() + radius * self.n_iter
        return [mu * math.sqrt(share) if share else 0.0 for share in shares / total]

    def _start(
        self,
        mean: BlockMean,
        mu_radius: float,
        mu: float,
        spender: Spender,
        noise: NoiseSource,
    ) -> tuple[np.ndarray, float]:
        """DPGauss's matrix over n, and the sd of its noise."""
        if math.isinf(mu):
            clipping = Clipping(math.inf, 0.0)
        else:
            norms = mean.records.map(lambda block: block.gram_norms(mean.centre, 0.0))
            radius = self.norm_bound
            if radius is None:
                d = mean.records.n_features
                excess = excess_records(mean.n, d * (d + 1) // 2, mu, mu_radius, NOISE_WEIGHT)
                excess = min(excess, MAX_EXCESS * mean.n)
                paid = (spender, mu_radius, mean.public, noise)
                radius = private_radius(norms, excess, "clipping norm", *paid)
            clipping = Clipping(radius, 0.0, norms)
        budget = spender.portion(mu)
        gram = release_gram(mean.records, mean.centre, clipping, budget, mean.public, noise)
        return gram.matrix / mean.n, gram.query.noise_sd / mean.n


class ResidualGauss(AdaptivePCA):
    """Private PCA by a noisy covariance matrix that is refined where its components are.

    Part of the budget buys `DPGauss`'s matrix; the rest corrects its products with its own top
    eigenvectors, with noise that follows how far the records are from what the matrix predicts.
    For records that agree with each other up to a small deviation. On ordinary rows it beats
    `DPGauss` where noise in other directions dominates them, and not where the components do.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as features.
    learning_rate : float or "auto", default="auto"
        Damps the refinements: the t-th takes ``min(1, learning_rate / t)`` of its correction.
        "auto" weights it by its own noise alone.
    n_iter : int, default=4
        Refinements.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_` and what depends on it; 0 leaves them out.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` runs the same computation without noise; it is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`. A group is
        one matrix ``A_i = X_i^T X_i``.
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the Frobenius norm of a group's Gram matrix. Enforced by clipping. No radius is searched
        then, and the noise no longer follows the spread of the records.
    center : bool, default=True
        Subtract a rough private mean. False: components of the second moments about `mean` or 0.
    mean : array-like of shape (n_features,) or None, default=None
        A public mean; it costs nothing.
    scale : array-like of shape (n_features,), "private" or None, default=None
        Public scales, by which the features are divided; or private ones, for 20 % of the budget
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
        The rough private mean.
    scale_ : ndarray of shape (n_features,)
        The private scales, with ``scale="private"``.
    explained_variance_ : ndarray of shape (n_components,)
        Eigenvalues of a private matrix of the records' scores: one more release of k x k numbers.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Over a private total.
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
        What was released, at what cost.

    See Also
    --------
    KDPPCA : Without a d x d matrix.
    DPGauss : Better on rows that the components dominate; it releases the whole spectrum.

    Notes
    -----
    A refinement releases the mean of ``A_i W`` around ``C = S W``, S the matrix so far and W its
    top eigenvectors, clipped to a private radius; S is then changed to agree with it, weighted by
    inverse variance. If the start does not see k components above its noise, the iteration of
    `KDPPCA`, from the best directions there are, takes the place of the refinements.

    References
    ----------
    New here; the start is C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss. STOC 2014; the
    adaptive noise is that of J. Düngler, A. Sanyal. An iterative algorithm for differentially
    private k-PCA with adaptive noise. 2025.

    Examples
    --------
    >>> from skdppca import ResidualGauss
    >>> from skdppca.datasets import make_spiked
    >>> X, groups, components, _ = make_spiked(2000, 20, 2, (10, 5), 0.1, random_state=0)
    >>> pca = ResidualGauss(n_components=2, unit="matrix", center=False).fit(X, groups=groups)
    >>> bool(abs(components[0] @ pca.components_[0]) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaptivePCA._parameter_constraints,
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_iter": [Interval(Integral, 1, MAX_ITER, closed="both")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        learning_rate: float | str = "auto",
        n_iter: int = 4,
        variance_share: float = 0.05,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: str = "add-remove",
        unit: str = "row",
        norm_bound: float | None = None,
        center: bool = True,
        mean: Any = None,
        scale: Any = None,
        whiten: bool = False,
        accountant: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            variance_share=variance_share,
            epsilon=epsilon,
            delta=delta,
            adjacency=adjacency,
            unit=unit,
            norm_bound=norm_bound,
            center=center,
            mean=mean,
            scale=scale,
            whiten=whiten,
            accountant=accountant,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.learning_rate = learning_rate
        self.n_iter = n_iter

    def _mechanism(self, public: Public) -> ResidualGaussMechanism:
        rate = math.inf if self.learning_rate == "auto" else float(self.learning_rate)
        return ResidualGaussMechanism(**self._shared(public), n_iter=self.n_iter, rate=rate)
