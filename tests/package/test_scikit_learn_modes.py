"""scikit-learn's checks of what some estimators do otherwise, by a parameter of their own."""

from ..estimators import on_estimators
from .test_scikit_learn import assert_passes_all_checks

MODES = [
    {"noise": "gap-release", "n_components": 1},
    {"noise": "student", "norm_bound": 10.0, "center": False},
    {"noise": "cauchy", "norm_bound": 10.0, "center": False, "n_components": 1},
    {"noise": "gaussian", "epsilon": 0.5, "norm_bound": 10.0, "center": False},
]


@on_estimators(MODES)
def test_scikit_learns_checks_pass_in_every_mode(factory, parameters):
    assert_passes_all_checks(factory(**parameters))
