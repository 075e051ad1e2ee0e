"""Every public name has a page, and the box of an estimator in a notebook links to it."""

import importlib.util
import re
from email.message import Message
from importlib.metadata import PackageNotFoundError

import pytest
from sklearn.model_selection import GridSearchCV

from skdppca import DPGauss, __version__
from skdppca.decomposition import METHODS, parameters
from skdppca.model_selection import PrivateSearchCV
from skdppca.statistics import KINDS, Statistic

from ..benchmark_modules import ROOT, load
from ..estimators import ESTIMATORS, on_all_estimators

ADDRESS = "https://docs.example"
DOC = ROOT / "doc"


LISTS = load("lists", DOC / "_ext")
PAGES = {f"api/{page.stem}": page.read_text(encoding="utf-8") for page in DOC.glob("api/*.rst")}
PAGES |= {name: LISTS.filled(name) for name in LISTS.PAGES}
LISTED = [
    line.strip()
    for name, page in PAGES.items()
    for line in page.splitlines()
    if name.startswith("api/") and line.startswith("   skdppca.")
]


# Of the page of a method, in this order.
SECTIONS = (
    "Use it when",
    "Do not use it when",
    "Example",
    "What it costs you",
    "What it releases",
    "Settings worth knowing",
    "For reviewers",
    "Algorithm",
    "Proof",
    "Cost table",
    "References",
)


class Mine(DPGauss):
    """A user's own, in a module that is not ours."""


def links(estimator):
    return re.findall(r'class="[^"]*doc-link[^"]*"[^>]*href="([^"#]*)"', estimator._repr_html_())


def declare(monkeypatch, *urls):
    """Let the installed package declare these addresses."""
    declared = Message()
    for url in urls:
        declared["Project-URL"] = url
    monkeypatch.setattr(parameters, "metadata", lambda _: declared)
    monkeypatch.setattr(parameters, "documentation", parameters.documentation.__wrapped__)


@pytest.fixture
def hosted(monkeypatch):
    declare(monkeypatch, "Source, https://code.example", f"Documentation, {ADDRESS}/")


@pytest.mark.parametrize(
    ("estimator", "page"),
    [
        *((factory(), f"skdppca.{factory.__name__}") for _, factory in ESTIMATORS),
        (PrivateSearchCV(DPGauss(), {}), "skdppca.model_selection.PrivateSearchCV"),
    ],
)
def test_an_estimator_links_to_its_page_which_is_made(hosted, estimator, page):
    assert links(estimator)[0] == f"{ADDRESS}/api/generated/{page}.html"
    assert page in LISTED


def public_names():
    """What the build of the pages asks for, from `doc/_ext`."""
    module = load("public_names", DOC / "_ext")
    if not importlib.util.find_spec("cryptography"):  # of an extra
        module.MODULES = tuple(name for name in module.MODULES if name != "skdppca.federated")
    return module


def test_every_public_name_is_listed():
    exported = [names for _, names in public_names().exported().values()]
    assert [names for names in exported if set(LISTED).isdisjoint(names)] == []


def test_a_class_lacks_what_is_not_described():
    described = {"skdppca.maps.ProjectionMap", "skdppca.maps.ProjectionMap.clipped"}
    lacking = public_names().missing(described)
    assert "skdppca.maps.ProjectionMap.threshold" in lacking
    assert "skdppca.maps.ProjectionMap.clipped" not in lacking
    assert "skdppca.maps.projection_map" in lacking


def test_the_pages_list_nothing_twice():
    assert len(LISTED) == len(set(LISTED))


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_a_method_has_a_page_that_compares_it_and_ends_with_its_proof(method):
    page = (DOC / "methods" / f"{LISTS.page(method)}.rst").read_text(encoding="utf-8")
    assert all(LISTS.facts(method))
    assert f"\n{method.estimator.__name__}\n===" in page
    found = [page.find(f"\n{title}\n") for title in SECTIONS]
    assert found == sorted(found) and -1 not in found


@on_all_estimators
def test_the_changelog_names_an_estimator(factory):
    assert f"`{factory.__name__}`" in (DOC.parent / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [n for n, kind in KINDS.items() if issubclass(kind, Statistic)])
def test_the_table_of_sensitivities_has_every_statistic(name):
    listed = f"* - ``{name}``" in (DOC / "theory" / "sensitivities.rst").read_text(encoding="utf-8")
    assert listed, f"{name} has no row in doc/theory/sensitivities.rst"


def test_every_page_of_a_method_is_in_the_table_and_the_toctree():
    pages = {path.stem for path in DOC.glob("methods/*.rst")} - {"index"}
    table, toctree = PAGES["methods/index"].split(".. toctree::")
    assert pages == set(re.findall(r"^   \* - :doc:`\w+ <(\w+)>`$", table, re.MULTILINE))
    assert pages == set(re.findall(r"^   (\w+)$", toctree, re.MULTILINE))


def missing(name):
    raise PackageNotFoundError(name)


@on_all_estimators
@pytest.mark.parametrize("urls", [(), ("Source, https://code.example",), None])
def test_without_an_address_or_an_installed_package_there_is_no_link(monkeypatch, factory, urls):
    declare(monkeypatch, *(urls or ()))
    if urls is None:
        monkeypatch.setattr(parameters, "metadata", missing)
    assert links(factory()) == []
    assert ">?<" not in factory()._repr_html_()


def test_an_estimator_of_a_user_links_nowhere(hosted):
    assert links(Mine()) == []


def test_scikit_learn_links_to_its_own_pages(hosted):
    own, ours = links(GridSearchCV(DPGauss(), {}))[0], links(DPGauss())[0]
    assert own.startswith("https://scikit-learn.org/") and ours.startswith(ADDRESS)


# One version and one date in all places that state them.

CITED = dict(
    re.findall(
        r"^(version|date-released): \W*(.*?)\W*$", (DOC.parent / "CITATION.cff").read_text(), re.M
    )
)
VERSION, DATE = re.search(
    r"^## (\S+) \((\S+)\)$", (DOC.parent / "CHANGELOG.md").read_text(), re.M
).groups()


def test_citation_and_changelog_are_of_this_version():
    assert (CITED["version"], VERSION) == (__version__, __version__)


@pytest.mark.skipif(DATE == "unreleased", reason="it has no date before it is released")
def test_the_citation_has_the_date_of_the_changelog():
    assert CITED["date-released"] == DATE
