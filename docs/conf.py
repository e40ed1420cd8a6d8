"""Settings of the documentation site: `make docs`."""

import sys
from pathlib import Path

from structformer import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "structformer"
author = "The structformer authors"
release = version = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "command_reference",
    "llms_txt",
    "structformer_exports.sphinx",
]
exclude_patterns = ["questions.tsv"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # options.md and others begin sections at the second level

nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True

autodoc_typehints = "none"  # the signatures have them
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"structformer {release}"
html_show_sourcelink = False
structformer_static = True  # searched in the browser, by what structformer learned from these pages
