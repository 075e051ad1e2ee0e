"""What the pages of the documentation show, without building them."""

import ast
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from skdppca.plotting._display import contrast
from skdppca.report import Context
from skdppca.report._context import DECISIVE, HAZARDS

from ..benchmark_modules import ROOT, load

DOC = ROOT / "doc"
MADE = {"_build", "auto_examples", "auto_tutorials"}
SOURCES = [
    path for path in sorted(DOC.rglob("*.rst")) if path.relative_to(DOC).parts[0] not in MADE
]
IMAGE = re.compile(r"\.\. (?:image|figure):: (\S+)\n((?: +:.*\n(?: {6,}[^:\s].*\n)*)*)")


pictures = load("gallery_pictures", DOC / "_ext")
dark_pictures = load("dark_pictures", DOC / "_ext")


# Words for pictures


def alternatives(text):
    for source, options in IMAGE.findall(text):
        alt = re.search(r":alt: (.*(?:\n {6,}[^:\s].*)*)", options)
        yield source, alt[1] if alt else ""


def test_every_picture_has_a_text_of_a_sentence_at_least():
    found = [one for path in SOURCES for one in alternatives(path.read_text(encoding="utf-8"))]
    assert len(found) >= 30
    assert [source for source, alt in found if len(alt.split()) < 8] == []


def test_every_script_of_the_gallery_has_texts_for_its_pictures():
    scripts = [*DOC.parent.glob("examples/plot_*.py"), *DOC.glob("tutorials/[0-9]_*.py")]
    assert {path.stem for path in scripts} == set(pictures.TEXTS)
    texts = [text for texts in pictures.TEXTS.values() for text in texts]
    assert len(set(texts)) == len(texts)
    assert all(len(text.split()) >= 8 and text.endswith(".") for text in texts)


# Dark pictures


def picture():
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#0072b2", label="a line")
    axes.plot([0, 1], [1, 0], color="#7a7a7a")
    axes.set(title="a title", xlabel="x")
    axes.legend()
    return figure


def test_all_words_of_a_dark_picture_can_be_read():
    figure = dark_pictures.darkened(picture())
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert len(texts) >= 3
    assert min(contrast(text.get_color(), dark_pictures.GROUND) for text in texts) >= 4.5


@pytest.mark.parametrize("colour", ["#0072b2", "#d55e00", "#b3261e", "#000080"])
def test_a_colour_is_seen_on_the_dark_ground_and_stays_that_colour(colour):
    seen = dark_pictures.dark(colour)
    assert contrast(seen, dark_pictures.GROUND) >= 4.5
    assert np.argmax(seen[:3]) == np.argmax(dark_pictures.to_rgb(colour))


def test_cells_of_a_heat_map_and_the_words_on_them_stay_as_they_are():
    figure = Figure()
    axes = figure.subplots()
    image = axes.imshow([[0.0, 1.0]], cmap="RdBu_r")
    words = axes.text(0, 0, "0.3", color="white")
    before = image.to_rgba(1.0)
    dark_pictures.darkened(figure)
    assert words.get_color() == "white"
    assert image.to_rgba(1.0) == before


# What they say of tools and methods.


def test_the_model_report_of_the_tutorial_answers_all_ten_questions():
    tree = ast.parse((DOC.parent / "doc/tutorials/3_from_question_to_report.py").read_text())
    (call,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Context"
    ]
    answers = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    assert {*HAZARDS} <= {*answers}
    context = Context(**answers)
    assert all(getattr(context, name).answer == right for name, right in DECISIVE.items())


@pytest.mark.slow
def test_the_first_example_of_the_readme_prints_the_components_before_the_guarantee(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (DOC.parent / "README.md").read_text(), re.DOTALL)[1]
    exec(code, {})
    said = capsys.readouterr().out
    assert said.index("largest loadings") < said.index("Guarantee: ") < said.index("Budget: ")
