"""Searches: folds that no record can move, prices beforehand, and one private winner."""

from ._folds import RecordKFold
from ._price import Price, price
from ._private_search import PrivateSearchCV

__all__ = ["Price", "PrivateSearchCV", "RecordKFold", "price"]
