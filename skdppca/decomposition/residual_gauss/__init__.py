"""ResidualGauss: a noisy covariance matrix, refined where its components are."""

from .estimator import ResidualGauss

__all__ = ["ResidualGauss"]
