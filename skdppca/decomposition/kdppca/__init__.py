"""KDPPCA: private power iterations, all directions at once or one after the other."""

from .deflation import Deflation
from .estimator import KDPPCA
from .oracles import Oracle, PowerOracle

__all__ = ["KDPPCA", "Deflation", "Oracle", "PowerOracle"]
