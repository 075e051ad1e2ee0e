"""Pictures of what was or would be released, from private outputs or public numbers alone."""

from ._fitted import components_image, scree
from ._map import projection_map
from ._plan import plan

__all__ = ["components_image", "plan", "projection_map", "scree"]
