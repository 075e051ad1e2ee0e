"""The algorithms of Düngler & Sanyal (2025) and their peers as printed: **NOT PRIVATE**.

For comparison only. Each module's docstring says why its method is not private. The package
`skdppca` imports nothing from here. Every method is called as ``method(factors, k, model, rng)``
with records ``A_i = F_i^T F_i`` given by their factors ``F_i``, an array of shape (n, m, d), and
returns k orthonormal rows of length d.
"""

from ._records import Model
from .dp_gauss import dp_gauss_1, dp_gauss_2, mod_sulq
from .dp_power_method import dp_power_method, power_method
from .k_dp_ojas import k_dp_ojas, oja
from .k_dp_pca import k_dp_pca

__all__ = ["METHODS", "WITHOUT_PRIVACY", "Model"]

METHODS = {
    "k-DP-PCA": k_dp_pca,
    "k-DP-Ojas": k_dp_ojas,
    "DP-Gauss-1": dp_gauss_1,
    "DP-Gauss-2": dp_gauss_2,
    "DP-Power-Method": dp_power_method,
    "MOD-SuLQ": mod_sulq,
}

# Between PCA, which sees the whole sum of the records, and a private method: what its route costs.
WITHOUT_PRIVACY = {"Oja": oja, "power iterations": power_method}
