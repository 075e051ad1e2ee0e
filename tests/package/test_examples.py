"""Tutorials run as scripts and leave no file behind; examples are a question and an answer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "examples", ROOT / "doc" / "tutorials")
EXAMPLES = sorted(FOLDERS[0].glob("plot_*.py"))
TUTORIALS = sorted(FOLDERS[1].glob("[0-9]_*.py"))


def files(*folders):
    return sorted(path for folder in folders for path in folder.iterdir() if path.is_file())


# The documentation runs all of them and ends at an error; these write ledgers and releases.
@pytest.mark.slow
@pytest.mark.parametrize("script", TUTORIALS, ids=lambda path: path.stem)
def test_it_runs_as_a_script_and_leaves_nothing_behind(script, tmp_path):
    before = files(*FOLDERS)
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    settings = {"MPLBACKEND": "Agg", "SKDPPCA_CACHE": "", "TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=here,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [*here.iterdir(), *temporary.iterdir()] == []
    assert files(*FOLDERS) == before


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_asks_a_question_and_ends_with_at_most_three_lines(script):
    text = script.read_text(encoding="utf-8")
    title, underline = text.splitlines()[1:3]
    takeaway = text.split("# .. admonition:: Takeaway\n#\n")[1].splitlines()
    assert title.endswith("?")
    assert underline == "=" * len(title)
    assert 1 <= len(takeaway) <= 3
    assert all(line.startswith("#    ") for line in takeaway)


def test_there_are_examples_and_tutorials():
    assert len(EXAMPLES) >= 12
    assert len(TUTORIALS) == 3
