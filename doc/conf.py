"""Sphinx configuration."""

import json
import sys
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from inventories import written  # noqa: E402
from public_names import described  # noqa: E402

from skdppca import __version__  # noqa: E402
from skdppca.report._document import ReportDocument  # noqa: E402

project = "skdppca"
author = "The skdppca developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "attack_table",
    "command_line",
    "lists",
    "measured",
    "public_names",
    "sliders",
    "tables",
]
exclude_patterns = ["_build", "_ext", "_inventories", "benchmarks/*.rst", "tutorials"]
templates_path = ["_templates"]
suppress_warnings = [
    "config.cache",  # the templates call a function
    "sphinx_gallery.duplicate_filename",  # of programs beside the gallery
]
nitpicky = True

# Reference

autosummary_generate = True
autosummary_context = {"described": described}
autosummary_filename_map = {  # beside a class of the same letters, for file systems without case
    "skdppca.model_selection.price": "skdppca.model_selection.price-function",
    "skdppca.planner.plan": "skdppca.planner.plan-function",
}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
doctest_test_doctest_blocks = ""  # docstrings are run by pytest, in their modules
doctest_global_setup = """
import warnings
from skdppca import exceptions
warnings.simplefilter("ignore", exceptions.SeededNoiseWarning)
warnings.simplefilter("ignore", exceptions.UnaccountedFitsWarning)
warnings.simplefilter("ignore", exceptions.UnaccountedScoreWarning)
"""

# What the page of the report's schema shows.
(HERE / "_build").mkdir(exist_ok=True)
(HERE / "_build" / "report_schema.json").write_text(
    json.dumps(msgspec.json.schema(ReportDocument), indent=2)
)

# Links to other projects: what we refer to there is listed here, so that a build needs no network.
intersphinx_mapping = written(HERE / "_inventories", HERE / "_build" / "inventories")

# Gallery

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "tutorials"],
    "gallery_dirs": ["auto_examples", "auto_tutorials"],
    "filename_pattern": r"/(plot_|\d_)",
    "ignore_pattern": r"/(cluster|federated)/",  # programs with a README of their own
    "image_scrapers": ("gallery_pictures.scraper",),
    "within_subsection_order": "gallery_order.ByQuestion",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("skdppca",),
    "exclude_implicit_doc": {r"skdppca\.exceptions\..*"},
    "reference_url": {"skdppca": None},
    "default_thumb_file": str(HERE / "_static" / "scree.png"),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 5,
    "plot_gallery": "True",
    "download_all_examples": False,
    "matplotlib_animations": False,
}

# Pages

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["skdppca.css"]
html_title = "skdppca"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
