"""The estimators that the common tests run on: a new one adds a line."""

import pytest

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    PrivatePCA,
    ResidualGauss,
    SmoothSensitivityPCA,
)

ESTIMATORS = [
    ("DPGauss", DPGauss),
    ("KDPPCA", KDPPCA),
    ("KDPOjas", KDPOjas),
    ("ResidualGauss", ResidualGauss),
    ("GDPPCA", GDPPCA),
    ("DPPowerMethod", DPPowerMethod),
    ("PrivatePCA", PrivatePCA),
    ("SmoothSensitivityPCA", SmoothSensitivityPCA),
]

on_all_estimators = pytest.mark.parametrize(
    "factory", [pytest.param(factory, id=name) for name, factory in ESTIMATORS]
)


def has(factory, parameters):
    """Whether the estimator has parameters of these names."""
    return set(parameters) <= set(factory().get_params())


def takes(factory, parameters):
    """Whether the estimator has these parameters and they may have these values."""
    if not has(factory, parameters):
        return False
    try:
        factory(**parameters)._validate_params()
    except ValueError:
        return False
    return True


def on_estimators(ways, of=takes, **more):
    """Parametrise by every estimator and the parameters that it takes, out of all `ways`.

    A dict in `more` adds an argument: its values, in the order of the ways.
    """
    cases = []
    for parameters, *others in zip(ways, *more.values(), strict=True):
        able = [(name, factory) for name, factory in ESTIMATORS if of(factory, parameters)]
        assert able, f"no estimator takes {parameters}"
        text = ", ".join(f"{key}={value}" for key, value in parameters.items()) or "default"
        cases += [pytest.param(f, parameters, *others, id=f"{name}-{text}") for name, f in able]
    return pytest.mark.parametrize(["factory", "parameters", *more], cases)
