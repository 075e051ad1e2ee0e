"""A private classifier: the class whose private mean is the nearest."""

from ._nearest_centroid import PrivateNearestCentroid, nearest_class

__all__ = ["PrivateNearestCentroid", "nearest_class"]
