"""Pictures of what was released, and of what a fit would find.

All are drawn from private outputs, or from public numbers only.
"""

from ._fitted import components_image, scree
from ._map import projection_map
from ._plan import plan

__all__ = ["components_image", "plan", "projection_map", "scree"]
