"""Differentially private PCA that behaves like `sklearn.decomposition.PCA`."""

from .decomposition import DPGauss
from .privacy import PrivacyAccountant, PrivacyLedger

__all__ = ["DPGauss", "PrivacyAccountant", "PrivacyLedger"]
__version__ = "0.1.0.dev0"
