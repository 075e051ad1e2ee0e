"""What a private PCA may be expected to find, before anything is spent; no data are read."""

from ._plan import Expectation, Plan, plan

__all__ = ["Expectation", "Plan", "plan"]
