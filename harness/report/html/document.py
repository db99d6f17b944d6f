"""Render whole pages, with style and script inside, so that the file depends on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files

from harness.report.html.choices import Section
from harness.report.html.markup import Markup, join_markup, tag


def render_document(title: str, top: Markup, sections: Sequence[Section], foot: Markup, script: bool = False) -> str:
    """Render a complete HTML page.

    Parameters
    ----------
    title : str
        Title of the window.
    top, foot : Markup
        Header and footer.
    sections : sequence of Section
        Sections, whose styles go into the head.
    script : bool
        Whether to include the script that sorts and filters tables.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(_read_resource("page.css") + "\n".join(one.style for one in sections))),
    )
    scripts = [tag("script", Markup(_read_resource("page.js")))] if script else []
    body = tag("body", top, tag("main", *(one.render() for one in sections)), foot, *scripts)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _read_resource(name: str) -> str:
    return files("harness.report.html").joinpath(name).read_text(encoding="utf-8")


def render_links(sections: Sequence[Section]) -> Markup:
    """Render the navigation links to all sections."""
    return tag("nav", *(tag("a", one.title, href=f"#{one.id}") for one in sections), aria_label="sections")


def render_footer(command: str) -> Markup:
    """Render a footer with the time and the command that wrote the page."""
    now = datetime.now(UTC).isoformat(sep=" ", timespec="minutes").removesuffix("+00:00")
    return tag("footer", tag("p", join_markup([f"Written {now} UTC by ", tag("code", command), "."])))
