"""The estimator of k-DP-Ojas."""

from __future__ import annotations

from numbers import Integral, Real

from ..._sklearn import Interval, StrOptions
from ...private_data import Public
from ..parameters import estimator, parameter
from ..subspace import MAX_ITER, SubspacePCA
from .mechanism import RATE, KDPOjasMechanism, width

__all__ = ["KDPOjas"]


@estimator
class KDPOjas(SubspacePCA):
    """Private PCA by Oja's iteration over clipped gradients.

    k-DP-Ojas of Düngler & Sanyal with a guarantee that holds. The simplest of the iterative
    methods: nothing is predicted, so its noise follows the length of the records.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        The step is ``learning_rate / t`` over the top eigenvalue of the step's mean; "auto" is 8.
    n_iter : int, default=12
        Passes over all records, each at 1.2 times the cost of the one before.

    See Also
    --------
    KDPPCA : The same with predicted gradients; better when records agree.
    DPGauss : Better on ordinary rows, unless noise in many other directions dominates them.

    Notes
    -----
    A record is a matrix ``A_i``: ``X_i^T X_i`` of a group's rows, ``x x^T`` of a row. The first 5
    passes search a clipping radius privately; the others keep the last one.

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

    learning_rate: float | str = parameter(
        Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), default="auto"
    )
    n_iter: int = parameter(Interval(Integral, 1, MAX_ITER, closed="both"), default=12)

    def _mechanism(self, public: Public) -> KDPOjasMechanism:
        rate = RATE if self.learning_rate == "auto" else float(self.learning_rate)
        return KDPOjasMechanism(**self._shared(), n_iter=self.n_iter, rate=rate)

    def _width(self, n_features: int) -> int:
        return width(super()._width(n_features), n_features)
