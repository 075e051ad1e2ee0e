"""Differentially private PCA that behaves like `sklearn.decomposition.PCA`."""

from ._config import config_context, get_config, set_config
from .decomposition import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    PrivatePCA,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from .privacy import PrivacyAccountant, PrivacyLedger

__all__ = [
    "GDPPCA",
    "KDPPCA",
    "DPGauss",
    "DPPowerMethod",
    "KDPOjas",
    "PrivacyAccountant",
    "PrivacyLedger",
    "PrivatePCA",
    "ResidualGauss",
    "SmoothSensitivityPCA",
    "config_context",
    "get_config",
    "set_config",
]
__version__ = "0.1.0.dev0"
