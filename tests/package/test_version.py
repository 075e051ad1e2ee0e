"""One version and one date in all places that state them."""

import re
from pathlib import Path

import pytest
import yaml

import skdppca

ROOT = Path(__file__).parents[2]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text())
VERSION, DATE = re.search(
    r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M
).groups()


def test_citation_and_changelog_are_of_this_version():
    assert (CITED["version"], VERSION) == (skdppca.__version__, skdppca.__version__)


@pytest.mark.skipif(DATE == "unreleased", reason="it has no date before it is released")
def test_the_citation_has_the_date_of_the_changelog():
    assert str(CITED["date-released"]) == DATE
