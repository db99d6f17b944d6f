"""Configuration of Sphinx. CONTRIBUTING.md names the command that builds these pages; it needs no network."""

from __future__ import annotations

import os
import re
import warnings
from importlib.metadata import version as find_version
from typing import TYPE_CHECKING, Any

from sphinx.util.inspect import TypeAliasForwardRef

if TYPE_CHECKING:
    from sphinx.application import Sphinx

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # examples of the gallery show the same numbers everywhere

project = "ckrr"
author = "the ckrr team"
project_copyright = "the ckrr team"
release = version = find_version("ckrr")
language = "en_GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "notebooks", "inventories/README.md"]
html_static_path = ["_static"]
html_css_files = ["ckrr.css"]

# Every reference must lead somewhere (`sphinx-build -W` fails otherwise), except for types in docstrings and
# signatures, many of which are words or aliases, such as "(n, d) array".
nitpicky = True
nitpick_ignore_regex = [(r"py:class", r".*")]

default_role = "code"  # of `text` in docstrings
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

# Inventories are files, so that a build needs no network: inventories/README.md says where they come from.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", "inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable/", "inventories/numpy.inv"),
    "scipy": ("https://docs.scipy.org/doc/scipy/", "inventories/scipy.inv"),
    "xarray": ("https://docs.xarray.dev/en/stable/", "inventories/xarray.inv"),
    "dask": ("https://docs.dask.org/en/stable/", "inventories/dask.inv"),
    "zarr": ("https://zarr.readthedocs.io/en/stable/", "inventories/zarr.inv"),
    "sklearn": ("https://scikit-learn.org/stable/", "inventories/sklearn.inv"),
}

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
ALIASES = ("npt.ArrayLike", "Array", "Bools", "Alpha", "Level", "Scales", "Seed", "Smoothed", "Selection")
autodoc_type_aliases = {name: name.rpartition(".")[2] for name in ALIASES}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = False
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "reference_url": {"ckrr": None},
}

html_theme = "pydata_sphinx_theme"
html_title = "ckrr"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False

warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

MADE_BY_FUNCTIONS = ("ckrr.Fit", "ckrr.Regions", "ckrr.Scores", "ckrr.Factor", "harness.core.protocols.")
"""Classes that users don't construct: their pages show no signature."""


TypeAliasForwardRef.__repr__ = lambda self: self.name  # unions show it in signatures


def hide_constructor(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, None] | None:
    """Leave out the signatures of constructors that users don't call."""
    return ("", None) if what == "class" and name.startswith(MADE_BY_FUNCTIONS) else None


def protect_colon(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep napoleon from reading the start of "Layout: one of …" as the type of a property."""
    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]  # an empty comment


def mark_options(app: Sphinx, context: Any, lines: list[str]) -> None:
    """Mark options in help texts as code, or their two hyphens become a dash."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(".."):
            lines[i] = re.sub(r"(?<![`\w-])(--[a-z][a-z-]*)", r"``\1``", line)


def setup(app: Sphinx) -> None:
    """Connect the hooks above."""
    for part in ("description", "options"):
        app.connect(f"sphinx-click-process-{part}", mark_options)
    app.connect("autodoc-process-signature", hide_constructor)
    app.connect("autodoc-process-docstring", protect_colon, priority=400)  # before napoleon, which has 500
