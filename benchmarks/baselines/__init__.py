"""What Kim & Jung (2025) compare with, as printed in their Appendix C: **NOT PRIVATE**.

Each module's docstring says why, and its ``attack`` shows it: it returns a lower bound on the
epsilon of a release that claims another. Every method is called as
``method(X, k, epsilon, delta, rng, ...)`` and returns k orthonormal rows. The package `skdppca`
imports nothing from here.
"""

from .analyze_gauss_max import analyze_gauss_max
from .g_dppca import g_dppca
from .nsggd import nsggd, nsggd_chains
from .sgpca import sgpca

__all__ = ["analyze_gauss_max", "g_dppca", "nsggd", "nsggd_chains", "sgpca"]
