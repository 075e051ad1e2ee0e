"""What others print and compare with: **NOT PRIVATE**.

- Kim & Jung (2025), Appendix C: `analyze_gauss_max`, `g_dppca`, `nsggd`, `sgpca`. Each module's
  docstring says why it is not private. Where a paper's claim is wrong, ``attack`` shows it: it
  returns a lower bound on the epsilon of a release that claims another.
- Dong, Liang & Yi (2022): `separate_cov`, `adaptive_cov`. Biswas, Dong, Kamath & Ullman (2020):
  `coinpress`. Private on paper; here the caller tells them the mean and a radius of the data.

Every method is called as ``method(X, k, epsilon, delta, rng, ...)`` and returns k orthonormal rows.
The package `skdppca` imports nothing from here.
"""

from .analyze_gauss_max import analyze_gauss_max
from .coinpress import coinpress
from .dong_liang_yi import adaptive_cov, separate_cov
from .g_dppca import g_dppca
from .nsggd import nsggd, nsggd_chains
from .sgpca import sgpca

__all__ = [
    "adaptive_cov",
    "analyze_gauss_max",
    "coinpress",
    "g_dppca",
    "nsggd",
    "nsggd_chains",
    "separate_cov",
    "sgpca",
]
