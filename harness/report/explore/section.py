"""Render the section that lets readers explore the cells of a study."""

from __future__ import annotations

from markupsafe import Markup

from harness.report.explore.packing import pack_json, pack_text, read_library, read_scripts, read_style
from harness.report.explore.selection import MOST, CellChoice, choose_cells, describe_choice, format_rest
from harness.report.explore.spread import compute_spread
from harness.report.explore.table import make_table
from harness.report.html.choices import Section
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts
from harness.results.replications import open_reader

_FEWEST = 100
"""Cells below which the section doesn't go to save room."""


def make_explore_section(facts: Facts, shown: str, room: int) -> Section | None:
    """Make the section; None if no cell has a result.

    Parameters
    ----------
    facts : Facts
        Contents of the store.
    shown : str
        Name of the store in commands.
    room : int
        Bytes that the section may take. It has fewer cells if they would take more.
    """
    library = read_library()
    packed = pack_text(library)
    chosen, data = _fit_cells(facts, shown, room - len(packed))
    if not chosen.has_result.any():
        return None
    body = TEMPLATES.render(
        "explore.html",
        choice=describe_choice(facts, chosen),
        command=format_rest(facts, chosen, shown),
        library=Markup(packed),
        data=Markup(data),
    )
    return Section("explore", "Explore", body, read_style(), [read_scripts()], [library])


def _fit_cells(facts: Facts, shown: str, room: int) -> tuple[CellChoice, str]:
    """Choose cells whose packed data fit: at most `MOST`, or half as many, and so on."""
    spread, most = compute_spread(open_reader(facts.url)), MOST
    while True:
        chosen = choose_cells(facts, most)
        data = pack_json(make_table(facts, chosen, spread, shown))
        if len(data) <= room or most <= _FEWEST:
            return chosen, data
        most //= 2
