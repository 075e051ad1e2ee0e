"""Bad parameters are an error that names the remedy, and cost nothing."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skdppca import DPGauss, PrivacyAccountant
from skdppca._sklearn import Interval
from skdppca.model_selection import PrivateSearchCV

from ..estimators import (
    ESTIMATORS,
    but_the_first_slow,
    has,
    on_all_estimators,
    on_estimators,
    released,
    takes,
)
from ..secret_rows import (
    assert_fits_in_silence,
    assert_tells_nothing,
    labels,
    refused,
    rows,
)

THREE = "must hold 3 finite numbers"
LARGE, TINY = np.full(3, np.longdouble("1e4000")), np.full(3, np.longdouble("1e-4000"))
# Values that a parameter may not have; the error names it.
BAD_VALUES = {
    "epsilon": [0, -1.0, math.nan, "1", None],
    "delta": [0, 1, -1e-6, 2, math.nan],
    "n_components": [0, -1, 1.0, 1.5, math.nan, "all"],
    "adjacency": ["remove"],
    "unit": [3],
    "norm_bound": [0, -1.0, math.inf, math.nan, 1e-200, 1e200],
    "clip": ["none"],
    "noise": ["laplace"],
    "mean": [["a", "b", "c"], np.full(3, 1j), 0.0],
    "scale": [["a", "b", "c"], "public"],
    "random_state": [-1, np.random.default_rng(0)],
    "whiten": [1],
    "center": ["yes"],
    "n_jobs": [1.5, 0],
    "variance_share": [-0.1, 0.6, math.nan],
    "strategy": ["power"],
    "sampling": ["shuffle"],
    "learning_rate": [0.0, math.nan, "fast"],
    "n_iter": [0, 2.0],
    "range_share": [0.0, 1.0],
    "oracle": ["power"],
    "kernel": ["huber"],
    "kernel_bound": [0.0, math.nan],
}
# Parameters, and what the error says.
BAD_PARAMETERS = [
    *(({name: value}, name) for name, values in BAD_VALUES.items() for value in values),
    ({"epsilon": math.inf}, "epsilon=inf .*finite epsilon"),
    *(
        ({"n_components": k}, "n_components=4 exceeds n_features=3; choose at most 3")
        for k in (4, np.int64(4))
    ),
    ({"noise": "student", "center": False}, "public norm_bound"),
    ({"noise": "gaussian", "epsilon": 1.0}, "epsilon=1.0; set noise='gap-release'"),
    *(
        ({"mean": mean}, f"mean {THREE}")
        for mean in (
            *([1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 3.0], [1.0, np.inf, 3.0]),
            *([10**400, 0, 0], LARGE),
        )
    ),
    *(({"scale": scale}, f"scale {THREE}") for scale in ([1.0, 2.0], [1.0, np.nan, 3.0])),
    *(
        ({"scale": scale}, "scale must be positive; set it to 1")
        for scale in ([1.0, 0.0, 3.0], [1.0, -1.0, 3.0])
    ),
    ({"scale": TINY}, "scale must be positive"),
    ({"scale": ["private", 1.0]}, "scale has 2 entries, but X has 3 features"),
    ({"scale": ["private", 0.0, 3.0]}, "scale has 0.0 for column 2; give a positive finite number"),
    ({"scale": ["private", "privat", 3.0]}, "a str for column 2.*did you mean 'private'"),
    ({"scale": {"age": "private"}}, "scale names 'age', but X has no column names"),
    ({"mean": [1e300] * 3, "scale": [1e-300] * 3}, "mean|scale"),
    ({"random_state": np.random.mtrand._rand}, "random_state is numpy's global random state"),
    ({"kernel": np.tanh}, r"kernel=numpy\.tanh .*set kernel_bound"),
    ({"oracle": print}, "oracle .*strategy='block'; set strategy='deflation'"),
]

# No numbers, and numbers that no float64 holds.
NO_NUMBERS = [
    *(True, False, np.True_, Fraction(1, 2), Decimal("0.5"), 0.5j, "0.5", [0.5], np.array(0.5)),
    *(math.nan, -1, -math.inf),
]
NO_FLOATS = [10**400, np.longdouble("1e4000"), np.longdouble("1e-4000")]

NUMBERS_ASKED = [
    pytest.param(factory, parameter, id=f"{name}-{parameter}")
    for name, factory in ESTIMATORS
    for parameter, constraints in factory._parameter_constraints.items()
    if any(isinstance(constraint, Interval) for constraint in constraints)
]
on_numbers = pytest.mark.parametrize(("factory", "parameter"), NUMBERS_ASKED)


def asks_a_real(factory, parameter):
    constraints = factory._parameter_constraints[parameter]
    return any(getattr(constraint, "type", None) is Real for constraint in constraints)


@on_numbers
def test_what_is_no_number_is_refused_for_nothing(factory, parameter):
    accountant = PrivacyAccountant(10.0, 1e-5)
    values = NO_NUMBERS + (NO_FLOATS if asks_a_real(factory, parameter) else [])
    for value in values if parameter != "n_jobs" else values[:-2]:
        estimator = clone(factory(accountant=accountant)).set_params(**{parameter: value})
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of .* must be"):
            estimator.fit(np.eye(3))
    assert accountant.receipts == ()


# NumPy's numbers wrap around, or have a precision of their own.
READ_QUICKLY = ("DPGauss-n_components", "KDPPCA-n_components", "KDPPCA-learning_rate")
OF_NUMPY = [np.uint8, np.uint64, np.float16, np.longdouble]


@pytest.mark.parametrize(
    ("factory", "parameter"),
    [
        pytest.param(
            *case.values,
            id=case.id,
            # the others are read once, as a float
            marks=[] if case.id in READ_QUICKLY else pytest.mark.slow,
        )
        for case in NUMBERS_ASKED
    ],
)
def test_numbers_of_numpy_are_those_of_python(factory, parameter):
    X = np.random.default_rng(0).normal(size=(100, 5))
    X = sparse.csr_array(X) if parameter == "max_nonzero" else X
    for kind in OF_NUMPY:
        value = kind(2) if issubclass(kind, np.integer) else kind(0.25)
        given = {"n_components": 2, "random_state": 0, parameter: value}
        if not takes(factory, given):
            continue
        accountant = PrivacyAccountant(10.0, 0.5)
        found = factory(**given, accountant=accountant).fit(X)
        assert len(accountant.receipts) == 1
        expected = factory(**{**given, parameter: value.item()}).fit(X)
        np.testing.assert_array_equal(found.components_, expected.components_)
        assert getattr(found, parameter) is value


@pytest.mark.parametrize("name", ["epsilon", "delta", "mean_candidates", "score_share", "n_jobs"])
def test_a_search_refuses_what_is_no_number_for_nothing(name):
    accountant = PrivacyAccountant(10.0, 1e-5)
    values = [True, np.True_, Fraction(1, 2), 0.5j, *NO_FLOATS]
    for value in values if name != "n_jobs" else values[:4]:
        more = {name: value, "accountant": accountant}
        search = PrivateSearchCV(DPGauss(2), {"clip": ["auto"]}, **more)
        with pytest.raises(ValueError, match=f"'{name}' parameter of .* must be"):
            search.fit(np.eye(3))
    assert accountant.receipts == ()


# Ways to choose components that some estimators have, and others must refuse.
NEED_THE_SPECTRUM = [
    (factory, {"n_components": n_components})
    for n_components in (0.5, "auto", "mle")
    for _, factory in ESTIMATORS
    if not takes(factory, {"n_components": n_components})
]


@on_estimators(
    [way for way, _ in BAD_PARAMETERS],
    has,
    slowly=True,
    message=[text for _, text in BAD_PARAMETERS],
)
def test_bad_parameters_are_a_clear_error_for_nothing(factory, parameters, message):
    estimator = factory(**parameters, accountant=PrivacyAccountant(10.0, 1e-5))
    assert_tells_nothing(refused(estimator, rows(), message))


@pytest.mark.parametrize(("factory", "parameters"), NEED_THE_SPECTRUM)
def test_components_are_a_number_where_no_spectrum_is_released(factory, parameters):
    assert_tells_nothing(refused(factory(**parameters), rows(), "n_components.* int .* or None"))


COUNTS_ROWS = "this accountant counts adjacency='add-remove'"


# Parameters, the unit that the accountant counts, and what the error says.
@on_estimators(
    [
        {"clip": "spherical", "unit": "patient"},
        {"unit": "interaction"},
        {"adjacency": "replace-one"},
        {"unit": "patient"},
    ],
    counted=["patient", "interaction", "row", "row"],
    message=[
        "clip='spherical' scales single rows.*clip='auto'",
        "unit='interaction' .* by another name",
        *(COUNTS_ROWS, COUNTS_ROWS),
    ],
)
def test_another_notion_than_is_counted_is_an_error_for_nothing(
    factory, parameters, counted, message
):
    estimator = factory(**parameters, accountant=PrivacyAccountant(10.0, 1e-5, unit=counted))
    groups = labels() if "unit" in parameters else None
    assert_tells_nothing(refused(estimator, rows(), message, groups))


def assert_finite_or_free(factory, X, parameter, values, **given):
    """Assert of each value a finite release in silence, or an error that names it, for nothing."""
    for value in values:
        accountant = PrivacyAccountant(1e301, 1 - 1e-16)
        pca = factory(2, random_state=0, accountant=accountant, **given | {parameter: value})
        try:
            assert_fits_in_silence(pca, X)
        except ValueError as error:
            assert parameter in str(error), (value, error)
            assert accountant.receipts == ()
            continue
        names = ["components_", "explained_variance_", "mean_", "noise_variance_"]
        for name in released(pca, names + ["scale_"] * pca._scales_privately):
            assert np.isfinite(getattr(pca, name)).all(), (value, name)


@on_all_estimators
@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("epsilon", [5e-324, 1e-300, 1e-12, 1e6, 1e300]),
        ("delta", [5e-324, 1e-300, 0.5, 1 - 1e-16]),
        ("norm_bound", 10.0 ** np.arange(-308, 309, 22)),
        ("scale", [["private"] * 10 + [size] * 10 for size in 10.0 ** np.arange(-308, 309, 44)]),
        ("scale", [np.full(20, size) for size in 10.0 ** np.arange(-308, 309, 22)]),
        ("mean", [np.full(20, size) for size in 10.0 ** np.arange(0, 309, 22)]),
    ],
    ids=["epsilon", "delta", "norm_bound", "scales by column", "scale", "mean"],
)
@pytest.mark.parametrize("container", but_the_first_slow([np.asarray, sparse.csr_array]))
@pytest.mark.parametrize("every", but_the_first_slow([5, 1]))
def test_extreme_parameters_give_a_finite_release_or_cost_nothing(
    factory, container, parameter, values, every
):
    assert_finite_or_free(factory, container(np.eye(20)), parameter, values[::-every])


EXTREMES = [
    *({"learning_rate": rate} for rate in (5e-324, 1e-300, 1e300, 1.7e308)),
    *({"range_share": share} for share in (5e-324, 1e-100, 1e-4, 1 - 1e-4, 1 - 1e-16)),
    *({"variance_share": share} for share in (5e-324, 1e-4, 0.5)),
    *({"location_share": share} for share in (5e-324, 1e-4, 0.4)),
    *({"oversampling": many} for many in (0, 10**400)),
    {"max_nonzero": 10**400},
    {"degree_floor": 2**30, "protect": "interaction", "center": False},
    {"budget_ratio": 16.0, "n_iter": 30},
    {"range_share": 1e-4, "variance_share": 1e-4, "n_iter": 300},
    {"location_share": 1e-4, "variance_share": 1e-4},
]


def charged(factory, parameters, epsilon, X):
    """Whether a fit is charged; it must be finite then, and refused for nothing if not."""
    unit = "interaction" if "protect" in parameters else "row"
    accountant = PrivacyAccountant(100.0, 0.5, unit=unit)
    more = {"epsilon": epsilon, "delta": 1e-300, "random_state": 0, "accountant": accountant}
    pca = factory(1, **more, **parameters)
    try:
        pca.fit(X)
    except ValueError:
        assert accountant.receipts == ()
        return False
    assert len(accountant.receipts) == 1
    assert np.isfinite(pca.components_).all()
    assert np.isfinite(pca.mean_).all()
    return True


def few_rows(parameters):
    X = np.random.default_rng(0).normal(size=(200, 1))
    return sparse.csr_array(X) if "max_nonzero" in parameters else X


@on_estimators(EXTREMES, has, slowly=True)
def test_no_parameter_is_charged_and_then_fails(factory, parameters):
    charged(factory, parameters, 1.0, few_rows(parameters))


@pytest.mark.slow
@on_estimators(EXTREMES, has)
def test_no_parameter_is_charged_and_then_fails_however_little_budget_there_is(factory, parameters):
    X, least, most = few_rows(parameters), -45.0, 3.0  # logarithms, the least epsilon between them
    if not charged(factory, parameters, math.exp(most), X):
        return
    for _ in range(14):
        middle = (least + most) / 2
        if charged(factory, parameters, math.exp(middle), X):
            most = middle
        else:
            least = middle
