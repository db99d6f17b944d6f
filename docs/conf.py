"""Configuration of Sphinx. CONTRIBUTING.md names the command that builds these pages; it needs no network."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import version as find_version

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
templates_path = ["_templates"]
html_static_path = ["_static"]

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

autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
ALIASES = ("npt.ArrayLike", "Array", "Bools", "Alpha", "Level", "Scales", "Seed", "Smoothed", "Selection", "Kernel")
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
