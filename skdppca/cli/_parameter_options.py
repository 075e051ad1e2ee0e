"""Options for parameters: their defaults, words and help are those that the parameters have."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from ..decomposition import PrivatePCA
from ..decomposition.parameters import described, words_of


def add_parameter(
    command: ArgumentParser,
    *flags: str,
    dest: str | None = None,
    of: Callable[..., Any] = PrivatePCA,
    sentences: int = 1,
    **own: Any,
) -> None:
    """Add an option for a parameter of an estimator or a function.

    Parameters
    ----------
    command : ArgumentParser
    flags : str
        Names of the option.
    dest : str, optional
        Name of the parameter; by default that of the option.
    of : callable, default=PrivatePCA
        Whose parameter it is.
    sentences : int, default=1
        How many sentences of the parameter's description the help has.
    own
        What this option has in place of the parameter's own default, words or help.
    """
    name = dest or flags[-1].lstrip("-").replace("-", "_")
    option = {"default": signature(of).parameters[name].default}
    words = words_of(PrivatePCA, name)
    if words and not {"type", "action"} & {*own}:
        option["choices"] = sorted(words, key=lambda word: (word != option["default"], word))
    option |= {"help": _help(of, name, sentences)} | own
    if option.get("required"):
        del option["default"]
    elif type(option["default"]) in (str, int, float) and "default" not in option["help"]:
        option["help"] += " (default: %(default)s)"
    command.add_argument(*flags, dest=name, **option)


def parameters(options: Namespace, of: Signature) -> dict[str, Any]:
    """The options that are named like parameters of what is called."""
    return {name: one for name, one in vars(options).items() if name in of.parameters}


def _help(documented: Callable[..., Any], name: str, sentences: int) -> str:
    """What a docstring says of a parameter, as argparse has it: first sentences, and all words."""
    text = described(documented).get(name, "").replace("`", "").replace("%", "%%")
    about, *words = (" ".join(part.split()) for part in re.split(r'\n+- (?=")', text))
    said = " ".join(re.findall(r"\S.*?\.(?= |$)", about)[:sentences])
    said = said[:1].lower() + said[1:-1]
    entries = (re.fullmatch(r'"(.+?)": (.+?)\.( .*)?', word) for word in words)
    return "; ".join([said, *(f"{entry[1]}: {entry[2]}" for entry in entries if entry)])
