"""Pictures of the rows that are private themselves."""

from ._map import ProjectionMap, projection_map

__all__ = ["ProjectionMap", "projection_map"]
