"""Constructors of estimators: every parameter, its default and its constraints are stated once."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from itertools import takewhile
from os import PathLike
from typing import Any, ClassVar, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator

from .._sklearn import (
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from .._text import meant

# Words of others for one of ours.
SYNONYMS = {"standard": "private", "standardize": "private", "standardise": "private"}

C = TypeVar("C", bound=type)
E = TypeVar("E", bound=BaseEstimator)


def parameter(*constraints: Any, default: Any, kw_only: bool = True) -> Any:
    """A parameter of a constructor: scikit-learn's constraints on it, and its default."""
    return field(default=default, kw_only=kw_only, metadata={"constraints": constraints})


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(cls: C) -> C:
    """Make a class with `parameter` fields an estimator.

    It gets the constructor, the constraints for `_validate_params`, and in its docstring the
    parameters and attributes that its base documents, but for those that it documents itself.
    """
    dataclass(eq=False, repr=False)(cls)  # scikit-learn's repr; equal is who is the same
    own = {entry.name: list(entry.metadata["constraints"]) for entry in fields(cls)}
    cls._parameter_constraints = own  # type: ignore[attr-defined]
    base = next((b for b in cls.__mro__[1:] if "_parameter_constraints" in vars(b)), None)
    if cls.__doc__ and base is not None and base.__doc__:
        text, theirs = inspect.cleandoc(cls.__doc__), inspect.cleandoc(base.__doc__)
        for section in ("Parameters", "Attributes"):
            if _section(theirs, section)[1]:  # python -OO leaves a dataclass its signature alone
                text = _completed(text, theirs, section)
        cls.__doc__ = text
    return cls


def legal(cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values that are valid for the estimator's parameters of their names."""
    constraints = cls._parameter_constraints  # type: ignore[attr-defined]
    found = {}
    for name in constraints.keys() & given.keys():
        with suppress(ValueError):
            validate_parameter_constraints({name: constraints[name]}, {name: given[name]}, "")
            found[name] = given[name]
    return found


def words_of(cls: type, name: str) -> set[str]:
    """The words that a parameter of an estimator may be; none if it has no such parameter."""
    constraints = cls._parameter_constraints.get(name, ())  # type: ignore[attr-defined]
    return {word for one in constraints if isinstance(one, StrOptions) for word in one.options}


def check_parameters(constraints: Mapping[str, Any], given: Mapping[str, Any], caller: str) -> None:
    """Refuse invalid parameters as scikit-learn does; the error says which word may be meant."""
    for name, value in given.items():
        try:
            validate_parameter_constraints(constraints, {name: value}, caller)
        except InvalidParameterError as error:
            refused = str(error)
        else:
            continue
        options = [one.options for one in constraints[name] if isinstance(one, StrOptions)]
        words = sorted(set().union(*options))
        word = SYNONYMS.get(str(value).lower(), value)
        near = meant([word], words) if isinstance(value, str) else ""
        if name == "accountant" and isinstance(value, str | PathLike):
            near = f"; write accountant=PrivacyLedger({str(value)!r})"
        raise InvalidParameterError(refused.removesuffix(".") + near if near else refused)


@cache
def documentation() -> str:
    """Return where the installed package says that its documentation is hosted; or nothing."""
    try:
        declared = metadata("skdppca").get_all("Project-URL") or []
    except PackageNotFoundError:  # a source tree that is not installed
        return ""
    addresses = dict(entry.split(", ", 1) for entry in declared)
    return addresses.get("Documentation", "").rstrip("/")


class Estimator(BaseEstimator):
    """The base of all estimators.

    Their errors about parameters say which word may be meant, their boxes in a notebook link to
    their pages, and the names of their parameters are read off a signature once.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    _doc_link_module = "skdppca"
    _doc_link_template = "{address}"

    def _validate_params(self) -> None:
        given = self.get_params(deep=False)
        check_parameters(self._parameter_constraints, given, type(self).__name__)

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        site = documentation()
        if not site:
            return {"address": ""}
        module, name = type(self).__module__, type(self).__name__
        public = list(takewhile(lambda part: not part.startswith("_"), module.split(".")))
        home = "skdppca" if name in sys.modules["skdppca"].__all__ else ".".join(public)
        return {"address": f"{site}/api/generated/{home}.{name}.html"}

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        return list(super()._get_param_names())


def described(documented: Callable[..., Any]) -> dict[str, str]:
    """Return the docstring's text on each parameter of an estimator or function, untyped."""
    entries = _section(inspect.getdoc(documented) or "", "Parameters")[1]
    return {
        name: inspect.cleandoc(entry.partition("\n")[2])
        for names, entry in entries.items()
        for name in names.split(", ")
    }


def _completed(text: str, base: str, section: str) -> str:
    """A docstring (numpydoc) with a section that has what that of the base has, and more.

    The base's first entry comes first, then what is new, then the others in the base's order; what
    the docstring says of an entry itself is kept.
    """
    (start, stop), own = _section(text, section)
    inherited = _section(base, section)[1]
    head, *others = inherited
    new = [name for name in own if name not in inherited]
    entries = [own[name] if name in own else inherited[name] for name in (head, *new, *others)]
    lines = text.split("\n")
    if start == stop:  # no such section yet: behind the parameters
        start = stop = _section(text, "Parameters")[0][1]
        entries = ["", section, "-" * len(section), *entries]
    return "\n".join([*lines[:start], *entries, *lines[stop:]])


def _section(text: str, section: str) -> tuple[tuple[int, int], dict[str, str]]:
    """From which line to which a section of a docstring goes, and its entries by name."""
    lines = text.split("\n")
    rules = [i for i, line in enumerate(lines) if line and not line.strip("-")]
    if section not in lines:
        nowhere = rules[0] - 2 if rules else len(lines)
        return (nowhere, nowhere), {}
    first = lines.index(section) + 2
    last = next((i - 1 for i in rules if i > first), len(lines))
    while not lines[last - 1]:
        last -= 1
    starts = [i for i in range(first, last) if lines[i][:1].strip()]
    entries = {
        lines[a].split(" :")[0]: "\n".join(lines[a:b])
        for a, b in zip(starts, [*starts[1:], last], strict=True)
    }
    return (first, last), entries
