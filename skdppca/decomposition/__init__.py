"""Estimators: one method a file."""

from ._base import BasePrivatePCA
from ._dp_gauss import DPGauss

__all__ = ["BasePrivatePCA", "DPGauss"]
