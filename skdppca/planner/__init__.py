"""What a private PCA may be expected to find, before anything is spent; no data are read."""

from ._expectations import Expectation, Plan
from ._plan import plan

__all__ = ["Expectation", "Plan", "plan"]
