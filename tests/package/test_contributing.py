"""A method and a statistic are added to a copy as CONTRIBUTING.md says: with these files only."""

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from shutil import copytree, ignore_patterns

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
ASIDE = ignore_patterns(".*", "_build", "__pycache__", "*.egg-info", "generated", "auto_*")
NAME, COMMAND, PAGE = "TwinGauss", "twin-gauss", "twin_gauss"

pytestmark = pytest.mark.slow


class Copy:
    """A copy of the repository that is written to."""

    def __init__(self, root):
        self.root = copytree(ROOT, root / "copy", ignore=ASIDE)
        self.before = self.texts()

    def texts(self):
        paths = (path for path in self.root.rglob("*") if path.suffix in {".py", ".rst", ".md"})
        return {str(path.relative_to(self.root)): path.read_text() for path in paths}

    def written(self):
        """The paths of files that are new or changed."""
        return {path for path, text in self.texts().items() if self.before.get(path) != text}

    def insert(self, path, *pairs):
        """Insert each text before the first place of another."""
        text = (self.root / path).read_text()
        for place, more in pairs:
            before, after = text.split(place, 1)
            text = before + more + place + after
        (self.root / path).write_text(text)

    def twin(self, path, other, names):
        """Write a file like another one, with other names in it."""
        text = (self.root / path).read_text()
        for name, replaced in names.items():
            text = text.replace(name, replaced)
        (self.root / other).parent.mkdir(exist_ok=True)
        (self.root / other).write_text(text)

    def run(self, *command, ends=(0,)):
        """Run a command of Python in the copy, which ends with one of these; what it printed."""
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root), "SKDPPCA_CACHE": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in ends, done.stdout + done.stderr
        return done.stdout

    def test(self, *options, fails=False):
        """Run tests of the copy."""
        found = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
        return self.run("-m", "pytest", "-q", "-x", *options, ends=found if fails else (0,))


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


def recipe(title):
    """The paths that the steps of a recipe begin with; a name that is to be chosen is a star."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    paths = re.findall(r"^\d\. \*\*.*?\*\*,\s+`([^`]+)`", section, re.MULTILINE)
    return [re.sub("<[a-z]+>", "*", path) + "*" * path.endswith("/") for path in paths]


def steps_of(written, planned):
    """The files that were written, by the step that plans them."""
    found = {path: [] for path in planned}
    for path in written:
        plans = [path] if path in planned else [plan for plan in planned if fnmatch(path, plan)]
        found.setdefault(plans[0] if plans else path, []).append(path)
    return found


# --- a method

ROOM = "skdppca/decomposition"
GAUSS = {
    "DPGauss": NAME,
    "dp_gauss": PAGE,
    "JoinedMechanism": "TwinJoined",
    "NextCohort": "TwinCohort",
    "CohortConstants": "TwinConstants",
}


ROOM_OF_TWIN = ("__init__", "cohorts", "estimator", "mechanism")


def a_room(copy):
    for file in ROOM_OF_TWIN:
        copy.twin(f"{ROOM}/dp_gauss/{file}.py", f"{ROOM}/{PAGE}/{file}.py", GAUSS)


def a_row(copy):
    row = f'"{NAME}": Method({NAME}, "{COMMAND}", "Gram matrix", psd_sum, "d x d", "all", True)'
    copy.insert(
        f"{ROOM}/methods.py",
        ("\n\n@dataclass", f"from .{PAGE} import {NAME}\n"),
        ('    "KDPPCA": Method(', f"    {row},\n"),
        ('    "SmoothSensitivityPCA",\n    "gauss"', f'    "{NAME}",\n    "{COMMAND}",\n'),
    )


def a_name_of_the_room(copy):
    copy.insert(
        f"{ROOM}/__init__.py",
        ("\n__all__ = [", f"from .{PAGE} import {NAME}\n"),
        ('    "Word"', f'    "{NAME}",\n'),
    )


def a_name(copy):
    copy.insert(
        "skdppca/__init__.py",
        ("    )\n    from .privacy", f"        {NAME},\n"),
        ('    "config_context"', f'    "{NAME}",\n'),
    )


def an_audit(copy):
    copy.twin("tests/audit/test_dp_gauss.py", f"tests/audit/test_{PAGE}.py", GAUSS)


def a_page(copy):
    underlined = {"\nDPGauss\n=======": f"\n{NAME}\n========="}
    copy.twin("doc/methods/dp_gauss.rst", f"doc/methods/{PAGE}.rst", underlined | GAUSS)


def a_line(copy):
    copy.insert("CHANGELOG.md", ("\n#### Data", f"- `{NAME}`, a second `DPGauss`.\n"))


METHOD = (a_room, a_row, a_name_of_the_room, a_name, an_audit, a_page, a_line)
REGISTRY = (
    "tests/package/test_documented.py",
    "tests/package/test_import.py",
    "tests/decomposition/test_methods.py",
)


def add(copy, steps):
    for step in steps:
        step(copy)
    return copy.written()


def test_a_method_is_its_room_and_five_files_as_the_recipe_says(copy):
    planned = recipe("How to add a method")
    room, *others = steps_of(add(copy, METHOD), planned).values()
    assert planned[0] == f"{ROOM}/*/*" and len(room) == len(ROOM_OF_TWIN)
    assert [len(files) for files in others] == [1] * 5


def test_a_method_that_is_added_passes_the_common_tests(copy):
    add(copy, METHOD)
    copy.test(*REGISTRY, "tests/package/test_layers.py", "tests/cli/test_plan_command.py")
    copy.test("tests", "-m", "not slow", "-k", NAME)


@pytest.mark.parametrize("step", range(1, 6), ids=lambda i: METHOD[i].__name__)
def test_a_step_that_is_forgotten_fails_a_test(copy, step):
    add(copy, METHOD[:step] + METHOD[step + 1 :])
    copy.test(*REGISTRY, fails=True)


def test_a_method_that_is_added_is_planned_chosen_and_fitted(copy):
    add(copy, METHOD)
    np.savetxt(
        copy.root / "rows.csv", np.random.default_rng(0).normal(size=(500, 4)), delimiter=","
    )
    plan = ("plan", "--n", 500, "--d", 4, "-k", 1, "--epsilon", 1, "--method", COMMAND)
    assert NAME in copy.run("-m", "skdppca", *plan)
    budget = ("--epsilon", 1, "--delta", 1e-6, "--no-pictures")
    fit = ("fit", "rows.csv", "--no-header", "-k", 1, *budget, "--method", COMMAND, "--out", "out")
    copy.run("-m", "skdppca", *fit)
    (described,) = json.loads((copy.root / "out" / "report.json").read_text())["fits"]
    assert NAME in json.dumps(described)
    chosen = f"PrivatePCA(1, method={NAME!r}).fit(np.eye(9)).privacy_.details['method']"
    code = f"import numpy as np\nfrom skdppca import PrivatePCA, {NAME}\nprint({chosen})"
    assert copy.run("-c", code).strip() == NAME


# --- a statistic

SUMS = "skdppca/statistics"
CAPTURED = {"CapturedTotal": "CaughtTotal"}


def a_class(copy):
    copy.twin(f"{SUMS}/captured.py", f"{SUMS}/caught.py", CAPTURED)


def its_name(copy):
    copy.insert(
        f"{SUMS}/__init__.py",
        ("from .cells", "from .caught import CaughtTotal\n"),
        ('    "ClippedGram"', '    "CaughtTotal",\n'),
    )


def its_cases(copy):
    copy.insert(
        "tests/statistics/cases.py",
        ("    ClippedGram,\n", "    CaughtTotal,\n"),
        ('    "KendallMatrix": [', '    "CaughtTotal": [Case(CaughtTotal(CENTRE, 0.5, ONE))],\n'),
    )


def who_asks_it(copy):
    copy.insert("tests/audit/test_replay.py", ('"CountsBeyond"}', '"CaughtTotal", '))


def its_row(copy):
    cells = ("``CaughtTotal``", "as before", ":math:`R^2`", ":math:`R^2`", "``bounded_sum``")
    row = "     - ".join(f"{cell}\n" for cell in cells)
    copy.insert("doc/theory/sensitivities.rst", ("   * - ``ClippedSum``", f"   * - {row}"))


STATISTIC = (a_class, its_name, its_cases, who_asks_it, its_row)
CLOSED_SET = (
    "tests/statistics/test_kinds.py",
    "tests/statistics/test_sensitivity.py",
    "tests/package/test_documented.py",
    "tests/audit/test_replay.py::test_every_statistic_is_weakened_once",
)


def test_a_statistic_is_its_file_and_four_more_as_the_recipe_says(copy):
    written = steps_of(add(copy, STATISTIC), recipe("How to add a statistic"))
    assert [len(files) for files in written.values()] == [1] * 5


def test_a_statistic_that_is_added_is_attacked_and_documented(copy):
    add(copy, STATISTIC)
    every = "CaughtTotal or table or weakened or listed"
    copy.test(*CLOSED_SET, "tests/statistics", "-k", every)


@pytest.mark.parametrize("step", range(1, 5), ids=lambda i: STATISTIC[i].__name__)
def test_a_step_of_a_statistic_that_is_forgotten_fails_a_test(copy, step):
    add(copy, STATISTIC[:step] + STATISTIC[step + 1 :])
    copy.test(*CLOSED_SET, "-k", "CaughtTotal or table or weakened or listed", fails=True)
