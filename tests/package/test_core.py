"""The core works alone: a copy without all that stands around it fits, and passes its tests."""

import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

import skdppca

PACKAGE = Path(skdppca.__file__).parent
ROOT = PACKAGE.parent
ROOMS = ("mechanisms", "noise", "records", "statistics")  # whose quick tests run there
FITS = """
import sys
import numpy as np
import skdppca
from skdppca.decomposition import METHODS, PrivatePCA
X = np.random.default_rng(0).normal(size=(400, 5)) * np.arange(5, 0, -1)
for estimator in [PrivatePCA, *(method.estimator for method in METHODS.values())]:
    pca = estimator(2, random_state=0).fit(X)
    assert pca.transform(X).shape == (400, 2)
    assert pca.privacy_.to_dict()
print(skdppca.__file__)
"""


def around():
    """Names of the modules and packages that the contract of the core forbids it to import."""
    contracts = ConfigParser()
    contracts.read(ROOT / "setup.cfg")
    forbidden = contracts["importlinter:contract:core"]["forbidden_modules"].split()
    return [name.removeprefix("skdppca.") for name in forbidden if name.startswith("skdppca.")]


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A folder with the core of the package, and the tests of the core that need no more."""
    folder = tmp_path_factory.mktemp("core")
    rooms = [*around(), "__main__"]
    left_out = {f"{room}{end}" for room in rooms for end in ("", ".py")}

    def unwanted(where, names):
        inside = Path(where) == PACKAGE
        return [name for name in names if name == "__pycache__" or (inside and name in left_out)]

    shutil.copytree(PACKAGE, folder / "skdppca", ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    needs_more = re.compile(rf"skdppca\.({'|'.join(around())})\b")
    for path in [*(ROOT / "tests").glob("*.py")] + [
        path for room in ROOMS for path in (ROOT / "tests" / room).rglob("*.py")
    ]:
        if path.name == "conftest.py" or not needs_more.search(path.read_text(encoding="utf-8")):
            copy = folder / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    return folder


def run(folder, *arguments):
    """Run Python in a folder, whose package it imports."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_every_estimator_fits_where_nothing_is_but_the_core(core):
    done = run(core, "-c", FITS)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(core)


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_core_passes_its_tests_there(core, room):
    done = run(core, "-m", "pytest", "-q", "-n", "0", "-m", "not slow", f"tests/{room}")
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 50
