"""Every number in a sentence has its key, or says what it is."""

import pytest

from ..benchmark_modules import load

PUBLISHED = load("published")
TABLE = "data,epsilon,DPGauss\ndigits,1,0.975\ndigits,10,0.02\n"
KEY = "one | epsilon=1 | DPGauss"


@pytest.fixture
def check(tmp_path, monkeypatch):
    """The check of a page and its rows in figures.csv."""
    (tmp_path / "doc").mkdir()
    (tmp_path / "one.csv").write_text(TABLE)
    monkeypatch.setattr(PUBLISHED, "ROOT", tmp_path)
    monkeypatch.setattr(PUBLISHED.keys._common, "RESULTS", tmp_path)
    PUBLISHED.keys._table.cache_clear()

    def check(page, *rows):
        (tmp_path / "doc" / "page.rst").write_text(page)
        lines = [f'doc/page.rst,"{text}","{what}"' for text, what in rows]
        table = "\n".join(["file,text,what", *lines]) + "\n"
        (tmp_path / "doc" / "figures.csv").write_text(table)
        return PUBLISHED.Check()

    return check


def test_every_number_of_the_documentation_has_its_key_or_its_marker():
    pytest.importorskip("cryptography", reason="the extra federated is not installed")
    found = PUBLISHED.Check()
    assert found.faults == []
    assert found.lacking == []


@pytest.mark.parametrize(
    "sentence",
    [
        "It captured .97 of the variance.",
        "It captured .97\nof the variance (`text <https://a.b/c>`_).",
        "The error is 12 % of it.",
        "It needs 7 times more records.",
        "It misses three orders of magnitude less.",
        "At epsilon 1 and .5 seconds.",
        "It loses 3e-4.",
        ".. warning::\n\n   It captured .97.",
        ".. list-table::\n\n   * - digits\n     - .97",
        "* It takes 8 seconds.",
    ],
)
def test_a_measured_number_without_a_key_is_seen(check, sentence):
    assert len(check(sentence).lacking) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "Dwork and others (2014), Theorem 3.1, Figures 2 and 3, section 4.2.",
        "At epsilon .5 and delta 1e-6 with 2000 rows, 2000 x 50, n = 100, d = 20.",
        "The value ``n_iter=7``, :math:`n^{-2}`, and :doc:`page 3 </x>`.",
        "Example::\n\n   x = 7\n",
        ">>> 7 * 6\n42",
        "Of 2 R, sqrt(5) / 2, R^2 / mu and 1 / 4.",
        "2. The second step has norm 1.",
        ".. math:: 7 x\n",
        ".. image:: /a.png\n   :width: 60%\n",
        ".. code-block:: python\n\n   x = 7\n",
        "By default 5 folds; n_iter : int, default=7.",
        "With AES-256 and Python 3.11.",
        ".. A comment\n   of 7 words\n",
        f"It captured :measured:`{KEY}` of it.",
    ],
)
def test_what_is_no_measured_figure_needs_no_marker(check, sentence):
    found = check(sentence)
    assert found.lacking == []
    assert found.faults == []


@pytest.mark.parametrize(
    ("number", "right"), [(".975", True), (".98", True), ("98 %", True), (".96", False)]
)
def test_a_plain_figure_agrees_with_its_key_as_far_as_it_is_printed(check, number, right):
    found = check(f"It captured {number} of it.", (f"captured {number}", f"measured: {KEY}"))
    assert (found.faults == []) == right


@pytest.mark.parametrize(
    ("page", "row"),
    [
        ("It is :measured:`two | epsilon=1 | DPGauss`.", None),
        ("It captured .97.", ("captured .97", "measured: two | epsilon=1 | DPGauss")),
        ("It captured .97.", ("captured .96", "fact: theorem")),
        ("It captured .97.", ("captured .97", "fact: of course")),
        ("It captured .97.", ("captured .97", "so it is")),
        ("It captured .98 or .98.", (".98 or .98", f"measured: {KEY}")),
        ("It is ten times as much.", ("ten times", f"measured: {KEY}")),
    ],
)
def test_a_wrong_key_or_marker_is_a_fault(check, page, row):
    assert check(page, *[row] if row else []).faults


def test_what_no_table_holds_is_counted(check):
    found = check("It takes 3 s, or .4 h.", ("3 s, or .4 h", "unmeasured: how long it takes"))
    assert found.kinds == {"unmeasured": 2}
    assert not found.faults
    assert not found.lacking


def test_docstrings_of_public_names_alone_are_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr(PUBLISHED, "_exported", lambda: {"Public"})
    monkeypatch.setattr(PUBLISHED, "ROOT", tmp_path)
    path = tmp_path / "skdppca" / "module.py"
    path.parent.mkdir()
    path.write_text(
        'class Public:\n    """It loses .5."""\n\n    def fit(self):\n        """In 3 s."""\n\n'
        '    def _fit(self):\n        """In 4 s."""\n\n\nclass Other:\n    """.6"""\n'
    )
    assert PUBLISHED.sentences(path) == ["It loses .5.", "In 3 s."]


def test_the_text_of_an_example_is_sentences_and_its_code_is_none(tmp_path):
    path = tmp_path / "plot_it.py"
    path.write_text(
        '"""\nTitle\n=====\n\nIt loses .5.\n"""\n\n# %%\n# A heading\n# ---------\n#\n'
        "# In 3 s.\n\nx = 7  # 8 of it\n# in 9 s\n\n"
        "# %%\n# .. admonition:: Takeaway\n#\n#    In 4 s.\n"
    )
    assert PUBLISHED.sentences(path) == [
        *("Title", "It loses .5.", "A heading", "In 3 s.", "Takeaway", "In 4 s."),
    ]


@pytest.mark.parametrize(
    "page", ["examples/plot_it.py", "doc/tutorials/1_it.py", "doc/_shared/it.inc"]
)
def test_examples_tutorials_and_shared_text_are_looked_at(check, tmp_path, page):
    path = tmp_path / page
    path.parent.mkdir(parents=True)
    path.write_text("It loses .5.\n" if path.suffix == ".inc" else '"""It loses .5."""\n')
    assert [name for name, _ in check("").lacking] == [page]
