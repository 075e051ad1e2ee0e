"""Estimators: one method a file."""

from ._base import BasePrivatePCA
from ._deflation import Deflation
from ._dp_gauss import DPGauss
from ._dp_power import DPPowerMethod
from ._gdppca import GDPPCA
from ._kdpojas import KDPOjas
from ._kdppca import KDPPCA
from ._oracles import Oracle, PowerOracle
from ._private_pca import PrivatePCA
from ._residual_gauss import ResidualGauss
from ._smooth_sensitivity import SmoothSensitivityPCA

__all__ = [
    "GDPPCA",
    "KDPPCA",
    "BasePrivatePCA",
    "DPGauss",
    "DPPowerMethod",
    "Deflation",
    "KDPOjas",
    "Oracle",
    "PowerOracle",
    "PrivatePCA",
    "ResidualGauss",
    "SmoothSensitivityPCA",
]
