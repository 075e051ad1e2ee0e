"""Options follow the parameters that they stand for."""

import inspect

import pytest

from skdppca import PrivatePCA
from skdppca._sklearn import StrOptions
from skdppca.cli import _argument_readers, _parser
from skdppca.planner import plan

WORDS = {"fit": ("adjacency", "scale", "missing"), "plan": ("missing", "tails", "gap")}


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
    ("name", "read", "texts"),
    [
        ("epsilon", _argument_readers.any_epsilon, ["0", "-1", "1e-9", "1", "inf"]),
        ("delta", _argument_readers.delta, ["-1", "0", "1e-300", "0.9", "1", "2"]),
        (
            "n_components",
            _argument_readers.components,
            ["0", "0.5", "1", "1.5", "7", "auto", "mle", "all"],
        ),
        ("norm_bound", _argument_readers.positive, ["-1", "0", "1e-9", "1", "inf"]),
    ],
)
def test_an_option_takes_what_the_parameter_takes(name, read, texts):
    def taken(text):
        try:
            return read(text)
        except _argument_readers.ArgumentTypeError:
            return None

    for text in texts:
        value = taken(text)
        pca = PrivatePCA(**{name: text if value is None else value})
        if value is None:
            with pytest.raises(ValueError, match=name):
                pca.set_params(**{name: _number(text)})._validate_params()
        else:
            pca._validate_params()


def _number(text):
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def test_the_help_is_what_the_docstring_says():
    text = actions("fit")["adjacency"].help
    assert text.startswith(
        "how neighbouring data sets differ; add-remove: by one record more or less;"
    )
    assert text.endswith("(default: %(default)s)")
