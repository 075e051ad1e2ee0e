"""The estimators that the common tests run on: a new one adds a line."""

import pytest

from skdppca import DPGauss

ESTIMATORS = [
    ("DPGauss", DPGauss),
]

on_all_estimators = pytest.mark.parametrize(
    "factory", [pytest.param(factory, id=name) for name, factory in ESTIMATORS]
)
