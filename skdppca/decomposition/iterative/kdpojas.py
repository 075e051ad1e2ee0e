"""The estimator of k-DP-Ojas."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

from ..._sklearn import Interval, StrOptions
from ...private_data import Public
from ..parameters import estimator, parameter
from .deflation import DeflatedOracle
from .oracles import BlockIteration, OjasOracle, columns
from .subspace import MAX_ITER, SubspaceMechanism, SubspacePCA


@estimator
class KDPOjas(SubspacePCA):
    """Private PCA by Oja's iteration over clipped gradients.

    k-DP-Ojas of Düngler & Sanyal with a guarantee that holds. The simplest of the iterative
    methods: nothing is predicted, so its noise follows the length of the records.

    Parameters
    ----------
    strategy : {"block", "deflation"}, default="block"
        All directions at once, and four more; or one after the other, as the paper has it.
    sampling : {"reuse", "split"}, default="reuse"
        - "reuse": every step sees all records, and the costs add up.
        - "split": every step sees its own random part of the records at the full cost, as the paper
          has it.
    learning_rate : float or "auto", default="auto"
        The step is ``learning_rate / t`` over the top eigenvalue of the step's mean; "auto" is 8.
    n_iter : int, default=12
        Steps (of each direction, if they are found one after the other). If they reuse the records,
        each has 1.2 times the cost of the one before.

    See Also
    --------
    KDPPCA : The same with predicted gradients; better when records agree.
    DPGauss : Mostly better, unless noise in many other directions dominates the components.

    Notes
    -----
    A record is a matrix ``A_i``: ``X_i^T X_i`` of a group's rows, ``x x^T`` of a row. With
    ``strategy="deflation"`` it is `KDPPCA` with `OjasOracle`.

    The paper's noise multiplier rests on privacy amplification by shuffling, which Theorem 10
    claims for tiny epsilon only; at epsilon 1, as in the experiments, an attack on the printed
    algorithm sees more than 5. Here every step is the Gaussian mechanism on the sum over all
    records that it sees.

    References
    ----------
    J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with adaptive
    noise. 2025, Algorithms 1, 3.

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

    strategy: Literal["block", "deflation"] = parameter(
        StrOptions({"block", "deflation"}), default="block"
    )
    sampling: Literal["reuse", "split"] = parameter(StrOptions({"reuse", "split"}), default="reuse")
    learning_rate: float | Literal["auto"] = parameter(
        Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), default="auto"
    )
    n_iter: int = parameter(Interval(Integral, 1, MAX_ITER, closed="both"), default=12)

    def _mechanism(self, public: Public) -> SubspaceMechanism:
        oracle = OjasOracle(self.n_iter, self.learning_rate, self.sampling)
        if self.strategy == "block":
            return BlockIteration(**self._shared(), oracle=oracle)
        return DeflatedOracle(**self._shared(), oracle=oracle, sampling=self.sampling)

    def _width(self, n_features: int) -> int:
        return columns(self.strategy, super()._width(n_features), n_features)
