"""The role ``measured``: a figure from a stored table, by its key (``benchmarks/keys.py``).

A key that finds no figure is a warning, and so an error of a strict build.
"""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import keys


class Measured(SphinxRole):
    """The figure of a key; pages follow their tables."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            found = keys.figure(self.text)
        except keys.MissingFigure as error:
            logging.getLogger(__name__).warning(str(error), location=self.get_location())
            return [nodes.problematic("", self.text)], []
        for table in keys.tables(self.text):
            self.env.note_dependency(str(keys.table_path(table)))
        return [nodes.inline("", found.text, classes=["measured"])], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("measured", Measured())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
