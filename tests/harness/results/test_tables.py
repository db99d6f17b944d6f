"""Tables, their formats and their command; and what a precision needs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from harness import UserError
from harness.cli import main
from harness.results.estimates import estimate
from harness.results.formats import FORMATS
from harness.results.required_paths import _pool, precision
from harness.results.rounding import count_decimals, format_with_error
from harness.results.tables import Cell, table
from harness.statistics.clustered import variance_components
from tests.harness.studies import run_serially


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("tables") / "toy.zarr"
    run_serially(where, grid__theta=[1, "best"], source__spread=0.5, replications__paths=30)
    return where


def test_nothing_is_left_out_or_averaged(store: Path) -> None:
    made = table(str(store))
    assert (made.rows, made.columns) == (["gamma", "theta", "lam", "alpha", "procedure"], ["n"])
    assert len(made.row_keys) * len(made.column_keys) == len(made.cells) == 4 * 2 * 2 * 2 * 2 * 2
    whole = estimate(str(store))
    one = made.cells[("0.25", "best", "1", "0.05", "random"), ("20",)]
    cell = whole.sel(gamma=0.25, theta="best", lam=1.0, alpha=0.05, procedure="random", n=20)
    assert (one.value, one.se, one.low, one.high) == tuple(float(cell[x]) for x in ("value", "se", "low", "high"))


def test_axes_go_where_they_are_asked_for(store: Path) -> None:
    made = table(
        str(store), rows=["procedure", "theta"], columns=["gamma", "lam"], where={"n": [20], "alpha": ["0.05"]}
    )
    assert (made.rows, made.columns) == (["procedure", "theta"], ["gamma", "lam"])
    assert made.column_keys == [("0.25", "0.1"), ("0.25", "1"), ("1", "0.1"), ("1", "1")]
    assert made.caption.endswith("; n = 20, alpha = 0.05")


def test_several_measures(store: Path) -> None:
    made = table(
        str(store), ["coverage", "width", "verdict"], where={"n": [20], "alpha": [0.1], "theta": [1], "lam": [1]}
    )
    assert made.columns == ["measure"]
    assert made.format_cell(("1", "exact"), ("verdict",)) in ("valid", "undecided")
    with pytest.raises(UserError, match=r"mad has no axis alpha, so it can't share a table"):
        table(str(store), ["mad", "coverage"])


def test_formats_say_the_same(store: Path) -> None:
    made = table(str(store), ["coverage"], ["procedure"], ["gamma", "n"], {"alpha": [0.1], "theta": [1], "lam": [1]})
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](made))))
    assert len(lines) == len(made.cells) == 16
    assert lines == [{key: str(value) for key, value in one.items()} for one in json.loads(FORMATS["json"](made))]
    number = made.format_cell(("exact",), ("0.25", "10"))
    assert " ± " in number
    assert f" {number}" in FORMATS["text"](made)
    assert f"| {number} |" in FORMATS["markdown"](made)
    assert f"${number.replace('±', chr(92) + 'pm')}$" in FORMATS["latex"](made)


def test_latex_is_sound(store: Path) -> None:
    made = table(str(store), ["width"], ["procedure", "theta"], ["gamma", "lam"], {"n": [20], "alpha": [0.05]})
    text = FORMATS["latex"](made)
    assert text.count("{") == text.count("}")
    assert text.count("$") % 2 == 0
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert [line.count("&") for line in body] == [5] * len(made.row_keys)
    assert r" &  & \multicolumn{2}{c}{$\gamma = 0.25$}" in text
    assert r"\cmidrule(lr){3-4} \cmidrule(lr){5-6}" in text
    assert not re.search(r"[^\x00-\x7f]", text)


def test_one_path_prints_no_error(tmp_path: Path) -> None:
    run_serially(tmp_path / "one.zarr", replications__paths=1)
    made = table(str(tmp_path / "one.zarr"))
    assert not [cell for cell in made.cells.values() if "±" in str(cell)]
    assert FORMATS["csv"](made).splitlines()[1].endswith(",,,")
    needs = precision(str(tmp_path / "one.zarr"), 0.01)
    assert [need.paths for need in needs] == [None, None]


def test_a_verdict_is_a_word_also_where_coverage_is_1(store: Path) -> None:
    made = table(str(store), ["verdict"], where={"procedure": ["wide"]})
    assert {str(cell) for cell in made.cells.values()} <= {"valid", "conservative", "undecided"}


def test_levels_stand_beside_coverage(store: Path) -> None:
    made = table(str(store), ["coverage", "level"], where={"n": [20], "alpha": [0.05], "theta": [1], "lam": [1]})
    assert made.format_cell(("1", "exact"), ("level",)) == "0.95"


def test_what_is_unfinished_or_failed_is_noted(tmp_path: Path) -> None:
    run_serially(tmp_path / "some.zarr", order=[0], grid__theta=[1, 13])
    made = table(str(tmp_path / "some.zarr"))
    assert [note.split(":")[0] for note in made.notes] == [
        "the study isn't complete",
        "some replications failed and are left out",
    ]
    assert "note: the study isn't complete" in FORMATS["text"](made)


def test_shares_of_0_and_1_have_a_bound(store: Path) -> None:
    made = table(str(store), ["unbounded"], where={"n": [20], "alpha": [0.1], "theta": [1], "lam": [1]})
    assert str(made.cells[("1", "exact"), ()]) == "0 (< 0.02)"  # 900 points on 30 paths, which may share their fate


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.95049, 0.0012, "0.9505 ± 0.0012"),
        (-0.00001, 0.0012, "0.0000 ± 0.0012"),
        (12.0, 3.0, "12 ± 3"),
        (0.05, 4e-16, "0.05"),
        (1234.5, 96.0, "1200 ± 100"),
        (0.5, np.inf, "0.5"),
    ],
)
def test_digits_follow_the_error(value: float, error: float, text: str) -> None:
    assert format_with_error(value, error) == text


@pytest.mark.parametrize("error", np.geomspace(1e-4, 9, 200))
def test_no_digit_is_far_below_the_error(error: float) -> None:
    assert 10.0 ** -count_decimals(error) <= error * 1.06 or error >= 1
    assert 10.0 ** -count_decimals(error) >= error / 20


def test_precision_needs_as_many_paths_as_it_says(tmp_path: Path) -> None:
    """With that many the error is what was asked for."""
    changes = {"source__spread": 1.0, "grid__theta": [1], "grid__lam": [1], "grid__n": [10], "grid__gamma": [1.0]}
    run_serially(tmp_path / "few.zarr", replications__paths=60, replications__draws=2, **changes)
    (need,) = precision(str(tmp_path / "few.zarr"), 0.01)
    assert need.paths is not None
    assert need.paths > 60
    assert need.draws is None  # what differs from path to path, no number of draws can reduce
    run_serially(tmp_path / "many.zarr", replications__paths=need.paths, replications__draws=2, **changes)
    (now,) = precision(str(tmp_path / "many.zarr"), 0.01)
    assert now.se == pytest.approx(0.01, rel=0.25)
    assert float(estimate(str(tmp_path / "many.zarr")).se.max()) == pytest.approx(now.se, rel=0.01)


def test_draws_do_where_paths_are_alike(tmp_path: Path) -> None:
    changes = {
        "grid__theta": [1],
        "grid__lam": [1],
        "grid__n": [10],
        "grid__gamma": [1.0],
        "grid__procedure": ["exact"],
    }
    run_serially(tmp_path / "few.zarr", replications__paths=40, replications__draws=4, **changes)
    (need,) = precision(str(tmp_path / "few.zarr"), 0.006)
    assert need.draws is not None
    run_serially(tmp_path / "more.zarr", replications__paths=40, replications__draws=need.draws, **changes)
    assert float(estimate(str(tmp_path / "more.zarr")).se.max()) == pytest.approx(0.006, rel=0.5)


def command(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.output


def test_the_command(store: Path) -> None:
    code, text = command(
        "table", str(store), "--rows", "procedure,theta", "--columns", "gamma,lam", "--where", "n=20,alpha=0.05"
    )
    assert code == 0
    assert "gamma = 0.25, lam = 0.1" in text
    where = {"n": [20], "alpha": [0.05]}
    assert f"{table(str(store), ['coverage'], ['procedure', 'theta'], ['gamma', 'lam'], where)}\n" == text
    code, text = command("table", str(store), "--versus", "exact", "--where", "n=20,alpha=0.05", "--format", "json")
    assert code == 0
    assert {one["value"] for one in json.loads(text) if one["procedure"] == "exact"} == {0.0}
    code, text = command("table", str(store), "--where", "n=3")
    assert (code, text) == (2, "error: n=3 isn't in the store: it has 10, 20\n")
    code, text = command("table", str(store), "--rows", "procedure,n", "--columns", "n")
    assert (code, text) == (2, "error: n is named twice: an axis goes to the rows or to the columns, once\n")


def test_status_says_what_a_precision_needs(store: Path) -> None:
    code, text = command("status", str(store), "--precision", "0.001")
    assert code == 0
    assert "for a standard error of coverage of 0.001 in every cell" in text
    code, text = command("status", str(store), "--precision", "0.001", "--json")
    assert [one["n"] for one in json.loads(text)["precision"]] == [10, 20]
    code, text = command("status", str(store), "--precision", "2")
    assert (code, text.count("\n")) == (2, 1)


def test_an_infinite_end_is_shown() -> None:
    assert str(Cell(1.76, np.inf, 1.37, np.inf, 0.0)) == "1.76 (1.37 to ∞)"
    assert str(Cell(0.2, np.inf, -np.inf, np.inf, 0.0)) == "0.2 (−∞ to ∞)"


def test_variances_are_pooled_over_cells(store: Path) -> None:
    """The largest of many noisy variances is too large; the pooled one is less, and both are told."""
    for need in precision(str(store), 0.002):
        assert need.paths is not None
        assert need.most_paths is not None
        assert need.paths <= need.most_paths
        assert need.paths_text == f"{need.paths} to {need.most_paths}"


def test_pooled_variances_are_not_too_large() -> None:
    """Cells of equal variance: their mean estimate is right, and the largest of them much too large."""
    values = np.random.default_rng(9).normal(0.9, 0.05, (40, 1, 1, 4, 4, 3, 1))
    between, _ = variance_components(values, np.ones(values.shape, bool))
    assert _pool(between).item() == pytest.approx(0.05**2, rel=0.1)
    assert between.max() > 1.3 * 0.05**2


def test_a_table_says_what_adjusting_was_worth(tmp_path: Path) -> None:
    changes = {"family": "krr", "grid__procedure": ["GPR-f", "RRCM", "CRR"], "grid__theta": [10.0, "ml"]}
    run_serially(tmp_path / "gp.zarr", **changes, replications__paths=60, replications__draws=1, grid__alpha=[0.25])
    url = str(tmp_path / "gp.zarr")
    plain, better = estimate(url), estimate(url, adjust=True)
    of_gpr = better.sel(procedure="GPR-f")
    assert (of_gpr.controls == 2).all(), "θ by likelihood is adjusted, too, by the coverages at a given θ"
    assert float(of_gpr.worth.sel(theta="10").median()) > 1.2
    assert (abs(better.value - plain.value) < 4 * plain.se).all()
    exact = better.sel(procedure="RRCM", theta="10")
    assert (exact.controls == 0).all(), "its expectation is known"
    assert exact.value.equals(plain.value.sel(procedure="RRCM", theta="10"))
    assert (better.controls.sel(procedure="RRCM", theta="ml") == 2).all()
    assert "worth " in table(url, adjust=True).notes[0]
    assert (
        "isn't adjusted" in table(url, ["failed"], where={"procedure": ["RRCM"], "theta": ["10"]}, adjust=True).notes[0]
    )
    with pytest.raises(UserError, match="width isn't a mean over all replications: only means and shares"):
        table(url, ["width"], adjust=True)
    with pytest.raises(UserError, match="exclude each other"):
        table(url, versus="GPR-f", adjust=True)


def test_a_table_of_scores_says_what_they_leave_out(tmp_path: Path) -> None:
    """At n = 10 and α = 0.05 a conformal region is the whole line."""
    url = str(tmp_path / "krr.zarr")
    run_serially(
        tmp_path / "krr.zarr",
        family="krr",
        source={"function": "heaviside", "test_points": 5},
        grid__procedure=["GPR-f", "RRCM"],
        grid__gamma=[0.1],
        grid__theta=[100],
        grid__lam=[0.1],
        grid__n=[10],
        replications={"paths": 3, "draws": 1},
    )
    here = {"alpha": [0.05]}
    assert table(url, ["interval_score"], where=here).notes == [
        "in 1 of 2 cells interval_score leaves out replications with an unbounded or empty region, up to 100% of them: "
        "--measure unscored shows their share"
    ]
    assert table(url, ["interval_score", "unscored"], where=here).notes == []
    assert table(url, ["interval_score"], where={**here, "procedure": ["GPR-f"]}).notes == []
