"""Pack scripts and data as text that can't end an HTML element, and that a browser unpacks when it is needed."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from importlib.resources import files
from typing import Any

_PACKAGE = "harness.report.explore"
_SCRIPTS = ("data", "rows", "spec", "chart", "controls", "marks", "detail", "main")
"""Our scripts, in the order in which they are joined."""

_LEVEL = 6
"""Level of compression: level 9 takes seven times as long, for 6 % less."""


def read_library() -> str:
    """Return the text of the libraries that draw: Vega, Vega-Lite and Vega's interpreter."""
    return _read("vega", "vega.min.js")


def read_scripts() -> str:
    """Return our scripts, joined to one function."""
    parts = "\n".join(_read("js", f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def read_style() -> str:
    """Return the CSS rules of the section."""
    return _read("explore.css")


def _read(*names: str) -> str:
    return files(_PACKAGE).joinpath(*names).read_text(encoding="utf-8")


def pack_text(text: str) -> str:
    """Compress a text with gzip, as Base64: letters, digits, +, / and =, so that nothing in it is markup.

    Examples
    --------
    >>> from base64 import b64decode
    >>> gzip.decompress(b64decode(pack_text("</script>")))
    b'</script>'
    """
    return b64encode(gzip.compress(text.encode(), compresslevel=_LEVEL, mtime=0)).decode()


def pack_json(plain: Any) -> str:
    """Pack a value as JSON. It must have no NaN and no infinity, which aren't JSON."""
    return pack_text(json.dumps(plain, separators=(",", ":"), allow_nan=False))
