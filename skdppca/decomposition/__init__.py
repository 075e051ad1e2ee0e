"""Estimators: a method is a room, and `methods` the table of them."""

from .base import BasePrivatePCA
from .deflation import Deflation
from .dp_gauss import DPGauss
from .dp_power import DPPowerMethod
from .gdppca import GDPPCA
from .kdpojas import KDPOjas
from .kdppca import KDPPCA
from .methods import METHODS, Method
from .oracles import OjasOracle, Oracle, PowerOracle
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
