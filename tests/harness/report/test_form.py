"""One file, well formed, that needs nothing else and isn't too long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.report.html.document import LARGEST
from harness.report.sections.facts import gather_facts
from harness.report.sections.figures import CHOSEN, choose_values
from harness.report.write import write
from harness.results.validity import verdicts
from tests.harness.report import stores
from tests.harness.report.form import LOADS, check_form
from tests.harness.report.reading import Reader


def test_reports_are_well_formed(toy_report: Path, krr_report: Path) -> None:
    for path in (toy_report, krr_report):
        found = check_form(path.read_text())
        assert all(table.caption for table in found.tables)
        assert all("scope" in one for name, one in found.elements if name == "th")


def test_the_reader_sees_what_is_not_well_formed() -> None:
    assert Reader("<p><b>a</p>").complaints
    assert Reader("<div>").complaints
    assert not Reader("<table><tr><td>1<td>2<tr><td>3</table>").complaints


def test_nothing_is_loaded_from_anywhere(toy_report: Path) -> None:
    text = toy_report.read_text()
    found = Reader(text)
    for name, attributes in found.elements:
        assert name not in ("link", "iframe", "object", "embed", "base"), name
        for key in LOADS:
            assert key not in attributes or (attributes[key] or "").startswith("data:"), (name, attributes)
        link = attributes.get("href") or attributes.get("xlink:href") or "#"
        assert link.startswith(("#", "data:")), link
    assert not re.search(r"@import|url\((?!#)", text)
    assert "fetch(" not in text
    assert "XMLHttpRequest" not in text


def test_figures_are_there_for_every_choice(toy_report: Path, toy_store: str) -> None:
    found = Reader(toy_report.read_text())
    drawn = choose_values(gather_facts(toy_store), 4)
    count = 1
    for places in drawn.values():
        count *= len(places)
    assert 1 < count <= 4
    marked = [one for name, one in found.elements if name == "figure" and "drawings-0" in (one.get("class") or "")]
    assert len(marked) >= count * len(CHOSEN)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stores.large(tmp_path_factory.mktemp("large") / "large.zarr")


def test_a_large_grid_stays_small_and_complete(large: str) -> None:
    """All verdicts and the coverage of all cells are there; what isn't has a command."""
    path = write(large, settings=1)
    assert path.stat().st_size < LARGEST
    found = check_form(path.read_text())
    cells = verdicts(large)["verdict"].size
    assert cells > 30_000
    signs = sum(
        len("".join(row[3:])) for one in found.tables if one.caption.startswith("Verdicts") for row in one.rows[1:]
    )
    assert signs == cells
    full = sum(len(one.rows) - 1 for one in found.tables if one.caption.startswith("Cells at"))
    wide = [one for one in found.tables if one.caption.startswith("Coverage of y* at")]
    assert wide, "some α have the short form"
    assert full + sum(len(row) - 4 for one in wide for row in one.rows[1:]) == cells
    assert "ckrr table" in found.words
