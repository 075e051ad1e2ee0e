"""The package imports what is asked for, and not before."""

import ast
import pickle
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import skdppca

PACKAGE = Path(skdppca.__file__).parent


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_says_what_it_is_without_numpy_and_scikit_learn(option):
    # -X importtime names on stderr every module that is imported
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "skdppca", option],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.split("\n")}
    assert "skdppca" in done.stdout and "argparse" in imported
    assert not imported & {"numpy", "scipy", "sklearn", "joblib", "mpmath", "pandas"}


@pytest.mark.slow  # nothing of what it imports is compiled so
def test_the_package_works_without_assertions_and_docstrings():
    fit = "skdppca.DPGauss(1, random_state=0).fit(numpy.eye(50, 3)).components_.shape"
    code = f"import numpy, skdppca; [getattr(skdppca, n) for n in skdppca.__all__]; print({fit})"
    done = subprocess.run(
        [sys.executable, "-OO", "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "(1, 3)\n"


def test_a_type_checker_sees_the_same_names():
    imports = [node for node in ast.walk(ast.parse(Path(skdppca.__file__).read_text()))]
    seen = {
        alias.name for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen >= {*skdppca.__all__}


@pytest.mark.parametrize("name", skdppca.__all__)
def test_a_name_is_what_it_is_where_it_is_defined(name):
    found = getattr(skdppca, name)
    assert found.__name__ == name
    assert pickle.loads(pickle.dumps(found)) is found


def test_the_parts_that_users_import_need_no_import_of_their_own():
    public = [name for name in skdppca.SUBMODULES if name != "federated" or find_spec("flwr")]
    found = [skdppca.__getattr__(name) for name in public]
    assert [part.__name__ for part in found] == [f"skdppca.{name}" for name in public]


def test_parts_that_are_offered_are_those_of_the_stable_pages():
    groups = "estimators budgets reports pictures planning tuning maps judging sites errors".split()
    pages = "".join((PACKAGE.parent / "doc" / "api" / f"{name}.rst").read_text() for name in groups)
    listed = set(re.findall(r"^   skdppca\.([a-z_]+)\.", pages, re.MULTILINE))
    assert listed == {*skdppca.SUBMODULES}


def test_the_directory_lists_names_and_parts():
    assert {*skdppca.__all__, *skdppca.SUBMODULES, "__version__"} == set(dir(skdppca))


def test_a_name_that_there_is_not_is_an_error():
    with pytest.raises(AttributeError, match="module 'skdppca' has no attribute 'DPGaus'"):
        skdppca.DPGaus  # noqa: B018
    with pytest.raises(ImportError):
        from skdppca import DPGaus  # noqa: F401
