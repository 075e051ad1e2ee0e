"""Options follow the parameters that they stand for."""

import inspect
import re
from argparse import ArgumentTypeError

import pytest

from skdppca import PrivatePCA
from skdppca._sklearn import StrOptions
from skdppca.cli import _parser
from skdppca.cli._fit_command import FitCommand
from skdppca.cli._parameter_options import scales
from skdppca.planner import plan

WORDS = {"fit": ("adjacency", "missing"), "plan": ("missing", "tails", "gap")}


def actions(command):
    return {
        action.dest: action
        for action in _parser.parser_of(command)
        ._subparsers._group_actions[0]
        .choices[command]
        ._actions
    }


@pytest.mark.parametrize(("command", "name"), [(c, name) for c in WORDS for name in WORDS[c]])
def test_an_option_takes_the_words_of_the_field(monkeypatch, command, name):
    new = [StrOptions({"a", "b"})]
    monkeypatch.setitem(PrivatePCA._parameter_constraints, name, new)
    assert actions(command)[name].choices == ["a", "b"]


@pytest.mark.parametrize(
    ("command", "of"), [("fit", PrivatePCA), ("demo", PrivatePCA), ("plan", plan)]
)
def test_an_option_has_the_default_of_the_parameter(command, of):
    parameters, found = inspect.signature(of).parameters, actions(command)
    own = {"fit": {"n_components"}}.get(command, set())
    shared = [name for name in found if name in parameters and not found[name].required]
    assert len(shared) > 1
    for name in {*shared} - own - {"method", "spectrum", "unit"}:
        assert found[name].default == parameters[name].default


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("private", "private"),
        ("private:age", {"age": "private"}),
        ('private:age, "weight, kg"', {"age": "private", "weight, kg": "private"}),
        ("private:", {"": "private"}),
    ],
)
def test_private_scales_are_those_of_all_columns_or_of_the_named(text, scale):
    assert scales(text) == scale


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("3", "3 is no scale; write private, or private:age,bmi"),
        ("privat:age", "did you mean private?"),
        ("private:age,age", "names a column twice"),
    ],
)
def test_other_texts_are_no_scales(text, says):
    with pytest.raises(ArgumentTypeError, match=re.escape(says)):
        scales(text)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The 'epsilon' parameter of X must be", "--epsilon must be"),
        ("n_components=9 exceeds n_features=4;", "-k 9 exceeds n_features=4;"),
        ("set missing='mean', or center=False", "set --missing mean, or --no-center"),
        ("it was released with center=True", "it was released with no --no-center"),
        ("choose accountant=None", "choose no --ledger"),
        ("/data/delta=1/t.csv cannot be read", "/data/delta=1/t.csv cannot be read"),
    ],
)
def test_an_error_names_options_in_the_place_of_parameters(said, shown):
    assert FitCommand.in_options(said) == shown
