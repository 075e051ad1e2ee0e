"""Estimators: a method is a file or a folder, and `methods` the table of them."""

from .base import BasePrivatePCA
from .dp_gauss import DPGauss
from .dp_power import DPPowerMethod
from .gdppca import GDPPCA
from .iterative import KDPPCA, Deflation, KDPOjas, OjasOracle, Oracle, PowerOracle
from .merged import MergedPCA
from .methods import METHODS, NAMES, Method, Word
from .private_pca import PrivatePCA
from .residual_gauss import ResidualGauss
from .smooth_sensitivity import SmoothSensitivityPCA

__all__ = [
    "GDPPCA",
    "KDPPCA",
    "METHODS",
    "NAMES",
    "BasePrivatePCA",
    "DPGauss",
    "DPPowerMethod",
    "Deflation",
    "KDPOjas",
    "MergedPCA",
    "Method",
    "OjasOracle",
    "Oracle",
    "PowerOracle",
    "PrivatePCA",
    "ResidualGauss",
    "SmoothSensitivityPCA",
    "Word",
]
