"""The only door to scikit-learn's private names."""

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context
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

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator for `fit`, typed so that `fit` keeps its signature."""
    decorate: Callable[[Method], Method] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate
