"""`ckrr paper --report`: what the claims are judged on, and the page. The stores have made-up numbers."""

from __future__ import annotations

import json
import shlex
from base64 import b64decode
from collections.abc import Callable, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from harness.backends.base import open_backend
from harness.cli import main
from harness.compute.block import BlockBuilder
from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Array, Status
from harness.cube.refresh import refresh
from harness.execution import lifecycle, prepare
from harness.paper.page import corrected, judging
from harness.paper.page.claims import (
    AGAINST,
    AGREES,
    CLAIMS,
    OPEN,
    PARTLY,
    UNREFUTED,
    WIDTHS,
    judge_group,
    judge_widths,
)
from harness.paper.page.corrected import ALL, GRID, IID, CorrectedStudy
from harness.paper.page.evidence import Evidence
from harness.paper.page.statements import FIGURES, TABLES
from harness.report.html.document import LARGEST
from harness.results.validity import verdicts
from harness.scenario.load import load
from harness.statistics.verdicts import INVALID, VERDICTS
from harness.store import arrays, artifacts
from harness.worker.study import build_study
from tests.harness.paper import drawn, printed
from tests.harness.report.form import LOADS, check_form
from tests.harness.report.reading import Reader

Cell = Mapping[str, Any]
Coverage = Callable[[Cell, float], float]
"""Of a cell, given its level."""


def fill(folder: Path, one: CorrectedStudy, coverage: Coverage, width: Callable[[Cell], float]) -> str:
    """A complete store of a first look: coverages spread a little around what is told, so do widths."""
    url = one.get_store_url(str(folder))
    loaded = one.load(quick=True)
    prepared = prepare.prepare(loaded, url, workers=2, speed=1e13)
    record = lifecycle.begin_run(prepared)
    study, grid, rng = build_study(url, record), record.extent.grid, np.random.default_rng(5)
    for unit in prepared.plan.units:
        block = BlockBuilder(study, unit).build()
        for name, values in block.values.items():
            values[:] = Status.OK if name == "status" else 0.0
        axes = [grid.procedure, grid.gamma, list_axis_values(grid, "theta"), grid.lam, grid.alpha]
        for at in product(*(range(len(each)) for each in axes)):
            names = ("procedure", "gamma", "theta", "lam", "alpha")
            cell = {name: axis[i] for name, axis, i in zip(names, axes, at, strict=True)} | {"n": unit.n}
            level = record.exact_levels.get(cell["procedure"], {}).get(unit.n, {}).get(cell["alpha"], 1 - cell["alpha"])
            noise: Array = rng.normal(size=block.values["coverage"].shape[:2])
            mean = coverage(cell, level)
            for name in ("coverage", "coverage_expected"):
                block.values[name][(..., *at)] = np.clip(mean + 1e-4 * noise, 0, 1)
            block.values["width"][(..., *at, slice(None))] = width(cell) * (1 + 0.01 * noise[..., None])
        arrays.write_unit(url, record, block)
    refresh(url, record, grid.n)
    return url


def usual(cell: Cell, level: float) -> float:
    """Conformal cells have their level; GPR-f does where γ = λ and θ = 100, and is too low elsewhere."""
    right = cell["gamma"] == cell["lam"] and cell["theta"] == "100"
    return level - 0.3 if cell["procedure"] == "GPR-f" and not right else level


def one_bad(cell: Cell, level: float) -> float:
    here = {"procedure": "CRR", "gamma": 0.1, "theta": "10", "lam": 0.1, "alpha": 0.25}
    return level - 0.05 if here.items() <= cell.items() else usual(cell, level)


def plain(cell: Cell) -> float:
    """Conformal widths are GPR-f's where λ = γ, and a tenth elsewhere."""
    return 1.0 if cell["procedure"] == "GPR-f" or cell["gamma"] == cell["lam"] else 0.1


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that a first look needs."""
    folder = tmp_path_factory.mktemp("page")
    for one in corrected.list_studies(quick=True):
        fill(folder, one, one_bad if one == CorrectedStudy("f2", GRID) else usual, plain)
    printed.fill(folder, "f2", quick=True)
    for study in ("gp1", "heaviside"):
        drawn.fill(str(folder / f"paper-{study}.zarr"), study, drawn.LINE[:5], WHOLE[study])
    for gamma in ("1e-06", "0.1"):
        artifacts.write(open_backend(str(folder / "paper-gp1.zarr")), f"path-gamma={gamma}", np.zeros(11001), 60.0)
    return folder


WHOLE = {"gp1": ['grid.theta=["ml-cobyla"]'], "heaviside": drawn.SETTINGS["heaviside"]}


@pytest.fixture(scope="module")
def found(results: Path) -> Evidence:
    return Evidence(corrected.find_stores(str(results)), str(results))


def test_parts_are_counted_as_a_loop_does(found: Evidence, results: Path) -> None:
    level = 1 - 0.05 / 14
    all_of_them = {
        one: verdicts(one.get_store_url(str(results)), level=level) for one in corrected.list_studies(quick=True)
    }
    for claim in CLAIMS:
        for group in claim.groups:
            for part in found.list_parts(group):
                judged = all_of_them[part.study]
                chosen = group.cells(judged).broadcast_like(judged["value"]).transpose(*CUBE_DIMS).values
                each = {name: judged[name].transpose(*CUBE_DIMS).values for name in ("verdict", "low", "high")}
                target = judged["target"].broadcast_like(judged["value"]).transpose(*CUBE_DIMS).values
                counts, short, least = dict.fromkeys(VERDICTS, 0), [], []
                for at in product(*(range(size) for size in chosen.shape)):
                    if chosen[at]:
                        counts[each["verdict"][at]] += 1
                        short.append(target[at] - each["low"][at])
                        least.append(target[at] - each["high"][at])
                assert {name: part.counts[name] for name in VERDICTS} == counts
                assert part.largest_shortfall == pytest.approx(max(short))
                assert part.least_shortfall == pytest.approx(max(least))
                assert part.cells == sum(counts.values())


def test_claims_are_judged(found: Evidence) -> None:
    conformal, right, wrong = CLAIMS
    states = [
        judge_group(group, found.list_parts(group)).state for group in (*conformal.groups, *right.groups, *wrong.groups)
    ]
    # At α = 0.01 some intervals are about as long as the tolerance allows: how units are cut decides.
    held = {AGREES: "held", UNREFUTED: "held"}
    assert [held.get(one, one) for one in states[:4]] == ["held", "held", AGAINST, "held"]
    assert states[4:] == [AGREES, AGAINST, AGREES, AGREES]
    (bad,) = [part for part in found.list_parts(conformal.groups[2]) if part.counts[INVALID]]
    assert (bad.study, bad.counts[INVALID]) == (CorrectedStudy("f2", GRID), 1)
    assert bad.worst is not None
    assert (bad.worst.procedure, bad.worst.cell["theta"], bad.worst.cell["alpha"]) == ("CRR", "10", 0.25)
    assert 0.04 < bad.least_shortfall <= 0.05 <= bad.largest_shortfall < 0.06
    assert judge_group(conformal.groups[2], found.list_parts(conformal.groups[2])).text.startswith("1 of ")
    assert [judge_group(group, []).state for group in conformal.groups] == [OPEN] * 4


def test_borderline_cells_neither_hold_nor_fall_short() -> None:
    def judge(holds: bool, **some: int) -> tuple[str, str]:
        counts = {name: some.get(name, 0) for name in (*VERDICTS, "")}
        part = judging.ClaimPart(CorrectedStudy("f2", GRID), 50, counts, 0.0, 0.0, None)
        group = next(group for claim in CLAIMS for group in claim.groups if group.holds == holds)
        found = judge_group(group, [part])
        return found.state, found.text

    none = "none of 3 cells is shown to fall short,"
    held = f"{none} 2 are shown to hold the level less the tolerance, 1 is borderline"
    assert judge(True, valid=1, conservative=1, borderline=1) == (UNREFUTED, held)
    assert judge(False, valid=1, conservative=1, borderline=1) == (OPEN, held)
    assert judge(True, borderline=2, undecided=1)[0] == OPEN
    assert judge(True, borderline=2, invalid=1) == (AGAINST, "1 of 3 cells falls short, 2 are borderline")
    assert judge(True, undecided=3) == (OPEN, "none of 3 cells can be decided with these paths")


def test_widths_are_judged(found: Evidence) -> None:
    assert [judge_widths(claim, found.list_ratios(claim)).state for claim in WIDTHS] == [AGREES, AGREES]
    (one,) = found.list_ratios(WIDTHS[0])
    assert one.study == CorrectedStudy("gp1", GRID)
    assert one.sizes == [25, 50, 100]
    np.testing.assert_allclose(one.values["value"], 1.0, atol=0.02)
    assert judge_widths(WIDTHS[0], found.list_ratios(WIDTHS[0])).text.startswith("32 of 32 ratios")
    assert judge_widths(WIDTHS[1], found.list_ratios(WIDTHS[1])).text.startswith("16 of 16 ratios")
    # Judged as the other claim, each is refuted.
    assert judge_widths(WIDTHS[1], found.list_ratios(WIDTHS[0])).state != AGREES
    assert judge_widths(WIDTHS[0], found.list_ratios(WIDTHS[1])).state == AGAINST
    assert judge_widths(WIDTHS[0], []).state == OPEN
    both = [*found.list_ratios(WIDTHS[0]), *found.list_ratios(WIDTHS[1])]
    assert judge_widths(WIDTHS[0], both).state == PARTLY


def test_every_study_is_there_in_both_layouts() -> None:
    assert len(ALL) == 14 == round(0.05 / (1 - judging._EACH))
    for one in ALL:
        loaded = one.load()
        assert loaded.scenario.name == one.name
        assert loaded.built.source.test == one.test
        words = shlex.split(one.format_command("results"))
        assert words[:3] == ["ckrr", "run", one.scenario]
        again = load(words[2], [text for flag, text in pairwise(words) if flag == "--set"])
        assert again.fingerprint == loaded.fingerprint
        assert prepare.get_default_store(again) == one.get_store_url("results")
    assert CorrectedStudy("f2", IID).format_command("x").endswith("--set source.test=iid --store x/f2-iid.zarr")
    assert {one.scenario for one in corrected.list_studies(quick=True)} == {"gp1", "heaviside", "f2"}


def paper(*arguments: Any) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["paper", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def page(results: Path) -> str:
    target = results / "paper.html"
    code, text = paper("--report", "--quick", "--results", results, "--json")
    assert code == 0, text
    assert len(text.splitlines()) == 1, "nothing is run"
    facts = json.loads(text)
    assert facts["written"] == str(target)
    assert len(facts["claims"]) == 8 + 2
    assert {one["state"] for one in facts["claims"]} - {UNREFUTED} == {AGREES, AGAINST}
    assert target.stat().st_size < LARGEST
    return target.read_text(encoding="utf-8")


def test_the_page_is_one_well_formed_file(page: str) -> None:
    seen = check_form(page)
    names = [name for name, _ in seen.elements]
    assert not {"script", "link", "iframe", "object"} & set(names)
    for name, attributes in seen.elements:
        assert all((attributes.get(key) or "data:").startswith("data:") for key in LOADS), (name, attributes)
        assert (attributes.get("href") or attributes.get("xlink:href") or "#").startswith("#")
    assert names.count("figure") == 8 == len(FIGURES)
    (bitmap,) = [one["src"] or "" for name, one in seen.elements if name == "img"]
    assert b64decode(bitmap.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    assert all("scope" in one for name, one in seen.elements if name == "th")


def test_the_page_tells_what_was_found_and_what_was_not_run(page: str, results: Path) -> None:
    seen = Reader(page)
    assert "Reproduced 64 of 64 printed numbers to the digit. This is a first look" in seen.words
    cells = [
        text for one in seen.tables if one.caption.startswith("Table ") for row in one.rows[1:] for text in row[2:]
    ]
    assert len(cells) == 64
    assert all(text.endswith(" =") for text in cells)
    assert "Not run yet: ckrr paper --table 1" in seen.words
    assert f"Not run yet: ckrr run gp2 --store {results}/gp2.zarr" in seen.words
    for said in (*TABLES.values(), *FIGURES.values(), *CLAIMS, *WIDTHS):
        assert said.says in seen.words
    assert "1 of 1344 cells falls short. ✗ not as the paper says" in seen.words
    table = seen.table("gp1, θ = 100, α = 0.1")
    assert [len(row) for row in table.rows] == [6] * 9


def test_what_is_asked_wrongly_runs_nothing(tmp_path: Path) -> None:
    for arguments, message in (
        (["--report", "--table", "1"], "--table, --figures and --report exclude each other: give one of them"),
        (["-o", "x.html"], "-o is for --report: tables are printed, and figures go into a folder beside the stores"),
        (["--report", "-o", tmp_path], f"{tmp_path} is a directory: -o takes the name of a file"),
    ):
        assert paper(*arguments, "--results", tmp_path / "none") == (2, f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_store_of_another_study_is_refused(tmp_path: Path) -> None:
    """Also where a first look wouldn't run it."""
    other = load("f5", ["seed=1", "grid.n=[150]", "replications.paths=2"])
    lifecycle.begin_run(prepare.prepare(other, str(tmp_path / "f5.zarr"), workers=2, speed=1e13))
    with pytest.raises(UserError, match=r"f5\.zarr belongs to another study: seed was 1 and is 20160919"):
        corrected.find_stores(str(tmp_path))


def test_a_store_that_lacks_cells_counts_as_not_run(tmp_path: Path) -> None:
    part = load("f5", ["grid.lam=[0.1]", "grid.n=[150]", "replications.paths=2"])
    lifecycle.begin_run(prepare.prepare(part, str(tmp_path / "f5.zarr"), workers=2, speed=1e13))
    assert corrected.find_stores(str(tmp_path)) == {}
