"""Ways to the top eigenvectors of ``A = sum_u r_u r_u^T / max(deg u, m)``, all with p = 32, L = 3.

Each takes the matrix, the floor m, epsilon and a seed, and returns 32 orthonormal rows.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for _steps

import numpy as np
from _papers import BalcanPowerMethod, NicolasPowerMethod
from _steps import power_iterations
from scipy import sparse

from skdppca import DPPowerMethod
from skdppca.exceptions import SeededNoiseWarning
from skdppca.privacy import mu_of
from skdppca.statistics.products import coherence

P, L, DELTA = 32, 3, 1e-6

Method = Callable[[sparse.csr_array, int, float, int], np.ndarray]


def ours(
    X: sparse.csr_array,
    floor: int,
    epsilon: float,
    seed: int,
    estimator: type[DPPowerMethod] = DPPowerMethod,
    **parameters,
) -> np.ndarray:
    """`DPPowerMethod`, interaction-level; all of the budget for the passes."""
    told = {"protect": "interaction", "center": False, "variance_share": 0, "n_iter": L}
    told |= {"oversampling": 0, "degree_floor": floor, "delta": DELTA} | parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        return estimator(P, epsilon=epsilon, random_state=seed, **told).fit(X).components_


def printed(X: sparse.csr_array, floor: int, epsilon: float, seed: int) -> np.ndarray:
    """Algorithm 1 of Nicolas et al., noise ``sqrt2 rho sqrt(4 L ln(1/delta)) / epsilon``.

    That of Theorem 3.2. Its proof stops at epsilon = 2.34 ln(1/delta) = 32; the noise suffices up
    to 3.0 ln(1/delta) = 41.
    """
    multiplier = printed_multiplier(epsilon)
    return _power(X, floor, seed, lambda W: math.sqrt(2) * coherence(W) * multiplier)


def printed_multiplier(epsilon: float) -> float:
    """Noise over sensitivity in Theorem 3.2."""
    return math.sqrt(4 * L * math.log(1 / DELTA)) / epsilon


def local(X: sparse.csr_array, floor: int, epsilon: float, seed: int) -> np.ndarray:
    """As FedPower (Guo et al. 2024): every user adds noise, of a sensitivity fixed before.

    Their worst case ``sqrt(p) max |Q_ij| <= sqrt p``, and our exact noise. No secure sum, so the
    noise of all users adds up.
    """
    sd = math.sqrt(2 * P) * math.sqrt(L) / mu_of(epsilon, DELTA) * math.sqrt(X.shape[0])
    return _power(X, floor, seed, lambda W: sd)


def _power(
    X: sparse.csr_array, floor: int, seed: int, noise_sd: Callable[[np.ndarray], float]
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = weighted(X, floor)
    return power_iterations(
        lambda Q: rows.T @ (rows @ Q), X.shape[1], P, L, rng, lambda Q: noise_sd(Q.T)
    )


def weighted(X: sparse.csr_array, floor: int) -> sparse.csr_array:
    """Rows over the root of ``max(deg, floor)``."""
    degrees = np.maximum(np.diff(X.indptr), floor)
    return sparse.csr_array(sparse.diags_array(1 / np.sqrt(degrees)) @ X)


def without_noise(X: sparse.csr_array, floor: int, epsilon: float, seed: int) -> np.ndarray:
    """The floor: three passes, 32 directions, nothing private."""
    return _power(X, floor, seed, lambda W: 0.0)


METHODS: dict[str, Method] = {
    "DPPowerMethod": ours,
    "DPPowerMethod, p = 64": partial(ours, oversampling=P),
    "exact noise, sqrt2 rho": partial(ours, estimator=NicolasPowerMethod),
    "printed noise, sqrt2 rho": printed,
    "exact noise, sqrt(2p) max|Q|": partial(ours, estimator=BalcanPowerMethod),
    "local noise (as FedPower)": local,
    "no noise": without_noise,
}
