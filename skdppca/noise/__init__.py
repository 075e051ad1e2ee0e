"""Randomness for private releases: where the words come from, and exact samplers over them."""

from .discrete import MAX_SD, rounded_gaussian, uniform_labels
from .gaussian import GaussianQuery
from .keyed import KEY_WORDS, keyed_labels
from .laplace import LaplaceQuery
from .source import NoiseSource

__all__ = [
    "KEY_WORDS",
    "MAX_SD",
    "GaussianQuery",
    "LaplaceQuery",
    "NoiseSource",
    "keyed_labels",
    "rounded_gaussian",
    "uniform_labels",
]
