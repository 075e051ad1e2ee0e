"""KDPOjas: Oja's iteration over clipped private gradients."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn import Interval, StrOptions
from ..mechanisms.base import Public, Spender
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.steps import orthonormal_start, steps
from ..noise import NoiseSource
from ._adaptive import MAX_ITER, AdaptiveMechanism, AdaptivePCA
from ._oracles import iterate

__all__ = ["KDPOjas", "KDPOjasMechanism"]

# The learning rate that "auto" stands for, and the growth of the budget from step to step; with
# these random starts fail less often than with METHODS 6's 4 and equal budgets.
RATE, RATIO = 8.0, 1.2

# Share of the budget for the clipping radii, and how many first steps search one: later the
# gradients hardly change in length, and a step with a known radius reads the records only once.
RANGE_SHARE, SEARCHES = 0.08, 5


@dataclass(frozen=True)
class KDPOjasMechanism(AdaptiveMechanism):
    """k-DP-Ojas (Düngler & Sanyal, Algorithm 3) with full passes that compose exactly.

    The printed noise rests on amplification by shuffling beyond where it holds; this is the
    Gaussian mechanism on the whole sum, `n_iter` times (METHODS 6).
    """

    n_iter: int
    rate: float

    def directions(
        self, mean: BlockMean, k: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        todo = steps(mean, "reuse", self.n_iter, RATIO, RANGE_SHARE, spender, noise, SEARCHES)
        start = orthonormal_start(k, mean.records.n_features, None, noise)
        return iterate(list(todo), start, self.rate, predicts=False)


class KDPOjas(AdaptivePCA):
    """Private PCA by Oja's iteration over clipped gradients.

    k-DP-Ojas of Düngler & Sanyal with a guarantee that holds. The simplest of the iterative
    methods: nothing is predicted, so its noise follows the length of the records.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as features.
    learning_rate : float or "auto", default="auto"
        The step is ``learning_rate / t`` over the top eigenvalue of the step's mean; "auto" is 8.
    n_iter : int, default=12
        Passes over all records, each at 1.2 times the cost of the one before.
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
    KDPPCA : The same with predicted gradients; better when records agree.
    DPGauss : Better on ordinary rows, unless noise in many other directions dominates them.

    Notes
    -----
    The first 5 passes search a clipping radius privately; the others keep the last one.

    The paper's noise multiplier rests on privacy amplification by shuffling, which holds for tiny
    epsilon only: an attack on the printed algorithm at epsilon 1 sees more than 5. Here every step
    is the Gaussian mechanism on the sum over all records.

    References
    ----------
    J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with adaptive
    noise. 2025, Algorithm 3.

    X. Liu, W. Kong, P. Jain, S. Oh. DP-PCA: statistically optimal and differentially private PCA.
    NeurIPS 2022, Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import KDPOjas
    >>> pca = KDPOjas(n_components=2, epsilon=1.0, delta=1e-6).fit(load_digits().data)
    >>> pca.components_.shape
    (2, 64)
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
        n_iter: int = 12,
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

    def _mechanism(self, public: Public) -> KDPOjasMechanism:
        rate = RATE if self.learning_rate == "auto" else float(self.learning_rate)
        return KDPOjasMechanism(**self._shared(public), n_iter=self.n_iter, rate=rate)
