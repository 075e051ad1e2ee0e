"""Remedies install from where this copy came from, and never a name that anyone could claim."""

import json
import re
import shlex
from pathlib import Path

import pytest

from skdppca import __version__
from skdppca.privacy import installing
from skdppca.privacy.installing import how_to_install

PACKAGE = Path(installing.__file__).parents[1]
WHEEL = f"skdppca-{__version__}-py3-none-any.whl"


class Found:
    """A distribution with these files of metadata."""

    version = __version__

    def __init__(self, **files):
        self._files = files

    def read_text(self, name):
        return self._files.get(name)


@pytest.mark.parametrize(
    ("origin", "argument"),
    [
        ({"url": "file:///my%20src/sk", "dir_info": {}}, ["/my src/sk[report]"]),
        (
            {"url": "file:///src/sk", "dir_info": {"editable": True}},
            ["-e", "/src/sk[report]"],
        ),
        ({"url": f"file:///d/{WHEEL}", "archive_info": {}}, [f"/d/{WHEEL}[report]"]),
        ({"url": "https://h/s.whl", "archive_info": {}}, ["skdppca[report] @ https://h/s.whl"]),
        (
            {"url": "https://h/s.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ["skdppca[report] @ git+https://h/s.git@abc"],
        ),
    ],
)
def test_a_remedy_installs_from_where_this_copy_came_from(monkeypatch, origin, argument):
    found = Found(**{"direct_url.json": json.dumps(origin)})
    monkeypatch.setattr(installing, "_distribution", lambda: found)
    assert shlex.split(how_to_install("report")) == ["pip", "install", *argument]


def test_a_copy_of_unknown_origin_is_installed_from_its_wheel(monkeypatch):
    monkeypatch.setattr(installing, "_distribution", Found)
    assert shlex.split(how_to_install("plot")) == ["pip", "install", f"{WHEEL}[plot]"]


def test_a_copy_that_is_run_from_its_source_is_installed_from_there(monkeypatch):
    monkeypatch.setattr(installing, "_distribution", lambda: None)
    assert shlex.split(how_to_install("plot")) == ["pip", "install", f"{PACKAGE.parent}[plot]"]


def test_no_remedy_of_the_package_names_it_alone():
    claimed = re.compile(r"pip install ['\"]?skdppca")
    texts = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.txt"), *PACKAGE.rglob("*.html")]
    assert not [path.name for path in texts if claimed.search(path.read_text())]
