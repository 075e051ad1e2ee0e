"""Sphinx configuration."""

from skdppca import __version__

project = "skdppca"
author = "The skdppca developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "numpydoc",
]
exclude_patterns = ["_build", "benchmarks/*.rst"]
autosummary_generate = True
doctest_test_doctest_blocks = ""  # docstrings are run by pytest, in their modules
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
autodoc_typehints = "none"
doctest_global_setup = """
import warnings
from skdppca.exceptions import SeededNoiseWarning, UnaccountedFitsWarning
warnings.simplefilter("ignore", SeededNoiseWarning)
warnings.simplefilter("ignore", UnaccountedFitsWarning)
"""

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_title = "skdppca"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
