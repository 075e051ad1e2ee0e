"""The box of an estimator in a notebook links to its page, once the pages are hosted."""

import re
from pathlib import Path

import pytest
from sklearn.model_selection import GridSearchCV

from skdppca import DPGauss, _sklearn
from skdppca.model_selection import PrivateSearchCV

from .estimators import ESTIMATORS, on_all_estimators

ADDRESS = "https://docs.example"
API = Path(__file__).parent.parent / "doc" / "api.rst"


class Mine(DPGauss):
    """A user's own, in a module that is not ours."""


def links(estimator):
    return re.findall(r'class="[^"]*doc-link[^"]*"[^>]*href="([^"#]*)"', estimator._repr_html_())


@pytest.fixture
def hosted(monkeypatch):
    monkeypatch.setattr(_sklearn, "DOCUMENTATION", ADDRESS)


@on_all_estimators
def test_an_estimator_links_to_its_page(hosted, factory):
    assert links(factory()) == [f"{ADDRESS}/api/generated/skdppca.{factory.__name__}.html"]


def test_a_search_links_to_its_page(hosted):
    page = "skdppca.model_selection.PrivateSearchCV"
    assert f"{ADDRESS}/api/generated/{page}.html" in links(PrivateSearchCV(DPGauss(), {}))


@pytest.mark.parametrize(
    "name",
    [
        *(cls.__name__ for _, cls in ESTIMATORS),
        "model_selection.PrivateSearchCV",
    ],
)
def test_that_page_is_made(name):
    assert f"   skdppca.{name}\n" in API.read_text(encoding="utf-8")


@on_all_estimators
def test_without_an_address_there_is_no_link(monkeypatch, factory):
    monkeypatch.setattr(_sklearn, "DOCUMENTATION", "")
    assert links(factory()) == []


def test_an_estimator_of_a_user_links_nowhere(hosted):
    assert links(Mine()) == []


def test_scikit_learn_links_to_its_own_pages(hosted):
    own, ours = links(GridSearchCV(DPGauss(), {}))[0], links(DPGauss())[0]
    assert own.startswith("https://scikit-learn.org/") and ours.startswith(ADDRESS)
