"""Sphinx's configuration."""

from __future__ import annotations

import importlib.metadata

project = "tablekit"
author = "The tablekit authors"
version = release = importlib.metadata.version("tablekit")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_title = "tablekit"
