"""The extra of the benchmarks brings what their scripts import, but for extras that they name."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What comes with scikit-learn, or is the name of another distribution's module.
COMES_WITH = {"sklearn": "scikit-learn", "joblib": "scikit-learn", "threadpoolctl": "scikit-learn"}
# `registry.PARTS` names the extra of the cluster; other packages have environments of their own.
ELSEWHERE = {"dask", "distributed", "diffprivlib", "opendp"}


def brought(extra):
    """The distributions that an extra installs, with those of the extras that it is made of."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        name, others = re.match(r"([\w-]+)(?:\[(.*)\])?", requirement).groups()
        found |= {name}.union(*map(brought, others.split(",") if others else ()))
    return found


def imported():
    """The modules that the scripts import and that are neither Python's nor this repository's."""
    scripts = [path for path in BENCHMARKS.rglob("*.py") if "/.env-" not in path.as_posix()]
    ours = {path.stem for path in [*scripts, *ROOT.glob("doc/**/*.py")]} | {"skdppca"}
    ours |= {path.name for path in BENCHMARKS.iterdir() if path.is_dir()}
    found = set()
    for script in scripts:
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return {name.partition(".")[0] for name in found} - ours - sys.stdlib_module_names


def test_the_extra_of_the_benchmarks_brings_what_they_import():
    base = {re.match(r"[\w-]+", requirement).group() for requirement in PROJECT["dependencies"]}
    needed = {COMES_WITH.get(name, name) for name in imported() - ELSEWHERE}
    assert "pandas" in needed
    assert needed <= base | brought("benchmark")
