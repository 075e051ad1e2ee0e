"""Estimators: a method is a room, and `methods` the table of them."""

import sys

from . import iterative
from .base import BasePrivatePCA
from .dp_gauss import DPGauss
from .dp_power import DPPowerMethod
from .gdppca import GDPPCA
from .iterative import KDPPCA, Deflation, KDPOjas, OjasOracle, Oracle, PowerOracle
from .methods import METHODS, Method
from .private_pca import PrivatePCA
from .residual_gauss import ResidualGauss
from .smooth_sensitivity import SmoothSensitivityPCA

__all__ = [
    "GDPPCA",
    "KDPPCA",
    "METHODS",
    "BasePrivatePCA",
    "DPGauss",
    "DPPowerMethod",
    "Deflation",
    "KDPOjas",
    "Method",
    "OjasOracle",
    "Oracle",
    "PowerOracle",
    "PrivatePCA",
    "ResidualGauss",
    "SmoothSensitivityPCA",
]

# Where fits were pickled before these modules moved.
for _name, _module in {
    "deflation": iterative.deflation,
    "kdpojas": iterative.kdpojas,
    "kdpojas.estimator": iterative.kdpojas,
    "kdppca": iterative.kdppca,
    "kdppca.estimator": iterative.kdppca,
    "oracles": iterative.oracles,
}.items():
    sys.modules[f"{__name__}.{_name}"] = _module
