"""DPPowerMethod: noisy products of the Gram matrix with a few directions, pass by pass."""

from .estimator import DPPowerMethod

__all__ = ["DPPowerMethod"]
