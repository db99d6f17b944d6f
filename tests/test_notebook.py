"""The notebook to start from runs from top to bottom, and says what its text says."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.house import ROOT

FILE = ROOT / "docs/notebooks/first-study.ipynb"


def test_it_has_no_outputs() -> None:
    for cell in nbformat.read(FILE, as_version=4).cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)


def test_it_runs_from_top_to_bottom(tmp_path: Path) -> None:
    notebook = nbformat.read(FILE, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    first, decided = (str(shown[k][-1]["data"]["text/plain"]) for k in (3, 4))
    assert "undecided" in first
    assert "undecided" not in decided
    assert "text/html" in shown[0][-1]["data"], "the plan is a table"
    assert "text/html" in shown[1][-1]["data"], "the cube is a tree"
    assert "image/png" in shown[5][-1]["data"]
    assert (tmp_path / "jump.html").is_file()
