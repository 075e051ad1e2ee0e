"""Randomness for private releases: where the words come from, and exact samplers over them."""

from .discrete import MAX_SD, rounded_gaussian, uniform_labels
from .gaussian import GaussianQuery
from .laplace import LaplaceQuery
from .source import NoiseSource

__all__ = [
    "MAX_SD",
    "GaussianQuery",
    "LaplaceQuery",
    "NoiseSource",
    "rounded_gaussian",
    "uniform_labels",
]
