"""Differentially private PCA that behaves like `sklearn.decomposition.PCA`."""

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
]
__version__ = "0.1.0.dev0"
