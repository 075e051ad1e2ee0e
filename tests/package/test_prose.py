"""What the pages say of tools and methods agrees with what these do."""

import ast
import re
from pathlib import Path

import pytest

from skdppca.report._context import HAZARDS, VOIDING, denied

ROOT = Path(__file__).parents[2]


def test_the_model_report_of_the_tutorial_answers_all_ten_questions():
    tree = ast.parse((ROOT / "doc/tutorials/3_from_question_to_report.py").read_text())
    (call,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Context"
    ]
    answers = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    assert {*HAZARDS} <= {*answers}
    assert all(denied(answers[name]) for name in VOIDING)


def test_the_first_example_silences_no_warning():
    code = (ROOT / "examples/plot_first_private_pca.py").read_text()
    assert "simplefilter" not in code and "filterwarnings" not in code


def test_the_first_example_of_the_readme_prints_the_components_before_the_guarantee(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    exec(code, {})
    said = capsys.readouterr().out
    assert said.index("largest loadings") < said.index("Guarantee: ") < said.index("Budget: ")


def test_the_cheat_sheet_does_not_say_that_grid_search_keeps_the_guarantee():
    text = (ROOT / "doc/cheatsheet.rst").read_text()
    works = text[: text.index("This page lists what changes")]
    assert "``GridSearchCV`` runs, too, but its scores and its choice are not private" in works


@pytest.mark.parametrize("page", sorted((ROOT / "doc/methods").glob("*.rst")), ids=lambda p: p.stem)
def test_when_not_to_use_a_method_is_no_double_negation(page):
    text = page.read_text()
    if "Do not use it when" in text:
        points = text.split("Do not use it when")[1].split("Example\n")[0]
        assert "is not required" not in points
