"""SmoothSensitivityPCA: exact components, with noise that follows the gap below them."""

from .estimator import SmoothSensitivityPCA

__all__ = ["SmoothSensitivityPCA"]
