"""DPGauss: the covariance matrix with Gaussian noise, and its eigenvectors."""

from .estimator import DPGauss

__all__ = ["DPGauss"]
