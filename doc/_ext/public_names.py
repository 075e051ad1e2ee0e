"""What the reference must have: every public class with its methods, and every public function.

The extension compares the objects that a build describes with the names that the package exports.
A missing one is a warning, and so an error of a strict build.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a test uses this module without Sphinx
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# The modules that people import from. Reviewers read the last four.
MODULES = (
    "skdppca",
    "skdppca.datasets",
    "skdppca.exceptions",
    "skdppca.federated",
    "skdppca.maps",
    "skdppca.metrics",
    "skdppca.model_selection",
    "skdppca.neighbors",
    "skdppca.planner",
    "skdppca.plotting",
    "skdppca.privacy",
    "skdppca.report",
    "skdppca.trials",
    "skdppca.decomposition",
    "skdppca.mechanisms.block_mean",
    "skdppca.private_data",
    "skdppca.statistics",
)

# scikit-learn writes these methods, and their docstrings speak of scikit-learn only.
INHERITED = (
    "get_metadata_routing",
    "set_fit_request",
    "set_inverse_transform_request",
    "set_partial_fit_request",
    "set_predict_request",
    "set_score_request",
    "set_score_samples_request",
    "set_transform_request",
)


def exported() -> dict[int, tuple[object, list[str]]]:
    """Return each public class and function, with all the names that it is exported by."""
    found: dict[int, tuple[object, list[str]]] = {}
    for home in MODULES:
        module = importlib.import_module(home)
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isclass(one) or inspect.isfunction(one):
                found.setdefault(id(one), (one, []))[1].append(f"{home}.{name}")
    return found


def members(cls: type) -> Iterator[tuple[str, object]]:
    """Yield the public members of a class, but those of Python's own types, such as `str`."""
    for name, one in inspect.getmembers_static(cls):
        home = next((base for base in cls.__mro__ if name in vars(base)), object)
        if not name.startswith("_") and home.__module__ != "builtins":
            yield name, one


def methods(cls: type) -> list[str]:
    """Return the names of the public methods of a class."""
    return [
        name
        for name, one in members(cls)
        if (isinstance(one, classmethod | staticmethod) or inspect.isfunction(one))
        and name not in INHERITED
    ]


def properties(cls: type) -> list[str]:
    """Return the names of the public properties of a class."""
    return [name for name, one in members(cls) if isinstance(one, property)]


def described(fullname: str) -> tuple[list[str], list[str]]:
    """Return the methods and the properties that the page of a class describes."""
    home, _, name = fullname.rpartition(".")
    cls = getattr(importlib.import_module(home), name)
    return methods(cls), properties(cls)


def missing(found: set[str]) -> list[str]:
    """Return what is exported and not among the names that pages describe."""
    lacking = []
    for one, names in exported().values():
        name = next((name for name in names if name in found), None)
        if name is None:
            lacking.append(names[0])
        elif inspect.isclass(one):
            parts = [f"{name}.{part}" for part in [*methods(one), *properties(one)]]
            lacking += [part for part in parts if part not in found]
    return lacking


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each public name without a page."""
    from sphinx.util import logging

    for name in missing(set(env.domains["py"].data["objects"])):
        message = "%s has no page: list it in doc/api/"
        logging.getLogger(__name__).warning(message, name, type="reference", subtype="missing")


def setup(app: Sphinx) -> dict[str, bool]:
    """Check when all pages are read."""
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
