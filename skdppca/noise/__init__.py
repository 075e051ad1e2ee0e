"""Randomness for private releases: where the words come from, and exact samplers over them."""

from .discrete import MAX_SD, rounded_gaussian, uniform_labels
from .source import NoiseSource

__all__ = ["MAX_SD", "NoiseSource", "rounded_gaussian", "uniform_labels"]
