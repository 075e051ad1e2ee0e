"""KDPPCA: private power iterations, all directions at once or one after the other."""

from .estimator import KDPPCA

__all__ = ["KDPPCA"]
