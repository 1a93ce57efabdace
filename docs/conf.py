"""How the book is built: `make docs`. Tutorials are scripts and run when it is; nothing is fetched."""

import logging
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
logging.getLogger("jax").setLevel(logging.WARNING)

project = "onepath"
author = "The onepath authors"
project_copyright = "the onepath authors, MIT licence"
release = version = version_of("onepath")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command",
    "named_pages",
]
exclude_patterns = ["gallery/*.rst", "paper/*.md"]
suppress_warnings = ["config.cache"]  # what the gallery's settings hold cannot all be pickled
default_role = "code"
smartquotes = False  # two hyphens are an option, not a dash
nitpicky = True

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # types are said in words, where parameters are
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but for these
DEFAULT_LINKS.clear()  # which lead out of this book
numpydoc_xref_aliases = {
    name: f"{home}.{name}"
    for home, names in {
        "onepath": ("SDE", "Known", "Model", "Paths"),
        "onepath.after.consequences": ("Consequences",),
        "onepath.after.diagnose": ("Diagnosis",),
        "onepath.after.disturbed": ("FoundJumps", "FoundVolatility"),
        "onepath.after.states": ("Noise", "States"),
        "onepath.data.trajectory": ("Trajectory",),
        "onepath.data.transitions": ("Transitions",),
        "onepath.graph.laws.law": ("Law",),
        "onepath.inference.adequacy": ("Stiffness",),
        "onepath.inference.disturbance.disturbance": ("Banded",),
        "onepath.inference.learning.optimisers": ("Optimum",),
        "onepath.inference.observation": ("Observation",),
        "onepath.show.about": ("About",),
    }.items()
    for name in names
}
numpydoc_validation_checks = {"GL08", "PR01", "PR02", "PR03", "PR05", "PR07", "RT03", "SS01", "SS03"}
"""What people call has a sentence, all of its parameters and what it returns."""

numpydoc_validation_exclude = {r"^onepath\.(?!SDE|Known|load|Paths\.(frame|quantiles|xarray))"}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_", "__repr__"),
    "image_scrapers": ("matplotlib",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e6,
    "backreferences_dir": None,
    "plot_gallery": "True",
}

html_theme = "furo"
html_title = f"onepath {version}"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#005f94",
        "color-brand-content": "#0072b2",
        "color-brand-visited": "#5c4b99",
        "font-stack": 'system-ui, "Segoe UI", Helvetica, Arial, sans-serif',
        "font-stack--monospace": "ui-monospace, Menlo, Consolas, monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4ee",
        "color-brand-content": "#56b4e9",
        "color-brand-visited": "#b9a7f0",
    },
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
