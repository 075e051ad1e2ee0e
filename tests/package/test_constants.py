"""Numbers of heuristics: each has a name of its own, and nothing changes them."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

import skdppca

ROOT = Path(skdppca.__file__).parent
SOURCES = {
    ".".join(("skdppca", *path.relative_to(ROOT).with_suffix("").parts)): path.read_text("utf-8")
    for path in sorted(ROOT.rglob("*.py"))
}


def declared(source: str) -> list[str]:
    """The names of the classes of numbers that a module has."""
    return [
        line.name
        for line in ast.parse(source).body
        if isinstance(line, ast.ClassDef) and line.name.endswith("Constants")
    ]


# Only what has the word is parsed.
MODULES = [name for name, source in SOURCES.items() if "Constants" in source and declared(source)]


def test_all_rooms_with_heuristics_have_such_classes():
    rooms = {name.split(".")[1] for name in MODULES}
    assert rooms >= {"mechanisms", "decomposition", "neighbors", "model_selection", "planner"}


@pytest.mark.parametrize("name", MODULES)
def test_constants_of_a_heuristic_are_frozen_numbers_with_defaults(name):
    module = import_module(name)
    for class_name in declared(SOURCES[name]):
        constants = getattr(module, class_name)
        assert is_dataclass(constants) and constants.__dataclass_params__.frozen
        assert fields(constants())
        assert constants in map(type, vars(module).values())
