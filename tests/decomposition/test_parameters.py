"""Constructors: a parameter, its default, its constraints and its documentation are stated once."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
import textwrap
from dataclasses import is_dataclass
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from skdppca import GDPPCA, KDPPCA, MergedPCA, PrivatePCA, SmoothSensitivityPCA
from skdppca._sklearn import StrOptions
from skdppca.decomposition import BasePrivatePCA
from skdppca.decomposition.parameters import words_of
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.planner import plan

from ..estimators import ESTIMATORS, on_all_estimators

FRAME = load_iris(as_frame=True).data
SECTIONS = [
    "Parameters",
    "Attributes",
    "Raises",
    "See Also",
    "Notes",
    "References",
    "Examples",
]
# What some methods choose by themselves; all other shared parameters have one default in all.
OF_A_METHOD = {"n_components"}


def sections(docstring):
    """The lines below every title that is underlined, as numpydoc has it; strict about it."""
    lines = docstring.split("\n")
    rules = [i for i, line in enumerate(lines) if line and not line.strip("-")]
    titles = [lines[i - 1] for i in rules]
    assert [len(lines[i]) for i in rules] == [len(title) for title in titles]
    assert all(not lines[i - 2] for i in rules), "a title follows an empty line"
    assert titles == [title for title in SECTIONS if title in titles], "each once, in this order"
    ends = [*(i - 1 for i in rules[1:]), len(lines)]
    return {t: lines[i + 1 : end] for t, i, end in zip(titles, rules, ends, strict=True)}


def entries(docstring, section):
    """Name -> (type, description) of a section of parameters or attributes."""
    found = {}
    for line in sections(docstring).get(section, []):
        if line.startswith("    "):
            found[name][1].append(line[4:])  # noqa: F821
        elif line:
            name, kind = re.fullmatch(r"(\w+) : (\S.*)", line).groups()
            assert name not in found, f"{name} is documented twice"
            found[name] = (kind, [])
    return {name: (kind, "\n".join(text)) for name, (kind, text) in found.items()}


def written(cls):
    """The docstring as it stands in the source, before the base's entries are added."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    return ast.get_docstring(tree.body[0])


def constraints(cls):
    """Name -> scikit-learn's constraints."""
    return cls._parameter_constraints


def stated(cls, name):
    """The constraints and the default of a parameter, to be compared."""
    default = inspect.signature(cls).parameters[name].default
    return tuple(map(str, constraints(cls)[name])), default


def families():
    """Every estimator, and every base of one, that states parameters, with the base it extends."""
    classes = {cls for _, factory in ESTIMATORS for cls in factory.__mro__}
    classes = {cls for cls in classes if "_parameter_constraints" in vars(cls)}
    for cls in sorted(classes - {BasePrivatePCA}, key=lambda cls: cls.__name__):
        yield cls, next(base for base in cls.__mro__[1:] if base in classes)


on_all_families = pytest.mark.parametrize(
    ("cls", "base"), [pytest.param(*pair, id=pair[0].__name__) for pair in families()]
)


@on_all_estimators
def test_the_signature_is_the_parameters(factory):
    signature = inspect.signature(factory).parameters
    assert list(signature) == list(constraints(factory))
    assert sorted(signature) == sorted(factory().get_params())
    first, *others = signature.values()
    assert (first.name, first.kind) == ("n_components", first.POSITIONAL_OR_KEYWORD)
    assert {other.kind for other in others} == {first.KEYWORD_ONLY}
    defaults = {name: entry.default for name, entry in signature.items()}
    assert factory().get_params() == defaults


def test_what_all_share_has_one_default_and_one_constraint():
    for name in set(constraints(BasePrivatePCA)) - OF_A_METHOD:
        ways = {stated(factory, name) for _, factory in ESTIMATORS}
        if name == "delta":  # may be 0 where there is a pure guarantee
            ways -= {stated(SmoothSensitivityPCA, name)}
        assert ways == {stated(BasePrivatePCA, name)}, name


@on_all_estimators
def test_the_docstring_documents_exactly_the_parameters(factory):
    documented = entries(factory.__doc__, "Parameters")
    assert sorted(documented) == sorted(factory().get_params())
    assert next(iter(documented)) == "n_components"
    assert all(text.strip() for _, text in documented.values())


@on_all_estimators
def test_documented_defaults_and_options_are_the_real_ones(factory):
    for name, (kind, _) in entries(factory.__doc__, "Parameters").items():
        kind, default = kind.rsplit(", default=", 1)
        assert ast.literal_eval(default) == factory().get_params()[name], name
        allowed = constraints(factory)[name]
        assert ("None" in kind) == (None in allowed), name
        options = [one.options for one in allowed if isinstance(one, StrOptions)]
        if options and not kind.startswith("str"):
            assert set(re.findall(r'"([^"]+)"', kind)) == set().union(*options), name


@on_all_estimators
def test_the_docstring_documents_exactly_what_fit_stores(factory):
    pca = factory(2, epsilon=20.0, scale="private").fit(FRAME)
    assert sorted(entries(factory.__doc__, "Attributes")) == sorted(
        name for name in vars(pca) if name.endswith("_")
    )


@on_all_families
@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_what_a_class_does_not_document_its_base_does(cls, base, section):
    own, theirs = entries(written(cls), section), entries(inspect.cleandoc(base.__doc__), section)
    assert entries(inspect.cleandoc(cls.__doc__), section) == theirs | own


@on_all_estimators
def test_copies_have_the_same_parameters(factory):
    mean = np.zeros(4)
    pca = factory(2, epsilon=0.5, norm_bound=3.0, mean=mean, random_state=0)
    assert pca.mean is mean
    for twin in (clone(pca), copy.copy(pca), copy.deepcopy(pca), pickle.loads(pickle.dumps(pca))):
        assert type(twin) is factory
        np.testing.assert_equal(twin.get_params(), pca.get_params())


@pytest.mark.parametrize(
    ("refuse", "meant"),
    [
        (lambda: PrivatePCA(2, method="gaus").fit(FRAME), "'gauss'"),
        (lambda: PrivatePCA("aut").fit(FRAME), "'auto'"),
        (lambda: KDPPCA(2, strategy="deflate").fit(FRAME), "'deflation'"),
        (lambda: GDPPCA(2, kernel="winsorised").fit(FRAME), "'winsorized'"),
        (lambda: PrivatePCA(2, method="gauss", method_params={"clip": "aut"}).fit(FRAME), "'auto'"),
        (lambda: plan(100, 9, 2, scale="privat"), "'private'"),
        (lambda: PrivatePCA(2, scale="standard").fit(FRAME), "'private'"),
        (
            lambda: PrivateNearestCentroid([0], adjacency="replace").fit(FRAME, FRAME),
            "'replace-one'",
        ),
    ],
)
def test_an_error_about_a_word_says_which_one_may_be_meant(refuse, meant):
    with pytest.raises(ValueError, match=f"; did you mean {meant}\\?$") as raised:
        refuse()
    assert raised.value.__context__ is None


@pytest.mark.parametrize("path", ["study.ledger", Path("study.ledger")], ids=str)
def test_a_path_is_no_accountant_and_says_what_is(path):
    with pytest.raises(ValueError, match=r"write accountant=PrivacyLedger\('study.ledger'\)$"):
        PrivatePCA(2, accountant=path).fit(FRAME)


def words_of_type(hint):
    """The words that a type names."""
    if get_origin(hint) is Literal:
        return {word for word in get_args(hint) if isinstance(word, str)}
    return set().union(*map(words_of_type, get_args(hint)))


@pytest.mark.parametrize(
    "cls",
    [*(cls for _, cls in ESTIMATORS), MergedPCA, PrivateNearestCentroid, PrivateSearchCV],
    ids=lambda cls: cls.__name__,
)
def test_types_name_exactly_the_words_that_parameters_take(cls):
    hints = get_type_hints(cls if is_dataclass(cls) else cls.__init__)
    for name in inspect.signature(cls).parameters:
        assert words_of_type(hints[name]) == words_of(cls, name), name
        assert str not in get_args(hints[name]), name
