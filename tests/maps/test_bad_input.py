"""What a projection map refuses costs nothing, and the error tells nothing of the rows."""

import math
import re
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdppca import DPGauss, PrivacyAccountant
from skdppca.exceptions import OutsideMapWarning, SeededNoiseWarning
from skdppca.maps import projection_map

from ..package.test_bad_input import BAD_GROUPS, BAD_X
from ..secret_rows import N_ROWS, TEXT, VALUE, assert_tells_nothing, labels, raising, rows
from .test_projection_map import COST, EXTENT, PCA_2, X


def charged_nothing(pca, rows, message, **more):
    """Assert a clear error that costs nothing; return all that was shown."""
    accountant = PrivacyAccountant(10.0, 1e-5, unit=more.get("unit", "row"))
    more = {**COST, "extent": EXTENT, **more}
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError, OverflowError), match=message) as caught:
            projection_map(pca, rows, accountant=accountant, **more)
    assert accountant.receipts == ()
    error = "".join(traceback.format_exception(caught.value))
    return error + "".join(str(warning.message) for warning in shown)


@pytest.mark.parametrize("make", [make for make, _ in BAD_X.values()], ids=BAD_X)
def test_bad_data_are_an_error_for_nothing_that_tells_nothing(make):
    assert_tells_nothing(charged_nothing(PCA_2, make(), ""))


@pytest.mark.parametrize(("unit", "make", "message"), BAD_GROUPS.values(), ids=BAD_GROUPS)
def test_bad_groups_are_an_error_for_nothing_that_tells_nothing(unit, make, message):
    assert_tells_nothing(charged_nothing(PCA_2, rows(), message, unit=unit, groups=make()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: labels()[:-1],
        lambda: TEXT,
        lambda: np.ones((N_ROWS, 2)),
        lambda: labels([TEXT]),
        lambda: [[TEXT]] * (N_ROWS - 1) + [[TEXT, TEXT]],
    ],
)
def test_bad_labels_are_an_error_for_nothing_that_tells_nothing(make):
    text = charged_nothing(PCA_2, rows(), "y must", y=make(), classes=["a"])
    assert_tells_nothing(text)


@pytest.mark.parametrize(
    "hostile",
    [
        raising("__eq__", RuntimeError),
        raising("__hash__", KeyError),
        raising("__hash__", TypeError),
    ],
)
def test_what_a_label_raises_itself_is_not_passed_on(hostile):
    y = labels()
    y[5] = hostile
    classes = [type("Seven", (), {"__hash__": lambda self: 7})()]
    for given in (y, y.tolist(), raising("__array__", RuntimeError)):
        assert_tells_nothing(charged_nothing(PCA_2, rows(), "y must", y=given, classes=classes))


def test_masked_labels_are_an_error_for_nothing():
    y = np.ma.array(np.arange(N_ROWS), mask=rows()[:, 1] > 1)
    charged_nothing(PCA_2, rows(), "y has missing labels: some are masked", y=y, classes=[1])


@pytest.mark.parametrize("size", [1e160, 1.7e308])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_rows_that_overflow_lie_outside(size, container, epsilon):
    rows = np.vstack([np.zeros((7, 3)), size * np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])])
    cost = {"epsilon": epsilon, "delta": 1e-6, "random_state": 0}
    pca = PCA_2 if epsilon == 1.0 else DPGauss(2, **cost).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        warnings.simplefilter("ignore", OutsideMapWarning)
        found = projection_map(pca, container(rows), extent=EXTENT, **cost)
    assert np.isfinite(found.counts).all()
    if epsilon == math.inf:
        assert found.outside == 2
        assert found.counts.sum() == 7


@pytest.mark.parametrize("last", [(TEXT,), (None,), (math.nan,), (VALUE, 1)])
def test_odd_labels_are_no_error(last):
    y = labels(*last)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        projection_map(PCA_2, rows(), y=y, classes=[0, "a"], **COST)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"epsilon": 0.0}, "'epsilon' parameter of projection_map"),
        ({"epsilon": math.inf}, "epsilon=inf has no cost"),
        ({"epsilon": 1e-12, "delta": 1e-12}, "more noise than the grid holds"),
        ({"delta": 1.0}, "'delta' parameter of projection_map"),
        ({"random_state": np.random.mtrand._rand}, "global random state"),
        ({"random_state": "a"}, "'random_state' parameter"),
        ({"components": (0, 0)}, "two different ones of the 2"),
        ({"components": (0, 2)}, "two different ones of the 2"),
        ({"components": 1}, "two different ones of the 2"),
        ({"components": (0, np.True_)}, "two different ones of the 2"),
        ({"epsilon": True}, "'epsilon' parameter of projection_map"),
        ({"epsilon": 10**400}, "'epsilon' parameter of projection_map"),
        ({"delta": np.longdouble("1e-4000")}, "'delta' parameter of projection_map"),
        ({"random_state": True}, "'random_state' parameter"),
        ({"bins": (np.uint16(300), np.uint16(10**4))}, "choose fewer"),
        ({"extent": ((0, 10**400), (0, 1))}, "extent must be"),
        ({"bins": 0}, "bins=0 is no positive int"),
        ({"bins": (2, 2, 2)}, "no two of them"),
        ({"bins": 2000}, "choose fewer"),
        ({"bins": 1000, "y": [], "classes": range(9)}, "choose fewer|one label for every row"),
        ({"extent": (0, 1)}, "extent must be"),
        ({"extent": ((1, 0), (0, 1))}, "extent must be"),
        ({"extent": ((0, math.inf), (0, 1))}, "extent must be"),
        ({"adjacency": "neighbours"}, "choose one"),
        ({"y": [1]}, "y was given without classes"),
        ({"classes": [1]}, "classes was given without y"),
        ({"y": [1], "classes": [1, 1]}, "different labels"),
        ({"y": [1], "classes": 1}, "different labels"),
    ],
    ids=lambda part: part if isinstance(part, str) else "-".join(part),
)
def test_bad_parameters_are_named_with_a_remedy(more, message):
    charged_nothing(PCA_2, X, message, **more)


def test_axes_of_another_package_are_refused():
    with pytest.raises(TypeError, match=r"pca is a PCA.*pca = PrivatePCA\(n_components=2\)"):
        projection_map(PCA(2).fit(X), X, **COST)


@pytest.mark.parametrize(
    "steps", [[Normalizer()], [], [Normalizer(), FunctionTransformer()]], ids=len
)
def test_of_a_pipeline_the_error_names_the_step_and_its_rows(steps):
    pipeline = make_pipeline(*steps, DPGauss(2, **COST)).fit(X)
    with pytest.raises(TypeError, match="pca is a Pipeline") as refusal:
        projection_map(pipeline, X, **COST)
    (call,) = re.findall(r"projection_map\(.*\.\.\.\)", str(refusal.value))
    found = eval(call.replace("...", "**COST"), globals() | locals())
    assert found.privacy_.details["axes"] == "DPGauss"


def test_axes_that_were_never_fitted_are_refused():
    with pytest.raises(NotFittedError):
        projection_map(DPGauss(2), X, **COST)


def test_columns_that_the_axes_do_not_know_are_refused():
    names = ["a", "b", "c"]
    pca = DPGauss(2, random_state=0, **COST).fit(pd.DataFrame(X, columns=names))
    projection_map(pca, pd.DataFrame(X, columns=names), **COST)
    others = pd.DataFrame(X, columns=["a", "b", TEXT])
    assert_tells_nothing(charged_nothing(pca, others, "not those that pca was fitted on"))
