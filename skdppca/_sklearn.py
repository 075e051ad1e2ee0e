"""The only door to scikit-learn's private names."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from sklearn.decomposition._pca import _assess_dimension
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import InvalidParameterError as InvalidParameterError
from sklearn.utils._param_validation import RealNotInt as RealNotInt
from sklearn.utils._param_validation import StrOptions as _StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as validate_parameter_constraints,
)
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _check_feature_names, _check_n_features

# Under public names, for the rest of the package.
assess_dimension = _assess_dimension
check_feature_names = _check_feature_names
check_n_features = _check_n_features

# Types of a parameter that is a number.
NUMBERS = (int, float, np.integer, np.floating)


class Interval(_Interval):
    """Numbers between two bounds, as far as a float64 holds them, and no truth values.

    scikit-learn takes True for 1. A number that becomes 0 or infinite as a float64 would pass its
    check and fail, or mean something else, where it is used.
    """

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether the value is a number of this interval."""
        is_number = isinstance(val, NUMBERS) and not isinstance(val, bool)
        if not is_number or not super().is_satisfied_by(val):
            return False
        return self.type is Integral or self._has_float(val)

    def _has_float(self, val: Any) -> bool:
        try:
            held = float(val)
        except OverflowError:  # an int
            return False
        return held in self and (held == val or 0 < abs(held) < math.inf)


class StrOptions(_StrOptions):
    """Words, which an error lists in one order; scikit-learn's changes from process to process."""

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


def output_container(estimator: Any) -> str:
    """Return what `transform` is to return its scores in: "default" or the name of a package."""
    return str(_get_output_config("transform", estimator)["dense"])


Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator for a method that not all have, which keeps its type."""
    decorate: Callable[[Method], Method] = _available_if(check)
    return decorate
