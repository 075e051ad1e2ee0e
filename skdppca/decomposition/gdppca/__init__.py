"""GDPPCA: eigenvectors of a noisy multivariate Kendall matrix."""

from .estimator import GDPPCA

__all__ = ["GDPPCA"]
