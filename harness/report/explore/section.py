"""Render the section that lets readers explore the cells of a study."""

from __future__ import annotations

from markupsafe import Markup

from harness.report.explore.packing import pack_json, pack_text, read_library, read_scripts, read_style
from harness.report.explore.selection import choose_cells, describe_choice, format_rest
from harness.report.explore.table import make_table
from harness.report.html.choices import Section
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts


def make_explore_section(facts: Facts, shown: str) -> Section | None:
    """Make the section; None if no cell has a result.

    Parameters
    ----------
    facts : Facts
        Contents of the store.
    shown : str
        Name of the store in commands.
    """
    chosen = choose_cells(facts)
    if not chosen.has_result.any():
        return None
    library = read_library()
    body = TEMPLATES.render(
        "explore.html",
        choice=describe_choice(facts, chosen),
        command=format_rest(facts, chosen, shown),
        library=Markup(pack_text(library)),
        data=Markup(pack_json(make_table(facts, chosen, shown))),
    )
    return Section("explore", "Explore", body, read_style(), [read_scripts()], [library])
