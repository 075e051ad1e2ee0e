"""Which kinds of questions an estimator can ask of sites, read off its code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from types import CodeType, FunctionType
from typing import Any

from ..decomposition.base import BasePrivatePCA
from ..private_data import PrivateData, Public
from ..statistics import KINDS, Measure, Scaled, Statistic, View
from .questions import QUESTIONS

__all__ = ["kinds_asked"]

# Where the code lies that asks questions, or chooses them.
ROOMS = tuple(
    f"{__name__.partition('.')[0]}.{room}"
    for room in ("decomposition.", "mechanisms.", "private_data", "statistics.")
)

SUMS = (Statistic, Measure, View)


def kinds_asked(estimator: BasePrivatePCA, public: Public) -> tuple[str, ...]:
    """The kinds of questions that a fit with these parameters can ask of sites, sorted.

    A trial fit would not find them: what is asked depends on earlier answers. So this follows the
    code, from the mechanism that the parameters make to all that it can reach. It finds every kind
    that a fit can ask for, and some that a fit may not come to ask for.

    Parameters
    ----------
    estimator : estimator
        With valid parameters.
    public : Public
        The public facts of the study.
    """
    reach = Reach()
    reach.follow(PrivateData)
    reach.follow(estimator._prepared(public, estimator._event(public)))
    if estimator.scale is not None:
        reach.follow(Scaled)  # the source of the sites is asked through it
    kinds = reach.kinds() | ({"Part"} if "parts" in reach.names else set())
    return tuple(sorted(set(QUESTIONS) if reach.foreign else kinds & set(QUESTIONS)))


class Reach:
    """Classes and functions that code can reach.

    A function reaches all that it names. A method is reached if its class is, and if its name is
    used anywhere: whose method is meant is not known.

    Attributes
    ----------
    classes, functions : set
        That were reached.
    names : set of str
        That were used.
    foreign : bool
        Whether a parameter is somebody else's code, which may ask for anything.
    """

    def __init__(self) -> None:
        self.classes: set[type] = set()
        self.functions: set[FunctionType] = set()
        self.names = {"run"}
        self.foreign = False

    def follow(self, value: Any) -> None:
        """Add a value that code uses, and all that can be reached from it."""
        if isinstance(value, partial):
            self.follow((value.func, value.args, value.keywords))
        elif isinstance(value, Mapping):
            self.follow(tuple(value.values()))
        elif isinstance(value, tuple | list | set | frozenset):
            for one in value:
                self.follow(one)
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, type):
            self._add_class(value)
        elif _is_ours(type(value)):
            self._add_class(type(value))
            inside = getattr(value, "__dict__", {}).values()
            self.foreign |= any(callable(one) and not _is_ours_or_its(one) for one in inside)
            self.follow(tuple(inside))

    def kinds(self) -> set[str]:
        """The kinds of questions among the classes."""
        return {one.__name__ for one in self.classes if KINDS.get(one.__name__) is one}

    def _add_class(self, kind: type) -> None:
        if kind in self.classes or not _is_ours(kind):
            return
        self.classes.add(kind)
        if not issubclass(kind, SUMS):  # how a sum is computed is no question
            self.follow(kind.__bases__)
            self._add_methods(kind, self.names)

    def _add_methods(self, kind: type, names: set[str]) -> None:
        for name, value in list(vars(kind).items()):
            if name in names or name.startswith("__"):
                if isinstance(value, staticmethod | classmethod):
                    value = value.__func__
                elif isinstance(value, property):
                    value = value.fget
                elif isinstance(value, cached_property):
                    value = value.func
                self.follow(value)

    def _add_function(self, function: FunctionType) -> None:
        if function in self.functions or not _is_ours(function):
            return
        self.functions.add(function)
        used = _names_of(function.__code__)
        new = used - self.names
        self.names |= new
        for kind in [one for one in self.classes if not issubclass(one, SUMS)]:
            self._add_methods(kind, new)
        self.follow([function.__globals__[name] for name in used & set(function.__globals__)])
        self.follow([cell.cell_contents for cell in function.__closure__ or ()])
        self.follow((function.__defaults__ or (), function.__kwdefaults__ or {}))


def _is_ours(value: Any) -> bool:
    return f"{value.__module__}.".startswith(ROOMS)


def _is_ours_or_its(value: Any) -> bool:
    """Whether it is our class or function, or an instance of our class."""
    return _is_ours(value if isinstance(value, FunctionType | type) else type(value))


def _names_of(code: CodeType) -> set[str]:
    """Names that code uses, and the code of functions within it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_of(constant)
    return names
