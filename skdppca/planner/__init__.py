"""Planner: the variance that a private PCA can be expected to capture; no data are read."""

from .answers import Expectation
from .plan import Plan, plan

__all__ = ["Expectation", "Plan", "plan"]
