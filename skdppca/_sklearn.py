"""The only door to scikit-learn's private names."""

from sklearn.base import _fit_context as fit_context
from sklearn.decomposition._pca import _infer_dimension as infer_dimension
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

__all__ = ["Interval", "RealNotInt", "StrOptions", "fit_context", "infer_dimension"]
