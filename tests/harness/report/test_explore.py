"""The data of the Explore section are the store's, fit into the page, and what draws them is what was built."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from base64 import b64decode
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.core.labels import format_label, list_axis_values
from harness.report import explore
from harness.report.explore.packing import pack_text, read_library
from harness.report.explore.section import make_explore_section
from harness.report.explore.selection import choose_cells, describe_choice, format_rest
from harness.report.explore.spread import SHARES, compute_quantiles, find_worst
from harness.report.html.policy import hash_script
from harness.report.sections.facts import gather_facts
from harness.results.estimates import estimate
from harness.results.replications import open_reader
from harness.results.validity import verdicts
from harness.store.arrays import open_array
from tests.harness.report.reading import Reader
from tests.harness.report.test_content import as_shown

VEGA = Path(explore.__file__).parent / "vega"
NUMBERS = {"inf": np.inf, None: np.nan}


def unpack(report: Path, name: str = "data") -> str:
    (packed,) = re.findall(
        rf'<script type="application/gzip" id="explore-{name}">([A-Za-z0-9+/=]*)</script>', report.read_text()
    )
    return gzip.decompress(b64decode(packed)).decode()


def list_cells(data: dict[str, Any]) -> list[dict[str, str]]:
    """Labels of every cell of the page, in its order."""
    names = [axis["name"] for axis in data["axes"]]
    every = [dict(zip(names, labels, strict=True)) for labels in product(*(axis["values"] for axis in data["axes"]))]
    return every if data["cells"] is None else [every[place] for place in data["cells"]]


def locate(cell: dict[str, str]) -> dict[str, Any]:
    """Where xarray finds a cell."""
    return {axis: text if axis in ("procedure", "theta") else float(text) for axis, text in cell.items()}


def test_the_bundle_is_the_one_that_was_built() -> None:
    about, text = json.loads((VEGA / "bundle.json").read_text()), (VEGA / "vega.min.js").read_bytes()
    assert sha256(text).hexdigest() == about["sha256"]
    assert len(text) < 1_000_000
    locked = json.loads((VEGA / "package-lock.json").read_text())["packages"]
    licences = (VEGA / "LICENCES.txt").read_text()
    assert {"vega", "vega-lite", "vega-interpreter"} <= set(about["packages"])
    for name, version in about["packages"].items():
        entry = locked[f"node_modules/{name}"]
        assert entry["version"] == version
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry, "no host is named"
        assert f"{name} {version}" in licences
    assert "Redistributions in binary form must reproduce" in text.decode()[: len(licences)]


def test_the_page_allows_its_scripts_and_no_others(krr_report: Path) -> None:
    found = Reader(krr_report.read_text())
    (policy,) = [one["content"] for name, one in found.elements if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", krr_report.read_text(), flags=re.DOTALL)
    assert parts["script-src"].split() == [hash_script(text) for text in (*scripts, unpack(krr_report, "library"))]
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert "unsafe-eval" not in policy


def test_columns_are_those_of_the_store(krr_report: Path, krr_store: str) -> None:
    data = json.loads(unpack(krr_report))
    cells, found = list_cells(data), verdicts(krr_store)
    assert len(cells) == 4 * 2 * 2 * 2 * 2
    assert {"coverage_expected", "coverage_f", "width", "interval_score"} <= {one["name"] for one in data["measures"]}
    for measure in data["measures"]:
        whole = estimate(krr_store, measure["name"])
        for i, (cell, text) in enumerate(zip(cells, measure["text"].split("|"), strict=True)):
            one = whole.sel(locate(cell))
            assert text == as_shown(one)
            half = float(one.high - one.low) / 2
            for part in ("value", "low", "high"):
                number = NUMBERS.get(measure[part][i], measure[part][i])
                assert number == pytest.approx(float(one[part]), abs=0.05 * half if half > 0 else 1e-4, nan_ok=True)
    words = [data["verdicts"]["words"][code] for code in data["verdicts"]["y*"]]
    assert words == [found.verdict.sel(locate(cell)).item() for cell in cells]
    targets = found.target.broadcast_like(found.verdict)
    assert data["target"] == pytest.approx([float(targets.sel(locate(cell))) for cell in cells], abs=1e-4)


def test_quantiles_and_the_worst_are_those_of_plain_sorting(krr_report: Path, krr_store: str) -> None:
    data, grid = json.loads(unpack(krr_report)), open_reader(krr_store).manifest.extent.grid
    for i, cell in enumerate(list_cells(data)):
        place = [
            list(map(format_label, list_axis_values(grid, axis))).index(cell[axis])
            for axis in ("procedure", "gamma", "theta", "lam", "alpha")
        ]
        names = (f"replications/n={cell['n']}/{name}" for name in ("coverage_expected", "width"))
        coverage, width = (open_array(krr_store, name, 0) for name in names)
        levels = [float(coverage[(path, 0, *place)]) for path in range(6)]
        widths = [float(width[(path, 0, *place, 1)]) for path in range(6)]
        here = slice(i * len(SHARES), (i + 1) * len(SHARES))
        for name, values in (("coverage", levels), ("width", widths)):
            ordered = [sorted(values)[max(int(np.ceil(round(share * 6, 9))), 1) - 1] for share in SHARES]
            shown = [NUMBERS.get(one, one) for one in data["spread"][name][here]]
            assert shown == pytest.approx(ordered, abs=6e-4, rel=6e-3)
        worst = min(range(6), key=lambda path: (levels[path], -widths[path], path))
        assert (data["spread"]["path"][i], data["spread"]["draw"][i]) == (worst, 0)


def test_replications_that_failed_are_in_no_quantile() -> None:
    values, ok = np.array([[0.1], [0.5], [0.7]]), np.array([[False], [True], [True]])
    assert compute_quantiles(values, ok)[[0, -1]].tolist() == [0.5, 0.7]
    assert tuple(map(int, find_worst(values, values, ok))) == (1, 0)
    assert np.isnan(compute_quantiles(values, np.zeros_like(ok))).all()


def test_of_too_many_cells_values_are_chosen_and_it_is_said(toy_store: str) -> None:
    facts = gather_facts(toy_store)
    whole = choose_cells(facts)
    assert (describe_choice(facts, whole), format_rest(facts, whole, "x.zarr")) == ("", "")
    fewer = choose_cells(facts, 50)
    assert 0 < len(fewer.indices) <= 50
    assert len(fewer.places["procedure"]) == 4, "every procedure stays"
    assert f"{len(fewer.indices)} of {len(whole.indices)} cells: every procedure, and " in describe_choice(facts, fewer)
    words = shlex.split(format_rest(facts, fewer, toy_store))
    assert CliRunner().invoke(main, words[1:]).exit_code == 0


def test_where_there_is_no_room_there_are_fewer_cells(toy_store: str) -> None:
    facts = gather_facts(toy_store)
    library = len(pack_text(read_library()))
    roomy, tight = (make_explore_section(facts, "x.zarr", library + room) for room in (10**6, 100))
    assert roomy is not None
    assert tight is not None
    assert "To keep the file small" not in roomy.body
    assert "To keep the file small" in tight.body
    assert len(tight.body) < len(roomy.body)
