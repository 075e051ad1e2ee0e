"""What may be asked of a planner: spectra, and parameters that are refused with a remedy."""

import math

import numpy as np
import pytest

from skdppca.planner import plan
from skdppca.planner.synthetic_rows import SPECTRA, check_spectrum


@pytest.mark.parametrize("name", sorted(SPECTRA))
def test_named_spectra_begin_at_one_and_fall(name):
    told, variances = check_spectrum(name, 7, 2)
    assert told == name and variances[0] == 1.0 and len(variances) == 7
    assert (np.diff(variances) <= 0).all()


def test_a_spectrum_may_come_in_any_order():
    _, variances = check_spectrum([1.0, 3.0, 2.0], 3, 1)
    assert variances.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("changed", "error", "remedy"),
    [
        ({"n_samples": 1}, ValueError, r"an int in the range \[2, .* Got 1 instead"),
        ({"n_samples": 100.5}, TypeError, "must be an int"),
        ({"n_components": np.True_}, TypeError, "must be an int"),
        ({"n_features": 0}, ValueError, r"an int in the range \[1, 16777216\]"),
        ({"n_features": 2**30}, ValueError, r"an int in the range \[1, 16777216\]"),
        ({"n_components": 0}, ValueError, r"an int in the range \[1, inf\)"),
        ({"n_components": 9}, ValueError, "choose at most 8"),
        ({"n_features": 1000, "n_components": 300}, ValueError, "at most 100"),
        ({"epsilon": 0}, ValueError, r"a float in the range \(0.0, inf\)"),
        ({"epsilon": math.inf}, ValueError, r"a float in the range \(0.0, inf\)"),
        ({"epsilon": math.nan}, ValueError, r"a float in the range \(0.0, inf\)"),
        ({"epsilon": "1"}, TypeError, r"a float in the range \(0.0, inf\)"),
        ({"delta": -1e-6}, ValueError, r"a float in the range \[0.0, 1.0\)"),
        ({"delta": 1}, ValueError, r"a float in the range \[0.0, 1.0\)"),
        ({"n_components": 1.5}, ValueError, "'mle'"),
        ({"group_size": 0}, ValueError, r"an int in the range \[1, "),
        ({"shared": 1.5}, ValueError, r"in the range \[0.0, 1.0\]"),
        ({"scale": "public"}, ValueError, "'private'"),
        ({"missing": "median"}, ValueError, "'mean'"),
        ({"tails": "long"}, ValueError, "'heavy'"),
        ({"gap": "small"}, ValueError, "'large'"),
        ({"is_sparse": 3}, TypeError, "bool"),
        ({"adjacency": "both"}, ValueError, "'replace-one'"),
        ({"spectrum": "round"}, ValueError, "'power-law'"),
        ({"spectrum": 3.0}, TypeError, "'power-law'"),
        ({"spectrum": list("12345678a")}, ValueError, "neither a name nor numbers"),
        ({"spectrum": {1: 2}}, ValueError, "neither a name nor numbers"),
        ({"spectrum": np.ones(8) * 1j}, ValueError, "neither a name nor numbers"),
        ({"spectrum": [1.0, 2.0]}, ValueError, "as many variances as features"),
        ({"spectrum": -np.ones(8)}, ValueError, "at least 0"),
        ({"spectrum": np.zeros(8)}, ValueError, "not all of them 0"),
        ({"spectrum": np.full(8, np.nan)}, ValueError, "finite"),
        ({"methods": "PCA"}, ValueError, "one or more of .*'DPGauss'"),
        ({"methods": ["PCA"]}, ValueError, "one or more of .*'DPGauss'"),
        ({"methods": [["DPGauss"]]}, ValueError, "one or more of .*'DPGauss'"),
        ({"methods": []}, ValueError, "one or more of .*'DPGauss'"),
        ({"methods": 3}, TypeError, "'DPGauss'"),
    ],
)
def test_bad_parameters_name_their_remedy(changed, error, remedy):
    parameters = {"n_samples": 100, "n_features": 8, "n_components": 2, **changed}
    with pytest.raises(error, match=remedy) as refused:
        plan(**parameters)
    assert next(iter(changed)) in str(refused.value)


@pytest.mark.parametrize("methods", ["DPGauss", ("DPGauss", "DPGauss"), iter(["DPGauss"])])
def test_methods_may_come_as_one_name_or_any_iterable(quick_plans, methods):
    assert [row.method for row in plan(50, 2, 1, methods=methods).rows] == ["DPGauss"]


def test_numbers_of_numpy_are_numbers(quick_plans):
    given = plan(np.int64(50), np.int32(2), np.int8(1), np.float32(1.0), methods="DPGauss")
    assert given == plan(50, 2, 1, methods="DPGauss")
    assert type(given.n_samples) is int and type(given.epsilon) is float
