"""What may be asked of a planner: spectra, and parameters that are refused with a remedy."""

import math

import numpy as np
import pytest

from skdppca.planner import plan
from skdppca.planner._spectra import SPECTRA, check_spectrum


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
        ({"n_samples": 1}, ValueError, "between 2 and"),
        ({"n_samples": 100.5}, TypeError, "give an int"),
        ({"n_samples": True}, TypeError, "give an int"),
        ({"n_features": 0}, ValueError, "between 1 and"),
        ({"n_components": 9}, ValueError, "between 1 and 8"),
        ({"n_features": 1000, "n_components": 300}, ValueError, "at most 100 components"),
        ({"epsilon": 0}, ValueError, "above 0"),
        ({"epsilon": math.inf}, ValueError, "sklearn.decomposition.PCA"),
        ({"epsilon": math.nan}, ValueError, "above 0"),
        ({"epsilon": "1"}, ValueError, "above 0"),
        ({"delta": 0.0}, ValueError, "between 0 and 1"),
        ({"delta": 1}, ValueError, "between 0 and 1"),
        ({"adjacency": "both"}, ValueError, "replace-one"),
        ({"spectrum": "round"}, ValueError, "power-law"),
        ({"spectrum": list("12345678a")}, ValueError, "neither a name nor numbers"),
        ({"spectrum": {1: 2}}, ValueError, "neither a name nor numbers"),
        ({"spectrum": np.ones(8) * 1j}, ValueError, "neither a name nor numbers"),
        ({"spectrum": [1.0, 2.0]}, ValueError, "as many variances as features"),
        ({"spectrum": -np.ones(8)}, ValueError, "at least 0"),
        ({"spectrum": np.zeros(8)}, ValueError, "not all of them 0"),
        ({"spectrum": np.full(8, np.nan)}, ValueError, "finite"),
        ({"methods": ["PCA"]}, ValueError, "DPGauss"),
        ({"methods": []}, ValueError, "DPGauss"),
        ({"methods": 3}, ValueError, "DPGauss"),
        ({"n_features": 2**30}, ValueError, "between 1 and 16777216"),
    ],
)
def test_bad_parameters_name_their_remedy(changed, error, remedy):
    parameters = {"n_samples": 100, "n_features": 8, "n_components": 2, **changed}
    with pytest.raises(error, match=remedy):
        plan(**parameters)
