"""Layers that import-linter cannot see: private names, records, rooms, and the folders of tests."""

import ast
from functools import cache
from pathlib import Path

import pytest

import skdppca
from skdppca import decomposition

PACKAGE = Path(skdppca.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
DOOR = PACKAGE / "_sklearn.py"


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def private_imports(tree):
    """Dotted names of what is imported from scikit-learn and begins with one underscore."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.split(".")[0] == "sklearn" and _is_private(name)]


def _is_private(name):
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def test_one_module_alone_imports_private_names_of_scikit_learn():
    assert [path for path in MODULES if private_imports(tree_of(path))] == [DOOR]


# Who takes the records themselves, or pays for numbers that are no sum, and proves it there.
OPENED = {
    "mechanisms/centre.py": {"_clipped_mean"},
    "mechanisms/scales/private_scales.py": {"exact_scales"},
    "decomposition/gdppca.py": {"_median_difference"},
    "decomposition/smooth_sensitivity/gap.py": {"exact_span", "release_span"},
}
DOORS = {"unprotected_records", "pay_for"}
METHODS = sorted(
    path
    for room in ("mechanisms", "decomposition", "maps", "neighbors")
    for path in (PACKAGE / room).rglob("*.py")
)


def openings(tree):
    """Names of the functions that ask for more than sums, or look past `PrivateData`."""
    names = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Attribute):
                continue
            past = isinstance(node.value, ast.Attribute) and node.value.attr == "source"
            if node.attr in DOORS or (past and node.attr != "layout"):
                names.append(function.name)
    return set(names)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("data.unprotected_records('a median')", {"peek"}),
        ("self.data.pay_for('gap', mu, 1.0, rounding=0.0)", {"peek"}),
        ("data.source.total(Count())", {"peek"}),
        ("mean.data.source.private_n", {"peek"}),
        ("data.ask(Count(), mu)", set()),
        ("data.source.layout", set()),
        ("query.release(total, data.noise)", set()),
    ],
)
def test_planted_looks_past_the_door_are_found_and_no_questions(line, found):
    assert openings(ast.parse(f"def peek(data):\n    return {line}")) == found


def test_a_method_learns_of_the_records_by_asking():
    found = {path.relative_to(PACKAGE).as_posix(): openings(tree_of(path)) for path in METHODS}
    assert {path: names for path, names in found.items() if names} == OPENED


# Modules of the methods, a file or a folder each; and those that begin with another one's release.
OWN = {
    part
    for method in decomposition.METHODS.values()
    for part in [method.estimator.__module__.removesuffix(".estimator").rpartition(".")[2]]
}
BUILT_ON = {"residual_gauss": {"dp_gauss"}}
OF_A_METHOD = {
    path: own
    for path in (PACKAGE / "decomposition").rglob("*.py")
    if (own := OWN & {path.stem, path.parent.name})
}


@pytest.mark.parametrize(
    "path", sorted(OF_A_METHOD), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_a_method_knows_no_other_method(path):
    (own,) = OF_A_METHOD[path]
    imports = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom)]
    names = {part for node in imports if node.level for part in (node.module or "").split(".")}
    others = OWN - {own} - BUILT_ON.get(own, set())
    assert not names & (others | {"methods", "private_pca"})
    assert all(node.level or "skdppca" not in node.module for node in imports)


def test_every_method_has_a_module_of_its_own():
    assert len(OWN) == len(decomposition.METHODS) == len(set().union(*OF_A_METHOD.values()))


# What is tested beside the rooms: all methods against attacks, the scripts of benchmarks/, and the
# modules in the root of the package with what holds for all of it.
BESIDE = {"audit", "benchmarks", "package"}
TESTS = Path(__file__).parents[1]


def test_every_test_lies_in_the_folder_of_a_room():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert folders <= rooms | BESIDE
