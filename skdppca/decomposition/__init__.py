"""Estimators: a method is a room, and `methods` the table of them."""

import sys

from . import iterative, methods
from .base import BasePrivatePCA
from .iterative import Deflation, OjasOracle, Oracle, PowerOracle
from .merged import MergedPCA
from .methods import *  # noqa: F403
from .private_pca import PrivatePCA

__all__ = [
    "BasePrivatePCA",
    "Deflation",
    "MergedPCA",
    "OjasOracle",
    "Oracle",
    "PowerOracle",
    "PrivatePCA",
]
__all__ += methods.__all__

# Where fits were pickled before these modules moved.
for _name, _module in {
    "deflation": iterative.deflation,
    "kdpojas": iterative.kdpojas,
    "kdpojas.estimator": iterative.kdpojas,
    "kdppca": iterative.kdppca,
    "kdppca.estimator": iterative.kdppca,
    "oracles": iterative.oracles,
}.items():
    sys.modules[f"{__name__}.{_name}"] = _module
