"""Save figures as PNG, SVG or PDF. SVG is reproducible, and several fit into one page."""

from __future__ import annotations

import re
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
_NO_METADATA = {".png": {"Software": None}, ".pdf": {"Creator": None, "Producer": None, "CreationDate": None}}
"""Leaves dates and versions out of files, so that they are reproducible."""


def check_ending(path: str | Path) -> str:
    """Return the ending of a file name; raise UserError unless it is .png, .svg or .pdf."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path}: a figure's file must end in .png, .svg or .pdf, got {ending or 'no ending'}")
    return ending


def save(figure: Figure, path: str | Path) -> None:
    """Save a figure as PNG, SVG or PDF, by the ending of `path`.

    Missing folders are created.
    """
    ending = check_ending(path)
    from harness.figures.canvas.style import figure_style

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    if ending == ".svg":
        Path(path).write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{svg_text(figure)}\n', encoding="utf-8")
        return
    with figure_style():
        figure.savefig(path, format=ending[1:], metadata=_NO_METADATA[ending])


def svg_text(figure: Figure) -> str:
    """Render a figure as one <svg> element to embed in a page.

    Text stays text, there are no dates, and no other figure has the same ids.
    """
    from harness.figures.canvas.style import figure_style

    out = StringIO()
    with figure_style():
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    whole = out.getvalue()
    return _isolate_ids(whole[whole.index("<svg") :].strip(), figure.get_label())


_ID = re.compile(r'(\bid="|url\(#|href="#)')


def _isolate_ids(svg: str, label: object) -> str:
    """Prefix ids with a digest of the picture, and limit its style rules to itself."""
    mark = f"f{sha256(svg.encode()).hexdigest()[:10]}-"
    svg = _ID.sub(rf"\g<1>{mark}", svg)
    return svg.replace('<style type="text/css">*{', f'<style type="text/css">#{mark}figure_1 *{{', 1)
