"""Render whole pages, with style and script inside, so that the file depends on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files

from markupsafe import Markup

from harness.report.html.choices import Section
from harness.report.html.policy import make_policy
from harness.report.html.templating import TEMPLATES

LARGEST = 6_000_000
"""Size up to which a page can be sent by e-mail, in bytes."""


def render_document(title: str, top: Markup, sections: Sequence[Section], foot: Markup, script: bool = False) -> str:
    """Render a complete HTML page.

    Parameters
    ----------
    title : str
        Title of the window.
    top, foot : Markup
        Header and footer.
    sections : sequence of Section
        Sections, whose styles go into the head, and whose scripts follow the footer.
    script : bool
        Whether to include the script that sorts and filters tables.
    """
    scripts = [
        *([_read_resource("page.js")] if script else []),
        *(Markup(text) for one in sections for text in one.scripts),
    ]
    return TEMPLATES.render(
        "document.html",
        title=title,
        policy=make_policy([*scripts, *(text for one in sections for text in one.later_scripts)]),
        top=top,
        sections=sections,
        foot=foot,
        style=_read_resource("page.css") + Markup("\n").join(Markup(one.style) for one in sections),
        scripts=scripts,
    )


def _read_resource(name: str) -> Markup:
    return Markup(files("harness.report.html").joinpath(name).read_text(encoding="utf-8"))


def render_footer(command: str) -> Markup:
    """Render a footer with the time and the command that wrote the page."""
    now = datetime.now(UTC).isoformat(sep=" ", timespec="minutes").removesuffix("+00:00")
    return TEMPLATES.render("footer.html", now=now, command=command)
