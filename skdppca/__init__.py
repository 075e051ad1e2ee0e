"""Differentially private PCA that behaves like `sklearn.decomposition.PCA`."""

from .decomposition import KDPPCA, DPGauss, KDPOjas, ResidualGauss
from .privacy import PrivacyAccountant, PrivacyLedger

__all__ = [
    "KDPPCA",
    "DPGauss",
    "KDPOjas",
    "PrivacyAccountant",
    "PrivacyLedger",
    "ResidualGauss",
]
__version__ = "0.1.0.dev0"
