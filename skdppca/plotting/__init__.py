"""Pictures of what a fit released, and of what one would.

All are drawn from private attributes, or from public numbers alone.
"""

from ._plan import plan
from ._release import components_image, scree

__all__ = ["components_image", "plan", "scree"]
