"""The estimators that the common tests run on: all there are."""

import pytest

from skdppca import PrivatePCA
from skdppca.decomposition import METHODS
from skdppca.decomposition.fitted import VARIANCES

ESTIMATORS = [
    *((name, method.estimator) for name, method in METHODS.items()),
    ("PrivatePCA", PrivatePCA),
]

# Methods that are fitted from files, on a cluster and over sites as well.
SUMS = [name for name, method in METHODS.items() if method.sums_only]

on_all_estimators = pytest.mark.parametrize(
    "factory", [pytest.param(factory, id=name) for name, factory in ESTIMATORS]
)


def but_the_first_slow(cases):
    """The same cases; the quick tests run the first one, for what all estimators share."""
    first, *others = (case if hasattr(case, "marks") else pytest.param(case) for case in cases)
    return [
        first,
        *(pytest.param(*c.values, id=c.id, marks=[*c.marks, pytest.mark.slow]) for c in others),
    ]


on_all_estimators_slowly = pytest.mark.parametrize(
    "factory", but_the_first_slow(on_all_estimators.args[1])
)


def released(pca, names):
    """Those of the attributes that a fit released: variances may be hidden by the noise."""
    hidden = VARIANCES if "no_variances" in pca.privacy_.details else ()
    return [name for name in names if name not in hidden]


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


def on_estimators(ways, of=takes, slowly=False, **more):
    """Parametrise by every estimator and the parameters that it takes, out of all `ways`.

    A list in `more` adds an argument: its values, in the order of the ways. With `slowly`, the
    quick tests run every way on one estimator only.
    """
    cases = []
    for parameters, *others in zip(ways, *more.values(), strict=True):
        able = [(name, factory) for name, factory in ESTIMATORS if of(factory, parameters)]
        assert able, f"no estimator takes {parameters}"
        text = ", ".join(f"{key}={value}" for key, value in parameters.items()) or "default"
        new = [pytest.param(f, parameters, *others, id=f"{name}-{text}") for name, f in able]
        cases += but_the_first_slow(new) if slowly else new
    return pytest.mark.parametrize(["factory", "parameters", *more], cases)
