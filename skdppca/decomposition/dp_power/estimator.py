"""The estimator of the noisy power method."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

from ..._sklearn import Interval, StrOptions
from ...private_data import Public
from ...records import MAX_ROWS
from ..iterative.subspace import SubspacePCA
from ..parameters import estimator, parameter
from .mechanism import DPPowerMechanism, width


@estimator
class DPPowerMethod(SubspacePCA):
    """Private PCA by noisy power iterations, for data too wide for a d x d matrix.

    Every pass releases the product of the Gram matrix with a few directions: d x p numbers, in
    memory of that size, sparse rows as they are. Where a d x d matrix fits, `DPGauss` is more
    accurate.

    Parameters
    ----------
    n_iter : int, default=3
        Passes; at most 100.
    oversampling : int or "auto", default="auto"
        Directions beyond the components; "auto" is ``max(10, n_components)``.
    budget_ratio : float, default=2.0
        How many times the cost of one pass the next pass has.
    max_nonzero : int or None, default=None
        Sparse rows only: a public bound on the non-zeros of a row. Enforced by dropping the
        smallest ones of a (scaled) row that has more. Less noise as long as the components are
        spread over many features.
    protect : {"record", "interaction"}, default="record"
        "record": what a row, or a group of rows, adds. "interaction": one non-zero entry of a
        matrix of users and items, **not the user** (and the number of rows is public). Components
        are then those of ``sum_u r_u r_u^T / max(deg u, degree_floor)``, r_u the user's row as
        zeros and ones; set ``center=False``. An accountant must have ``unit="interaction"``.
    degree_floor : int, default=1
        m of that sum, with ``protect="interaction"``: larger, so that users of few items weigh
        less, means less noise.
    clip : {"auto", "norm", "spherical"}, default="auto"
        "auto": in every pass, the products of the records are clipped to a private radius, unless
        `norm_bound` or `max_nonzero` asks for "norm": their norms are clipped, once. "spherical":
        every row is scaled to norm 1.
    scale : array-like of shape (n_features,), "private" or None, default=None
        Public scales, by which the features are divided; or private ones, as by a `StandardScaler`,
        for about 10 % of the budget (up to 40 % if records are few); `norm_bound` is in units of
        them. Not with ``protect="interaction"``.

    Attributes
    ----------
    n_samples_ : float
        The number of records; noisy under add-remove, exact with ``protect="interaction"``.

    See Also
    --------
    DPGauss : Releases a d x d matrix, where that fits; ahead where variances fall by a power law.
    KDPPCA : For records that agree with each other up to a small deviation.

    Notes
    -----
    Given the answers before, a pass is one Gaussian query: the directions W are public by then, and
    one record moves ``W A`` by at most the sensitivity that W has, which the noise of that pass
    follows. All queries are Gaussian, so their costs compose exactly.

    References
    ----------
    M. Hardt, E. Price. The noisy power method: a meta algorithm with applications. NeurIPS 2014,
    Figure 3.

    J. Nicolas, C. Sabater, M. Maouche, M. Coates, S. Ben Mokhtar. Differentially private and
    decentralized randomized power method. 2025, Algorithm 1, Theorem 3.1, Lemma B.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca import DPPowerMethod
    >>> X = np.random.default_rng(0).normal(size=(5000, 30)) * np.r_[5, 4, np.ones(28)]
    >>> pca = DPPowerMethod(n_components=2).fit(X)
    >>> bool(abs(pca.components_[0, 0]) > 0.9)
    True
    """

    n_iter: int = parameter(Interval(Integral, 1, 100, closed="both"), default=3)
    oversampling: int | Literal["auto"] = parameter(
        Interval(Integral, 0, None, closed="left"), StrOptions({"auto"}), default="auto"
    )
    budget_ratio: float = parameter(Interval(Real, 1, 16, closed="both"), default=2.0)
    max_nonzero: int | None = parameter(
        Interval(Integral, 1, None, closed="left"), None, default=None
    )
    protect: Literal["interaction", "record"] = parameter(
        StrOptions({"record", "interaction"}), default="record"
    )
    degree_floor: int = parameter(Interval(Integral, 1, MAX_ROWS, closed="both"), default=1)
    clip: Literal["auto", "norm", "spherical"] = parameter(
        StrOptions({"auto", "norm", "spherical"}), default="auto"
    )

    def _mechanism(self, public: Public) -> DPPowerMechanism:
        self._check_unit(public)
        return DPPowerMechanism(
            **self._shared(),
            n_iter=self.n_iter,
            oversampling=self.oversampling,
            budget_ratio=float(self.budget_ratio),
            clip=self.clip,
            max_nonzero=self.max_nonzero,
            degree_floor=int(self.degree_floor) if self._hides_interactions else None,
        )

    def _check_unit(self, public: Public) -> None:
        """Refuse what has no proof; all of it is public."""
        if public.grouped and self.clip == "spherical":
            raise ValueError(
                f"clip='spherical' scales single rows, but unit={self.unit!r}; use clip='auto'"
            )
        if self.max_nonzero is not None and (public.grouped or not public.is_sparse):
            raise ValueError(
                f"max_nonzero={self.max_nonzero} is for a sparse X without groups; give "
                "scipy.sparse.csr_array(X), or max_nonzero=None"
            )
        if not self._hides_interactions:
            return
        needed = {
            "unit": "row",
            "adjacency": "add-remove",
            "center": False,
            "mean": None,
            "scale": None,
            "missing": "error",
            "norm_bound": None,
            "clip": "auto",
            "max_nonzero": None,
        }
        for name, value in needed.items():
            given = getattr(self, name)
            if given is not None if value is None else given != value:
                raise ValueError(
                    "protect='interaction' is proven for a matrix of zeros and ones as it stands, "
                    f"and one more or less of them; set {name}={value!r}"
                )

    @property
    def _counts_publicly(self) -> bool:
        # of interactions, neighbours have the same rows, one of them an entry more
        return self._hides_interactions or super()._counts_publicly

    def _width(self, n_features: int) -> int:
        return width(self.n_components or n_features, n_features, self.oversampling)

    @property
    def _hides_interactions(self) -> bool:
        return self.protect == "interaction"

    @property
    def _accounted_unit(self) -> str:
        return "interaction" if self._hides_interactions else self.unit
