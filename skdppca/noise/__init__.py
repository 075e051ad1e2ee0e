"""Randomness for private releases: where the words come from, and exact samplers over them."""

from .discrete import MAX_SD, SAMPLER, discrete_gaussian, rounded_gaussian, uniform_labels
from .gaussian import GaussianQuery, LaplaceQuery
from .shared import SharedQuery
from .source import KEY_WORDS, KeyedWords, NoiseSource, keyed_labels

__all__ = [
    "KEY_WORDS",
    "MAX_SD",
    "SAMPLER",
    "GaussianQuery",
    "KeyedWords",
    "LaplaceQuery",
    "NoiseSource",
    "SharedQuery",
    "discrete_gaussian",
    "keyed_labels",
    "rounded_gaussian",
    "uniform_labels",
]
