"""The only door to scikit-learn's private names."""

from sklearn.base import _fit_context as fit_context
from sklearn.decomposition._pca import _assess_dimension as assess_dimension
from sklearn.utils._param_validation import (
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = [
    "Interval",
    "RealNotInt",
    "StrOptions",
    "assess_dimension",
    "fit_context",
    "validate_parameter_constraints",
]
