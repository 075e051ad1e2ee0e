"""A private classifier: the class whose private mean is the nearest."""

from ._class_means import nearest_class
from ._nearest_centroid import PrivateNearestCentroid

__all__ = ["PrivateNearestCentroid", "nearest_class"]
