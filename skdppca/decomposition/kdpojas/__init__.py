"""KDPOjas: Oja's iteration over clipped private gradients."""

from .estimator import KDPOjas

__all__ = ["KDPOjas"]
