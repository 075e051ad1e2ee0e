"""The table of methods: all there are, under the same names wherever one is chosen."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import numpy as np
import pytest
from scipy import sparse

from skdppca import PrivatePCA, decomposition
from skdppca.cli import _fit_command, _parser
from skdppca.decomposition import METHODS, BasePrivatePCA
from skdppca.decomposition.methods import NAMES, Word
from skdppca.exceptions import BudgetExceeded, NotReleasedError
from skdppca.privacy import PrivacyAccountant

from ..estimators import ESTIMATORS, takes

X = np.random.default_rng(0).normal(size=(500, 6))

on_all_methods = pytest.mark.parametrize("name", METHODS)


def estimators_of_the_package():
    """Every class that can be fitted, wherever it is defined, and however deep its base is."""
    found, left = set(), [BasePrivatePCA]
    for module in pkgutil.walk_packages(decomposition.__path__, f"{decomposition.__name__}."):
        importlib.import_module(module.name)
    while left:
        more = left.pop().__subclasses__()
        left += more
        found |= {cls for cls in more if cls.__module__.startswith("skdppca.")}
    return {cls for cls in found if not inspect.isabstract(cls)}


def test_it_holds_every_estimator_but_the_one_that_chooses():
    methods = {method.estimator for method in METHODS.values()}
    assert methods | {PrivatePCA} == estimators_of_the_package()
    assert PrivatePCA not in methods


def test_the_common_tests_run_on_all_of_them():
    assert {factory for _, factory in ESTIMATORS} == estimators_of_the_package()


@on_all_methods
def test_every_method_can_be_chosen(name):
    PrivatePCA(method=name)._validate_params()
    assert PrivatePCA(2, method=name).fit(X).privacy_.details["method"] == name


def test_a_type_checker_knows_exactly_the_names_of_methods():
    assert sorted(get_args(Word)) == sorted(NAMES)


def test_the_command_line_has_every_method_under_its_one_name():
    commands = {method.command: method.estimator for method in METHODS.values()}
    assert len(commands) == len(METHODS)
    assert _fit_command.METHODS == {"auto": PrivatePCA, **commands}
    (planned,) = [one for one in _parser.parser_of("plan").called._actions if one.dest == "methods"]
    assert set(planned.choices) == set(commands)


@on_all_methods
@pytest.mark.parametrize("command", ["fit", "plan"])
def test_the_command_line_takes_a_method_by_either_name(name, command):
    given = {
        "fit": ["data.csv", "--epsilon", "1", "--delta", "1e-6", "--out", "out"],
        "plan": ["--n", "9", "--d", "3", "-k", "1"],
    }
    for text in (name, name.lower(), METHODS[name].command):
        options = _parser.parser_of(command).parse_args(
            [command, *given[command], "--method", text]
        )
        chosen = options.method if command == "fit" else options.methods[0]
        assert chosen == METHODS[name].command


@on_all_methods
def test_components_are_chosen_by_a_spectrum_exactly_where_there_is_one(name):
    method = METHODS[name]
    assert takes(method.estimator, {"n_components": "auto"}) == method.spectral
    details = method.estimator(2, random_state=0).fit(X).privacy_.details
    assert ("spectrum" in details) == method.spectral


@on_all_methods
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_query_that_a_plan_looks_for_is_in_the_report(name, adjacency):
    method = METHODS[name]
    report = method.estimator(2, adjacency=adjacency, random_state=0).fit(X).privacy_
    queries = {spending.name for spending in report.spendings}
    assert method.query in queries or method.query is None


# DPPowerMethod clips norms where a bound is given, and products, as the table says, where none is.
@pytest.mark.parametrize("name", [n for n in METHODS if METHODS[n].query and n != "DPPowerMethod"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_sensitivity_that_a_plan_divides_by_is_that_of_the_query(name, adjacency):
    method = METHODS[name]
    told = {"norm_bound": 4.0, "center": False, "adjacency": adjacency, "random_state": 0}
    spendings = method.estimator(2, **told).fit(X).privacy_.spendings
    found = [s.sensitivity for s in spendings if s.name == method.query]
    square = 1.0 if name == "GDPPCA" else 4.0**2  # signs have length 1, whatever the rows have
    np.testing.assert_allclose(found, method.sensitivity(square, adjacency), rtol=0.01)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_what_a_row_becomes_does_not_depend_on_the_others(form):
    # products of BLAS do: on the rows that this one is multiplied together with
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(1, 200)) * (rng.random((1, 200)) < 0.7), 253, axis=0)
    pca = METHODS["DPGauss"].estimator(20, random_state=0).fit(rng.normal(size=(300, 200)))
    together = pca.transform(form(rows))
    np.testing.assert_array_equal(together, np.repeat(together[:1], 253, axis=0))
    np.testing.assert_array_equal(pca.transform(form(rows[:-1])), together[:-1])


@pytest.fixture
def outside():
    """The whole method that CONTRIBUTING shows, as a module of somebody else."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    module = ModuleType("outside")
    sys.modules["outside"] = module  # where dataclasses look their module up
    exec(text.split("```python\n")[1].split("```")[0], vars(module))
    yield module.AnalyzeGauss
    del sys.modules["outside"]


def test_a_class_outside_the_package_is_taken_like_its_methods(outside):
    given = {"norm_bound": 10.0, "center": False, "epsilon": 1e6, "random_state": 0}
    pca = PrivatePCA(2, method=outside, **given).fit(X)
    assert pca.privacy_.details["method"] == pca.privacy_.parameters["method"] == "AnalyzeGauss"
    assert pca.privacy_.method == "PrivatePCA"
    directly = outside(2, **given).fit(X)
    exact = np.linalg.eigh(X.T @ X)[1][:, ::-1].T[:2]
    for found in (pca, directly):
        np.testing.assert_allclose(np.abs(found.components_ @ exact.T), np.eye(2), atol=1e-2)
    with pytest.raises(NotReleasedError, match="noise_variance_: its method leaves it out"):
        _ = pca.noise_variance_


def test_a_class_outside_the_package_charges_what_it_costs(outside):
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
    pca = PrivatePCA(2, method=outside, norm_bound=10.0, center=False, accountant=accountant)
    pca.fit(X)
    with pytest.raises(BudgetExceeded):
        pca.fit(X)


@pytest.mark.parametrize("cls", [int, PrivatePCA])
def test_a_class_without_a_mechanism_is_refused(cls):
    with pytest.raises(TypeError, match=f"method={cls.__name__} is a class without a mechanism"):
        PrivatePCA(2, method=cls).fit(X)
