"""Layers that import-linter cannot see: private names of scikit-learn have one door."""

import ast
from pathlib import Path

import pytest

import skdppca

PACKAGE = Path(skdppca.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
DOOR = PACKAGE / "_sklearn.py"


def private_imports(source):
    """Dotted names of what is imported from scikit-learn and begins with one underscore."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.split(".")[0] == "sklearn" and _is_private(name)]


def _is_private(name):
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


@pytest.mark.parametrize(
    "line",
    [
        "from sklearn.base import _fit_context",
        "from sklearn.utils._param_validation import Interval",
        "from sklearn.utils import _param_validation as validation",
        "import sklearn.decomposition._pca",
        "def f():\n    from sklearn.base import BaseEstimator, _fit_context",
    ],
)
def test_a_planted_private_import_is_found(line):
    assert len(private_imports(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from sklearn.base import BaseEstimator",
        "from sklearn import __version__",
        "from ._sklearn import fit_context",
        "from numpy.linalg import _umath_linalg",
    ],
)
def test_public_and_foreign_imports_are_no_finding(line):
    assert private_imports(line) == []


def test_the_door_to_private_names_is_used():
    assert private_imports(DOOR.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if path != DOOR],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_no_other_module_imports_private_names_of_scikit_learn(path):
    assert private_imports(path.read_text(encoding="utf-8")) == []
