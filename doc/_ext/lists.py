"""Lists in the pages that follow from the package: all methods, and all that may be asked.

A mark such as ``@METHODS@`` stands in a page where a list goes. In the reference each method is
named. On the page that compares them each has a row of a table. What stands in the row is what the
page of the method begins with, a line each:

    :noise: what noise is added to
    :memory: what is held beside the data
    :strength: where it is good
    :weakness: where it is not
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skdppca.decomposition import METHODS, Method
from skdppca.statistics import KINDS, Measure, Statistic, View

if TYPE_CHECKING:  # a test uses this module without Sphinx
    from sphinx.application import Sphinx

DOC = Path(__file__).parents[1]

# What the page of a method begins with, and the heads of the table's columns.
FACTS = {
    "noise": "noise is added to",
    "memory": "memory beside the data",
    "strength": "its strength",
    "weakness": "its weakness",
}


def page(method: Method) -> str:
    """Return the name of the method's page: that of its room, or of its file in a shared room."""
    room, file = method.estimator.__module__.split(".")[-2:]
    return room if file == "estimator" else file


def facts(method: Method) -> list[str]:
    """Return what the page of a method begins with."""
    path = DOC / "methods" / f"{page(method)}.rst"
    found = dict(re.findall(r"^:(\w+): (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
    lacking = [name for name in FACTS if name not in found]
    if lacking:
        raise ValueError(f"{path.name} has no line ':{lacking[0]}: ...'; begin it with {[*FACTS]}")
    return [found[name] for name in FACTS]


def compared() -> str:
    """Return the table of all methods, and the toctree of their pages."""
    rows = [["method", *FACTS.values()]]
    rows += [[f":doc:`{name} <{page(one)}>`", *facts(one)] for name, one in METHODS.items()]
    table = [f"   {'*' if not i else ' '} - {cell}" for row in rows for i, cell in enumerate(row)]
    pages = [f"   {page(method)}" for method in METHODS.values()]
    toctree = [".. toctree::", "   :hidden:", "", *pages]
    return "\n".join([".. list-table::", "   :header-rows: 1", "", *table, "", *toctree])


def kinds(base: type) -> str:
    """Return the names of all statistics, views or measures."""
    named = sorted(name for name, kind in KINDS.items() if issubclass(kind, base))
    return "\n   ".join(f"skdppca.statistics.{name}" for name in named)


# The pages with lists, and what goes in the place of each mark.
PAGES = {
    "api/estimators": {"@METHODS@": lambda: "\n   ".join(f"skdppca.{name}" for name in METHODS)},
    "api/reviewers": {
        "@STATISTICS@": lambda: kinds(Statistic),
        "@VIEWS@": lambda: kinds(View),
        "@MEASURES@": lambda: kinds(Measure),
    },
    "methods/index": {"@METHODS@": compared},
}


def filled(docname: str) -> str:
    """Return the source of one of these pages with its lists."""
    source = (DOC / f"{docname}.rst").read_text(encoding="utf-8")
    for mark, written in PAGES[docname].items():
        source = source.replace(mark, written())
    return source


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill what Sphinx has read."""
    if docname in PAGES:
        source[0] = filled(docname)


def generate(app: Sphinx) -> None:
    """Make the pages of what is listed; autosummary looks at lists in files on disk only."""
    from sphinx.ext.autosummary.generate import generate_autosummary_docs

    with TemporaryDirectory() as folder:
        for docname in PAGES:
            Path(folder, Path(docname).name).write_text(filled(docname), encoding="utf-8")
        lists = [str(path) for path in Path(folder).iterdir()]
        generate_autosummary_docs(lists, DOC / "api" / "generated", app=app)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill the pages whenever they are read, and read them at every build."""
    app.connect("builder-inited", generate)
    app.connect("env-get-outdated", lambda *_: [*PAGES])
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
