"""DPPowerMethod: noisy products of the Gram matrix with a few directions, pass by pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np

from .._sklearn import Interval, StrOptions
from ..linalg import qr_svd
from ..mechanisms.base import Release
from ..mechanisms.clipping import CLIPPING, Clip, clip_records, expected_products, find_radius
from ..private_data import Answer, PrivateData, Public
from ..records import MAX_ROWS
from ..statistics import Interactions, LargestEntries, NormProduct, ProductSum, ResidualNorms
from .iterative.iteration import (
    Directions,
    geometric,
    left_by,
    orthonormal_start,
    predict,
    radius_mus,
)
from .iterative.subspace import SubspaceMechanism, SubspacePCA
from .parameters import estimator, parameter

# One pass: orthonormal rows W and a budget mu, to the noisy rows of W A (over n), and the sd of the
# noise in an entry.
Product = Callable[[np.ndarray, float], tuple[np.ndarray, float]]


def power_method(product: Product, start: np.ndarray, mus: Iterable[float], k: int) -> Directions:
    """The randomised power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithm 1).

    Parameters
    ----------
    product : callable
        ``product(W, mu)``: the noisy rows of ``W A``, and the sd of the noise in an entry.
    start : ndarray of shape (p, d)
        Orthonormal rows, drawn without data.
    mus : iterable of float
        What each pass costs.
    k : int
        How many directions of the p are kept.

    Returns
    -------
    Directions
        Directions of the last pass.
    """
    # 1. X_0: orthonormal
    W, noise_sd = start, 0.0
    for mu in mus:
        # 2. Y = A X + G
        Y, noise_sd = product(W, mu)
        if not np.isfinite(Y).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        # 3. X, R = qr(Y)
        W, core = predict(Y, W)
    # 4. the left singular vectors of R turn X so that the first k hold most of Y; free
    turn = qr_svd(W @ Y.T)[0].T[:k]
    return Directions(turn @ W, turn @ core @ turn.T, noise_sd**2)


@dataclass(frozen=True)
class PowerConstants:
    """Constants of the passes over the records."""

    # More directions than components, so that the first passes miss none; round.
    least_oversampling: int = 10
    # Share of the passes' mu^2 for the radii that their products are clipped to; a guess.
    range_share: float = 0.08
    # Weight of the noise in the number of clipped products: 32 was better than 8 on power laws, the
    # digits, clusters and sparse rows, and 64 no better.
    noise_weight: float = 32.0


POWER = PowerConstants()


def width(k: int, n_features: int, oversampling: int | Literal["auto"]) -> int:
    """Count the directions that lead to k components; "auto" adds k, and no fewer than 10."""
    more = max(POWER.least_oversampling, k) if isinstance(oversampling, str) else oversampling
    return min(n_features, k + more)


@dataclass(frozen=True)
class DPPowerMechanism(SubspaceMechanism):
    """Private power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithms 1 and 2).

    It differs from the papers in that the clipping norm is private as well, that the noise has the
    exact scale of the Gaussian mechanism, that later passes cost more, and in the sensitivities.

    Parameters
    ----------
    n_iter : int
    oversampling : int or "auto"
    budget_ratio : float
        The square of a pass's mu over that of the pass before.
    clip : {"auto", "norm", "spherical"}
    max_nonzero : int or None
        Rows keep no more of their largest entries.
    degree_floor : int or None
        Neighbours differ in one interaction, and no user is divided by less; None: in one record.
    """

    n_iter: int
    oversampling: int | Literal["auto"]
    budget_ratio: float
    clip: str
    max_nonzero: int | None
    degree_floor: int | None

    # The sums that are asked of records whose norms are clipped.
    norm_product: ClassVar[type[NormProduct]] = NormProduct

    def __call__(self, data: PrivateData) -> Release:
        """Release the directions and, if they are paid for, the variances along them."""
        if self.degree_floor is not None:
            # One interaction more or less exchanges one of the rows, whose norms are at most 1.
            public = replace(data.public, adjacency="replace-one")
            told = replace(data, public=public, norm_bound=1.0)
            return super().__call__(told.through(Interactions(self.degree_floor)))
        if self.max_nonzero is not None:
            data = data.through(LargestEntries(self.max_nonzero))
        return super().__call__(data)

    def directions(self, data: PrivateData, k: int) -> Directions:
        """Spend all of the budget on k directions."""
        d = data.n_features
        p = width(k, d, self.oversampling)
        shares = geometric(self.budget_ratio, self.n_iter)
        # 1. how products are asked for: each is clipped, or the records' norms are, once
        if self.clip == "auto" and self.max_nonzero is None and data.norm_bound is None:
            product, mu = self._of_clipped_products(data)
        else:
            last = data.remaining * math.sqrt(shares[-1])
            clip = clip_records(data, d * p, last, self.clip == "spherical")
            mu = data.remaining
            product = partial(self._of_clipped_norms, data, clip)
        # 2. the passes, with all that is left
        mus = [mu * math.sqrt(share) for share in shares]
        return power_method(product, orthonormal_start(p, d, None, data.noise), mus, k)

    def _of_clipped_products(self, data: PrivateData) -> tuple[Product, float]:
        """Products that are clipped, record by record, and what their radii leave of the budget."""
        mus_radius = radius_mus(data, POWER.range_share, self.n_iter)
        return ClippedProducts(data, list(mus_radius)), left_by(mus_radius, data.remaining)

    def _of_clipped_norms(
        self, data: PrivateData, clip: Clip, W: np.ndarray, mu: float
    ) -> tuple[np.ndarray, float]:
        """``W A / n`` of records whose norms are clipped; the noise follows W."""
        asked = self.norm_product(
            centre=data.centre,
            directions=W,
            radius=clip.radius,
            spherical=clip.spherical,
            grouped=data.public.grouped,
            most=self.max_nonzero,
            floor=self.degree_floor,
        )
        return _over_n(data.ask(asked, mu, "product"), data.n)


@dataclass
class ClippedProducts:
    """``W A / n``; every record's product with W is clipped to a private radius.

    Parameters
    ----------
    data : PrivateData
    mus_radius : list of float
        What the next radii cost.
    last : float, optional
        The last one.
    """

    data: PrivateData
    mus_radius: list[float]
    last: float | None = None

    def __call__(self, W: np.ndarray, mu: float) -> tuple[np.ndarray, float]:
        """Release one more, at `mu` and the cost of its radius."""
        data, W = self.data, np.ascontiguousarray(W)
        products = ResidualNorms(data.centre, None, W, np.zeros_like(W))
        # 1. R: how long the products are
        self.last, _ = find_radius(
            data,
            products,
            W.size,
            mu,
            self.mus_radius.pop(0),
            "radius of the product",
            weight=POWER.noise_weight,
            most=CLIPPING.most_clipped_unscaled,
            expected=expected_products(data, self.last),
        )
        # 2. their clipped sum
        return _over_n(data.ask(ProductSum(products, self.last), mu, "product"), data.n)


def _over_n(answer: Answer, n: float) -> tuple[np.ndarray, float]:
    return answer.value / n, answer.noise_sd / n


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
