"""The algorithms of Düngler & Sanyal (2025) and their peers as printed: **NOT PRIVATE**.

For comparison only. Each module's docstring says why its method is not private. The package
`skdppca` imports nothing from here. Every method is called as
``method(factors, k, epsilon, delta, model, rng)`` with records ``A_i = F_i^T F_i`` given by their
factors ``F_i``, an array of shape (n, m, d), and returns k orthonormal rows of length d.
"""

from ._records import Model
from .dp_gauss_1 import dp_gauss_1
from .dp_gauss_2 import dp_gauss_2
from .dp_power_method import dp_power_method
from .k_dp_ojas import k_dp_ojas
from .k_dp_pca import k_dp_pca
from .mod_sulq import mod_sulq
from .without_privacy import oja, power_method

__all__ = ["METHODS", "WITHOUT_PRIVACY", "Model"]

METHODS = {
    "k-DP-PCA": k_dp_pca,
    "k-DP-Ojas": k_dp_ojas,
    "DP-Gauss-1": dp_gauss_1,
    "DP-Gauss-2": dp_gauss_2,
    "DP-Power-Method": dp_power_method,
    "MOD-SuLQ": mod_sulq,
}

WITHOUT_PRIVACY = {"Oja": oja, "power iterations": power_method}
