"""KDPPCA: private power iterations whose noise follows the spread of the records."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn import Interval, StrOptions
from ..mechanisms.base import Public, Spender
from ..mechanisms.block_mean import BlockMean
from ..noise import NoiseSource
from ._adaptive import MAX_ITER, AdaptiveMechanism, AdaptivePCA
from ._deflation import Deflation
from ._oracles import Oracle, PowerOracle

__all__ = ["KDPPCA", "KDPPCAMechanism"]


@dataclass(frozen=True)
class KDPPCAMechanism(AdaptiveMechanism):
    """k-DP-PCA (Düngler & Sanyal, Algorithms 1 and 2), corrected as METHODS 6 says.

    Private range and private mean are a clipping radius around a predicted gradient, and one
    Gaussian query in the ball: no histograms, whose argmax is not private without a threshold.
    """

    strategy: str
    sampling: str
    oracle: Oracle

    def directions(
        self, mean: BlockMean, k: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.strategy == "block":
            return self.oracle.block(mean, k, spender, noise)
        return Deflation(self.oracle, k, self.sampling)(mean, spender, noise)


class KDPPCA(AdaptivePCA):
    """Private PCA by power iterations whose noise follows the spread of the records.

    k-DP-PCA of Düngler & Sanyal, and for one component DP-PCA of Liu et al., made private and
    sharper. For records that agree with each other up to a small deviation: groups of rows with a
    common signal. It never forms a d x d matrix. On ordinary rows it beats `DPGauss` only where
    noise in many other directions dominates them; where the components do, `DPGauss` is better.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as features.
    strategy : {"block", "deflation"}, default="block"
        All directions at once, or one after the other as the paper has it.
    sampling : {"reuse", "split"}, default="reuse"
        Every step sees all records, and the costs add up; or every step sees its own random part
        of the records at the full cost, as the paper has it.
    learning_rate : float or "auto", default="auto"
        Oja's step is ``learning_rate / t`` over the top eigenvalue; "auto" is the limit of large
        rates, the power iteration.
    n_iter : int, default=7
        Steps (of each direction, if they are found one after the other).
    range_share : float, default=0.2
        Share of the budget, or of the records if they are split, for the clipping radii.
    oracle : Oracle or None, default=None
        With ``strategy="deflation"``: what finds one direction. None for `PowerOracle` with the
        parameters above; an oracle of your own has its own.
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
    ResidualGauss : Starts from a noisy covariance matrix; better where that fits.
    KDPOjas : The same without prediction.

    Notes
    -----
    Every step asks for the mean of ``A_i W`` around a prediction C from the step before: residuals
    are clipped to a private radius R, and the Gaussian noise is that of a ball of radius R
    (sensitivity R under add-remove, 2R under replace-one). All queries are Gaussian, so their costs
    compose exactly.

    References
    ----------
    J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with adaptive
    noise. 2025, Algorithms 1, 2.

    X. Liu, W. Kong, P. Jain, S. Oh. DP-PCA: statistically optimal and differentially private PCA.
    NeurIPS 2022, Algorithm 3.

    Examples
    --------
    >>> from skdppca import KDPPCA
    >>> from skdppca.datasets import make_spiked
    >>> X, groups, components, _ = make_spiked(2000, 20, 2, (10, 5), 0.1, random_state=0)
    >>> pca = KDPPCA(n_components=2, unit="matrix", center=False).fit(X, groups=groups)
    >>> bool(abs(components[0] @ pca.components_[0]) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaptivePCA._parameter_constraints,
        "strategy": [StrOptions({"block", "deflation"})],
        "sampling": [StrOptions({"reuse", "split"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_iter": [Interval(Integral, 1, MAX_ITER, closed="both")],
        "range_share": [Interval(Real, 0, 1, closed="neither")],
        "oracle": [callable, None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        strategy: str = "block",
        sampling: str = "reuse",
        learning_rate: float | str = "auto",
        n_iter: int = 7,
        range_share: float = 0.2,
        oracle: Oracle | None = None,
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
        self.strategy = strategy
        self.sampling = sampling
        self.learning_rate = learning_rate
        self.n_iter = n_iter
        self.range_share = range_share
        self.oracle = oracle

    def _mechanism(self, public: Public) -> KDPPCAMechanism:
        if self.oracle is not None and self.strategy == "block":
            raise ValueError(
                "oracle finds one direction at a time, but strategy='block'; set "
                "strategy='deflation'"
            )
        oracle = self.oracle or PowerOracle(
            n_iter=self.n_iter,
            learning_rate=self.learning_rate,
            sampling=self.sampling,
            range_share=self.range_share,
        )
        return KDPPCAMechanism(
            **self._shared(public), strategy=self.strategy, sampling=self.sampling, oracle=oracle
        )
