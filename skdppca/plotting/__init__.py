"""Pictures of what was released, drawn from private outputs alone."""

from ._fitted import components_image, scree
from ._map import projection_map

__all__ = ["components_image", "projection_map", "scree"]
