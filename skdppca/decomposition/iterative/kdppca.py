"""The estimator of k-DP-PCA."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

from ..._sklearn import Interval, StrOptions
from ...mechanisms.base import Mechanism
from ...privacy import PrivacyEvent
from ...private_data import Public
from ..base import LEAST_SHARE
from ..parameters import estimator, parameter
from .deflation import DeflatedOracle
from .oracles import BlockIteration, Oracle, PowerOracle, columns, rehearse_oracle
from .subspace import MAX_ITER, SubspaceMechanism, SubspacePCA


@estimator
class KDPPCA(SubspacePCA):
    """Private PCA by power iterations whose noise follows the spread of the records.

    k-DP-PCA of Düngler & Sanyal, and for one component DP-PCA of Liu et al., made private and
    sharper. For records that agree with each other up to a small deviation: groups of rows with a
    common signal. It never forms a d x d matrix. On other rows it is ahead of `DPGauss` where noise
    in many other directions dominates the components, and mostly behind where the components do.

    Parameters
    ----------
    strategy : {"block", "deflation"}, default="block"
        All directions at once, or one after the other as the paper has it.
    sampling : {"reuse", "split"}, default="reuse"
        - "reuse": every step sees all records, and the costs add up.
        - "split": every step sees its own random part of the records at the full cost, as the paper
          has it.
    learning_rate : float or "auto", default="auto"
        Oja's step is ``learning_rate / t`` over the top eigenvalue; "auto" is the limit of large
        rates, the power iteration.
    n_iter : int, default=7
        Steps (of each direction, if they are found one after the other).
    range_share : float, default=0.2
        Share of the budget, or of the records if they are split, for the clipping radii; at least
        1e-4, and at most 1 - 1e-4.
    oracle : Oracle or None, default=None
        With ``strategy="deflation"``: what finds one direction. None for `PowerOracle` with the
        parameters above; another one, as `OjasOracle` or your own, has its own. Before the charge,
        a copy of it is tried on made-up rows, and must return a direction and a value.

    See Also
    --------
    ResidualGauss : Starts from a noisy covariance matrix, where that fits.
    KDPOjas : The same without prediction.

    Notes
    -----
    A record is a matrix ``A_i``: ``X_i^T X_i`` of a group's rows, ``x x^T`` of a row. Every step
    asks for the mean of ``A_i W`` around a prediction C from the step before: residuals are clipped
    to a private radius R, and the Gaussian noise is that of a ball of radius R (sensitivity R under
    add-remove, 2R under replace-one). All queries are Gaussian, so their costs compose exactly.

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

    strategy: Literal["block", "deflation"] = parameter(
        StrOptions({"block", "deflation"}), default="block"
    )
    sampling: Literal["reuse", "split"] = parameter(StrOptions({"reuse", "split"}), default="reuse")
    learning_rate: float | Literal["auto"] = parameter(
        Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), default="auto"
    )
    n_iter: int = parameter(Interval(Integral, 1, MAX_ITER, closed="both"), default=7)
    range_share: float = parameter(
        Interval(Real, LEAST_SHARE, 1 - LEAST_SHARE, closed="both"), default=0.2
    )
    oracle: Oracle | None = parameter(callable, None, default=None)

    def _prepared(self, public: Public, event: PrivacyEvent) -> Mechanism:
        mechanism = super()._prepared(public, event)
        if self.oracle is not None:
            rehearse_oracle(self.oracle, public.n_features)
        return mechanism

    def _mechanism(self, public: Public) -> SubspaceMechanism:
        if self.oracle is not None and self.strategy == "block":
            raise ValueError(
                "oracle finds one direction at a time, but strategy='block'; set "
                "strategy='deflation'"
            )
        power = PowerOracle(
            n_iter=self.n_iter,
            learning_rate=self.learning_rate,
            sampling=self.sampling,
            range_share=self.range_share,
        )
        if self.strategy == "block":
            return BlockIteration(**self._shared(), oracle=power)
        oracle = power if self.oracle is None else self.oracle
        return DeflatedOracle(**self._shared(), oracle=oracle, sampling=self.sampling)

    def _width(self, n_features: int) -> int:
        return columns(self.strategy, super()._width(n_features), n_features)
