"""Every help ends with examples that parse; a slip is answered by what was meant."""

import argparse
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from skdppca import PrivatePCA
from skdppca.cli._parameter_options import Command, examples
from skdppca.cli._parser import COMMANDS, parser_of
from skdppca.decomposition.methods import NAMES
from skdppca.planner import plan

from .conftest import assert_refused


def commands(parser, path=()):
    """The commands below a parser, those that others are below among them."""
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if path:
        yield " ".join(path), parser
    for action in below:
        for name, one in action.choices.items():
            yield from commands(one, (*path, name))


# What needs the extra federated is left out without it.
FEDERATED = find_spec("cryptography") is not None
CALLED = [name for name in COMMANDS if name != "site" or FEDERATED]

ALL = {
    path: parser
    for called in CALLED
    for path, parser in commands(parser_of(called))
    if path.partition(" ")[0] == called
}


LEAVES = {path: one for path, one in ALL.items() if one.get_default("command")}
EXAMPLES = {path: examples(one.get_default("command")) for path, one in LEAVES.items()}


@pytest.mark.parametrize("path", LEAVES)
def test_a_help_ends_with_examples_of_its_own(path):
    assert EXAMPLES[path]
    text = LEAVES[path].format_help()
    assert text.startswith(f"usage: skdppca {path}")
    assert text.endswith("".join(f"  {one}\n" for one in EXAMPLES[path]))


@pytest.mark.parametrize("command", [command for path in LEAVES for command in EXAMPLES[path]])
def test_an_example_parses(command):
    words = shlex.split(command.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0])
    assert words[0] == "skdppca"
    assert issubclass(parser_of(words[1]).parse_args(words[1:]).command, Command)


@pytest.mark.parametrize("path", LEAVES)
def test_every_option_has_a_help(path):
    assert not [one.dest for one in LEAVES[path]._actions if not one.help and one.dest != "server"]


FITTED = ("--epsilon", 1, "--delta", 1e-6, "--out", "o")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("fti",), "fit"),
        (("ledger", "shw"), "show"),
        (("fit", "t.csv", "--method", "gaus"), "gauss"),
        (("plan", "--n", 9, "--d", 4, "--k", 2, "--epsilno", 1), "--epsilon"),
        (("ledger", "show", "a.ledger", "--jsno"), "--json"),
        (("fit", "t.csv", "--grops", "a", *FITTED), "--groups"),
    ],
)
def test_a_slip_is_answered_by_what_was_meant(run, arguments, meant):
    assert_refused(run(*arguments), f"; did you mean {meant}?; see skdppca", "--help")


@pytest.mark.parametrize("arguments", [("xyzzy",), ("declare", "--template", "--json")])
def test_what_is_like_nothing_is_not_guessed(run, arguments):
    assert "did you mean" not in run(*arguments).err


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("skdppca pl", "plan"),
        ("skdppca ledger sh", "show"),
        ("skdppca ledger show --js", "--json"),
        ("skdppca fit t.csv --eps", "--epsilon"),
        *[("skdppca site sh", "show")] * FEDERATED,
        ("skdppca fit --ledger ./con", "./conftest.py"),
    ],
)
def test_bash_completes_commands_options_and_files(run, words, completed):
    script = run("completion", "bash").out
    count = len(words.split()) - 1
    ask = f"COMP_WORDS=({words}); COMP_CWORD={count}; _shtab_skdppca; echo ${{COMPREPLY[@]}}"
    bash = [shutil.which("bash"), "-c", f"{script}\n{ask}"]
    done = subprocess.run(bash, capture_output=True, text=True, cwd=Path(__file__).parent)
    assert (done.stdout.strip(), done.stderr) == (completed, "")


def test_zsh_gets_a_script_of_its_own(run):
    assert run("completion", "zsh").out.startswith("#compdef skdppca\n")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gauss", "residual-gauss", "DPGauss"])
def test_python_takes_the_words_of_the_shell(method):
    pca = PrivatePCA(2, method=method).fit(np.random.default_rng(0).standard_normal((300, 4)))
    assert pca.privacy_.details["method"] == NAMES[method]
    assert plan(2000, 5, 2, methods=[method]).rows[0].method == NAMES[method]


def test_commands_are_imported_without_pyarrow():
    modules = [
        f"skdppca.cli._{name}_command" for name in "demo fit ledger merge plan report".split()
    ]
    code = f"import sys; sys.modules['pyarrow'] = None; import {', '.join(modules)}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
