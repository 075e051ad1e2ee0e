"""Every help ends with examples that parse; a slip is answered by what was meant."""

import argparse
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from skdppca import PrivatePCA
from skdppca.cli._examples import EXAMPLES
from skdppca.cli._parser import COMMANDS, parser_of
from skdppca.decomposition.methods import NAMES
from skdppca.planner import plan

from .conftest import is_one_line_error


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


@pytest.mark.parametrize("path", ALL)
def test_a_help_ends_with_examples_of_its_own(path):
    text = ALL[path].format_help()
    assert "examples:" in text
    for what, command in EXAMPLES[path]:
        assert f"  # {what}\n  {command}" in text
        assert command.removeprefix('eval "$(').startswith(f"skdppca {path}")


@pytest.mark.parametrize("command", [command for path in ALL for _, command in EXAMPLES[path]])
def test_an_example_parses(command):
    words = shlex.split(command.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0])
    assert words[0] == "skdppca"
    assert callable(parser_of(words[1]).parse_args(words[1:]).run)


def test_there_are_examples_of_commands_only():
    assert {*ALL} == {path for path in EXAMPLES if path.partition(" ")[0] in CALLED}


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("fti",), "fit"),
        (("ledger", "shw"), "show"),
        (("fit", "t.csv", "--method", "gaus"), "gauss"),
        (("plan", "--n", 9, "--d", 4, "--k", 2, "--epsilno", 1), "--epsilon"),
        (("ledger", "show", "a.ledger", "--plto", "a.svg"), "--plot"),
    ],
)
def test_a_slip_is_answered_by_what_was_meant(run, arguments, meant):
    result = run(*arguments)
    assert is_one_line_error(result) and f"; did you mean {meant}?" in result.err


@pytest.mark.parametrize("arguments", [("xyzzy",), ("declare", "--template", "--json")])
def test_what_is_like_nothing_is_not_guessed(run, arguments):
    assert "did you mean" not in run(*arguments).err


def test_an_unknown_option_refers_to_the_help_of_its_command(run):
    said = run("fit", "t.csv", "--grops", "a", "--epsilon", 1, "--delta", 1e-6, "--out", "o").err
    assert "did you mean --groups?; see skdppca fit --help" in said


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("skdppca pl", "plan"),
        ("skdppca ledger sh", "show"),
        ("skdppca ledger show --pl", "--plot"),
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


@pytest.mark.parametrize(
    ("path", "option", "says"),
    [
        ("fit", "--groups", "says to whom each row belongs"),
        ("verify", "--ledger", "the ledger to compare with"),
        ("verify", "--head", "that you noted when you got the release"),
        *[("site init", "--analyst", "public keys of the people who may ask")] * FEDERATED,
    ],
)
def test_the_help_of_an_option_begins_with_what_it_is(path, option, says):
    actions = {word: one for one in ALL[path]._actions for word in one.option_strings}
    assert says in actions[option].help
