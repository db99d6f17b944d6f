"""Tables of procedures × studies have the numbers of the single studies, and say what they mean."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ckrr import study
from harness import UserError
from harness.cli import main
from harness.results.formats import FORMATS
from harness.results.studies.selection import select_studies
from harness.results.studies.tables import OVERALL, table
from harness.results.tables import Table, table as table_of_one
from tests.harness.results.studies import stores
from tests.harness.results.studies.test_benchmark import read


def command(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def made(real: list[str]) -> Table:
    return table(real, where=stores.WHERE)


def test_one_store_has_the_same_table_as_before(real: list[str]) -> None:
    for stored in (real[0], real[:1], Path(real[0])):
        assert str(table(stored, "width", where="n=39")) == str(table_of_one(real[0], ["width"], where={"n": [39]}))
    with pytest.raises(UserError, match="no store to make a table of"):
        table([])


def test_python_takes_what_the_command_line_takes(real: list[str]) -> None:
    plain = study.table(real[0], ["coverage", "width"], ["procedure", "theta"], ["alpha"], {"n": ["39"]}, "RRCM")
    assert plain.row_keys[0] == ("coverage", "GPR-f", "100")
    texts = study.table(real[0], "coverage, width", "procedure,theta", "alpha", "n=39", "RRCM")
    named = study.table(
        real[0], measure="coverage,width", rows=("procedure", "theta"), columns="alpha", where=["n=39"], versus="RRCM"
    )
    words = ["--measure", "coverage,width", "--rows", "procedure,theta", "--columns", "alpha", "--where", "n=39"]
    printed = command("table", real[0], *words, "--versus", "RRCM")[1]
    assert [f"{texts}\n", f"{named}\n", printed] == [f"{plain}\n"] * 3
    assert study.estimate(real[0], where="n=39").identical(study.estimate(real[0], where={"n": [39]}))


def test_numbers_are_those_of_each_study(made: Table, real: list[str]) -> None:
    assert (made.rows, made.columns) == (["measure", "procedure"], ["study"])
    assert made.column_keys == [("jump",), ("sine",), (OVERALL,)]
    selected = ({"theta": [100], "n": [39], "alpha": [0.1]}, {"alpha": [0.1]})
    for one, where in zip(select_studies(real, stores.WHERE), selected, strict=True):
        single = table_of_one(one.url, [one.reader.judged, "verdict", "interval_score"], where=where)
        for procedure in stores.PROCEDURES:
            for mine, its in (("coverage", one.reader.judged), ("verdict",) * 2, ("interval_score",) * 2):
                assert made.cells[(mine, procedure), (one.name,)] == single.cells[(procedure,), (its,)]


def test_widths_are_relative_to_the_reference(made: Table, real: list[str]) -> None:
    assert "width relative to RRCM in the same replication" in made.caption
    for one in select_studies(real, stores.WHERE):
        ratios = read(one, "RRCM-loo", "width")[..., 1] / read(one, "RRCM", "width")[..., 1]
        cell = made.cells[("relative_width", "RRCM-loo"), (one.name,)]
        assert cell.value == pytest.approx(np.sort(ratios.ravel())[ratios.size // 2 - 1], rel=1e-6)
        assert cell.se > 0
    other = table(real, "relative_width", where=stores.WHERE, versus="GPR-f")
    assert str(other.cells[("GPR-f",), ("jump",)]) == "1"


def test_only_ranks_and_records_are_summed_up(made: Table) -> None:
    overall = {row: str(cell) for (row, column), cell in made.cells.items() if column == (OVERALL,)}
    assert {measure for measure, _ in overall} == {"rank", "difference"}
    assert overall["rank", "RRCM"].startswith("mean ")
    assert overall["difference", "CRR-loo"] == "0/0/2"
    assert ("difference", "RRCM") not in overall


def test_notes_say_what_is_compared_and_what_is_not(made: Table) -> None:
    told = "\n".join(made.notes)
    assert "cells: jump: gamma = 0.1, theta = 100; sine: gamma = 0, theta = 10" in told
    assert "jump: not ranked: GPR-f (invalid), GPR-p (its intervals are for f(x*), not y*)" in told
    assert "sine: levels differ (RRCM 0.925, RRCM-loo 0.925, CRR-loo 0.95), and a higher level takes more width" in told
    assert "with probability at least 0.95, and none in all studies together with at least 0.9" in told
    assert "coverage is expected coverage in jump, and counted in sine" in told
    assert "sine: errors and verdicts are conditional on the rows of the table" in told
    assert "With probability at least 0.95 all 12 intervals hold, in all studies together" in told


def test_formats_say_the_same(made: Table) -> None:
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](made))))
    records = json.loads(FORMATS["json"](made))
    assert len(lines) == len(records) == len(made.cells)
    plain = [{key: "" if value is None else str(value) for key, value in one.items()} for one in records]
    assert [
        {key: value for key, value in line.items() if key in one} for line, one in zip(lines, plain, strict=True)
    ] == plain
    assert {one["verdict"] for one in records if one["measure"] == "verdict"} >= {"valid", "invalid"}
    assert {one["record"] for one in records if "record" in one} >= {"0/0/2"}
    number = made.format_cell(("difference", "CRR-loo"), ("jump",))
    assert " to " in number
    assert f"| {number} |" in FORMATS["markdown"](made)
    latex = FORMATS["latex"](made)
    assert r"\textrm{ to }" in latex
    assert r"measure & procedure & jump & sine & all studies \\" in latex
    assert latex.isascii()
    assert latex.count("$") % 2 == 0


def test_axes_go_where_they_are_asked_for(real: list[str]) -> None:
    made = table(real, "coverage,rank", rows="study,procedure", where=stores.WHERE)
    assert (made.rows, made.columns) == (["study", "procedure"], ["measure"])
    assert made.format_cell(("jump", "GPR-f"), ("rank",)) == "–"
    assert not [note for note in made.notes if "expected coverage" in note], "coverage was requested, and is counted"
    with pytest.raises(UserError, match="there is no axis 'n': it must be one of study, measure, procedure"):
        table(real, rows="n", where=stores.WHERE)


def test_a_rank_follows_the_measure_that_is_shown(real: list[str]) -> None:
    made = table(real, "interval_score,rank", where=stores.WHERE)
    assert "rank by interval_score" in made.caption
    assert made.format_cell(("rank", "RRCM-loo"), ("sine",)) == "1 of 3"
    assert "rank by width" in table(real, "rank,relative_width", where=stores.WHERE).caption


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--measure", "mad"], "error: mad is over all α, and several studies are compared at one: request it of one"),
        (["--measure", "rnak"], "error: there is no measure 'rnak': it must be one of"),
        (["--adjust"], "error: adjust is for a table of one store"),
        (["--versus", "x"], "error: procedure 'x' isn't in jump, which has GPR-f"),
        (["--where", "alpha=0.3"], "error: alpha=0.3 is in no study"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, real: list[str]) -> None:
    where = [] if "alpha=0.3" in words else ["--where", "alpha=0.1"]
    code, out = command("table", *real, "--where", "theta=10,100,n=39", *where, *words)
    assert (code, out.count("\n")) == (2, 1)
    assert out.startswith(message)


def test_words_and_numbers_share_a_csv_file(real: list[str]) -> None:
    """With one store, too: a verdict beside coverage."""
    made = table(real[1], "coverage,verdict", where="alpha=0.1")
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](made))))
    assert {line["verdict"] for line in lines if line["measure"] == "coverage"} == {""}
    assert "valid" in {line["verdict"] for line in lines}


def test_verdicts_may_allow_looking_where_differences_do_not(toys: list[str]) -> None:
    note = "one, two: verdicts hold however often somebody looks, intervals of differences for one look"
    assert note in table(toys, "rank", design="anytime").notes
    assert note not in table(toys, "rank").notes
