"""Figures as files: PNG, or SVG that is the same each time and may stand beside others in one page."""

from __future__ import annotations

import re
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg")


def check_ending(path: str | Path) -> str:
    """.png or .svg."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path}: a figure's file must end in .png or .svg, got {ending or 'no ending'}")
    return ending


def save(figure: Figure, path: str | Path) -> None:
    """Writes it as PNG or SVG, by the ending; the folder is made if need be."""
    ending = check_ending(path)
    from harness.figures.canvas.style import figure_style

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    if ending == ".svg":
        Path(path).write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{svg_text(figure)}\n', encoding="utf-8")
        return
    with figure_style():
        figure.savefig(path, format="png", metadata={"Software": None})


def svg_text(figure: Figure) -> str:
    """One <svg> element to put into a page: real text, no dates, and ids that no other figure has."""
    from harness.figures.canvas.style import figure_style

    out = StringIO()
    with figure_style():
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    whole = out.getvalue()
    return _isolate_ids(whole[whole.index("<svg") :].strip(), figure.get_label())


_ID = re.compile(r'(\bid="|url\(#|href="#)')


def _isolate_ids(svg: str, label: object) -> str:
    """Ids begin with a digest of the picture, and its style is for itself alone."""
    mark = f"f{sha256(svg.encode()).hexdigest()[:10]}-"
    svg = _ID.sub(rf"\g<1>{mark}", svg)
    return svg.replace('<style type="text/css">*{', f'<style type="text/css">#{mark}figure_1 *{{', 1)
