"""Options of a command: fields of its class, with the help that docstrings have."""

from __future__ import annotations

import argparse
import csv
import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import Field, field, fields
from functools import partial
from inspect import Signature, getdoc, signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

from .._text import meant
from ..decomposition import PrivatePCA
from ..decomposition.parameters import described, words_of
from ..privacy.declared import PRIVATE


def number(text: str) -> float:
    """Read a number. One that is too large is no infinity: that would be a fit without privacy."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or (math.isinf(value) and "inf" not in text.lower()):
        raise ArgumentTypeError(f"{text} is no finite number; write one such as 0.5")
    return value


def at_least(least: int, what: str) -> Callable[[str], int]:
    """Return a reader of whole numbers of at least `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(
                f"{text} is no number of {what}; give a whole number of at least {least}"
            )
        return int(text)

    return read


def components(text: str) -> int | float | str:
    """Read a number of components, or how a fit chooses it."""
    with suppress(ValueError):
        count = float(text)
        return int(count) if count.is_integer() else count
    return text


def delimiter(text: str) -> str:
    """Read what stands between cells; a tab is hard to write on a command line."""
    return {"tab": "\t", r"\t": "\t"}.get(text, text)


def method(text: str) -> str:
    """Return the command line's name of a method, given that name or the one of its class."""
    from ..decomposition import METHODS, PrivatePCA

    words = {name.lower(): method.command for name, method in METHODS.items()}
    return (words | {PrivatePCA.__name__.lower(): "auto"}).get(text.lower(), text)


def names(text: str) -> list[str]:
    """Names with commas between them; one that has a comma itself is in double quotes.

    An empty one is that of a column without a name.
    """
    return next(csv.reader([text], skipinitialspace=True), []) or [""]


def scales(text: str) -> str | dict[str, str]:
    """Read whose scales are private: those of all columns, or of the named ones only."""
    word, colon, columns = text.partition(":")
    if word != PRIVATE:
        raise ArgumentTypeError(
            f"{text} is no scale; write {PRIVATE}, or {PRIVATE}:age,bmi for some columns only"
            f"{meant([word], [PRIVATE], str)}"
        )
    if not colon:
        return word
    given = names(columns)
    if len({*given}) < len(given):
        raise ArgumentTypeError(f"{text} names a column twice; give each once")
    return dict.fromkeys(given, word)


def option(
    *flags: str, of: Callable[..., Any] | None = None, sentences: int = 1, **own: Any
) -> Any:
    """Declare an option of a command, which its docstring describes.

    Parameters
    ----------
    flags : str
        Names of the option; by default that of the field.
    of : callable, optional
        An estimator or a function with a parameter of the field's name. The option has its default
        and its words, and its help unless the command describes the field itself.
    sentences : int, default=1
        How many sentences of the parameter's description the help has.
    own
        Keywords of `ArgumentParser.add_argument`; by default the type is that of the field. Options
        of one `group` exclude each other.
    """
    return field(metadata={"flags": flags, "of": of, "sentences": sentences, "own": own})


def argument(**own: Any) -> Any:
    """Declare an argument that is given by its place."""
    return field(metadata={"flags": None, "of": None, "sentences": 1, "own": own})


flag = partial(option, action="store_true")

# Readers of the texts of options, by the types of their fields.
READERS: dict[type, Callable[[str], Any]] = {Path: Path, int: int, float: number}


class Command(argparse.Namespace):
    """A command with what it was given.

    Parameters
    ----------
    directory : Path
        The folder that `skdppca fit` wrote.
    file : Path
        The ledger.
    title : str or None
        Public title of the report.
    context : Path or None
        A TOML file with what you declare about the release; `skdppca declare --template`
        prints one to fill in.
    out : Path
        The folder to write the results to.
    force : bool
        Replace an earlier release in --out.
    pictures : bool
        Draw nothing.
    details : bool
        Also print the questions that were asked.
    json : bool
        Print JSON in place of the text.
    """

    def run(self) -> int | None:
        """Do it, and return the exit status."""
        raise NotImplementedError

    @classmethod
    def in_options(cls, text: str) -> str:
        """An error of the package, with the options of this command in place of parameters."""
        text = text.replace("accountant=None", "no --ledger")
        for entry in fields(cls):  # type: ignore[arg-type]
            name, flag = entry.name, _flags(entry)[0]
            text = re.sub(rf"The '{name}' parameter of \w+", flag, text)
            given = entry.metadata["own"].get("action") != "store_false"
            text = re.sub(rf"(?<![\w/]){name}={given}\b", flag, text)
            text = re.sub(rf"(?<![\w/]){name}={not given}\b", f"no {flag}", text)
            text = re.sub(rf"(?<![\w/]){name}='?([^\s,;:)'{{]+)'?", rf"{flag} \1", text)
        return text


class Frees(argparse.Action):
    """An option with which others need not be given."""

    def __init__(self, *names: Any, frees: tuple[str, ...], **own: Any) -> None:
        super().__init__(*names, **own)
        self.frees = frees

    def __call__(self, parser: argparse.ArgumentParser, options: Any, value: Any, *_: Any) -> None:
        setattr(options, self.dest, self.nargs == 0 or value)
        for action in parser._actions:
            action.required = action.required and action.dest not in self.frees


def add_options(parser: argparse.ArgumentParser, command: type[Command]) -> None:
    """Add the options of a command, and the examples that its docstring ends with."""
    parser.set_defaults(command=command)
    parser.epilog = "\n".join(["examples:", *(f"  {line}" for line in examples(command))])
    texts = described(Command) | described(command)
    groups: dict[str, Any] = {}
    hints = get_type_hints(command)
    for entry in fields(command):  # type: ignore[arg-type]
        name, flags, of = entry.name, entry.metadata["flags"], entry.metadata["of"]
        own: dict[str, Any] = {"help": _sentence(texts[name])} if name in texts else {}
        kinds = {hints[name], *get_args(hints[name])}
        readers = [read for kind, read in READERS.items() if kind in kinds]
        own |= {"type": readers[0]} if readers else {}
        own |= entry.metadata["own"]
        if of is not None:
            own = _of_parameter(of, name, entry.metadata["sentences"], own)
        default = own.get("default")
        if type(default) in (str, int, float) and "default" not in own["help"]:
            own["help"] += " (default: %(default)s)"
        to: Any = parser
        if group := own.pop("group", None):
            if group not in groups:
                groups[group] = parser.add_mutually_exclusive_group()
            to = groups[group]
        required = own.pop("required", flags is None)
        place = {} if flags is None else {"dest": name}
        to.add_argument(*_flags(entry), **place, **own).required = required


def examples(command: type[Command]) -> list[str]:
    """The commands in a docstring's section of examples."""
    return (getdoc(command) or "").partition("Examples\n--------\n")[2].splitlines()


def parameters(options: argparse.Namespace, of: Signature) -> dict[str, Any]:
    """The options that are named like parameters of what is called."""
    return {name: one for name, one in vars(options).items() if name in of.parameters}


def _flags(entry: Field[Any]) -> Sequence[str]:
    """The names of an option, or the one of an argument that is given by its place."""
    name, flags = entry.name, entry.metadata["flags"]
    return [name] if flags is None else flags or [f"--{name.replace('_', '-')}"]


def _of_parameter(
    of: Callable[..., Any], name: str, sentences: int, own: dict[str, Any]
) -> dict[str, Any]:
    """Add the default, the words and the help of a parameter, where the option has none."""
    found: dict[str, Any] = {"help": _help(of, name, sentences)}
    if not own.get("required"):
        found["default"] = signature(of).parameters[name].default
    words = words_of(PrivatePCA, name)
    if words and not {"type", "action"} & own.keys():
        default = found.get("default")
        found["choices"] = sorted(words, key=lambda word: (word != default, word))
    return found | own


def _help(documented: Callable[..., Any], name: str, sentences: int) -> str:
    """Return the first sentences of a parameter's description, and all its words."""
    text = described(documented).get(name, "").replace("`", "")
    about, *words = (" ".join(part.split()) for part in re.split(r'\n+- (?=")', text))
    said = _sentence(" ".join(re.findall(r"\S.*?\.(?= |$)", about)[:sentences]))
    entries = (re.fullmatch(r'"(.+?)": (.+?)\.( .*)?', word) for word in words)
    return "; ".join([said, *(f"{entry[1]}: {entry[2]}" for entry in entries if entry)])


def _sentence(text: str) -> str:
    """A description as argparse has it: in one line, without a capital and a full stop."""
    text = " ".join(text.replace("%", "%%").split()).removesuffix(".")
    return text[:1].lower() + text[1:]
