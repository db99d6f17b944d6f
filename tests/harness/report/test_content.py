"""What a report says is what the store has."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.report import page
from harness.report.sections.facts import gather_facts
from harness.report.sections.verdict_cards import judge_procedures
from harness.report.sections.widths import summarise_widths
from harness.report.write import get_default_file, write, write_report
from harness.results.estimates import difference, estimate
from harness.results.rounding import format_estimate, format_interval
from harness.results.tables import table as results_table
from harness.results.validity import verdicts
from harness.results.widths import compare_widths
from harness.store.heartbeat import current_driver, to_bytes
from harness.store.manifest import DRIVER
from tests.harness.report import stores
from tests.harness.report.reading import Reader
from tests.harness.studies import run_serially

SIGNS = {"valid": "✓", "conservative": "▲", "invalid": "✗", "undecided": "?"}
"""Verdicts of a study of the fixed design, in the order in which they are shown."""


@pytest.fixture(scope="module")
def toy(toy_report: Path) -> Reader:
    return Reader(toy_report.read_text())


@pytest.fixture(scope="module")
def krr(krr_report: Path) -> Reader:
    return Reader(krr_report.read_text())


def as_shown(one: xr.Dataset) -> str:
    """An estimate with its error, or its interval; an error that is only rounding is none."""
    value, error, low, high = (float(one[part]) for part in ("value", "se", "low", "high"))
    return format_estimate(value, 0.0 if error < 1e-9 * value else error, low, high, 0.001)


def test_counts_are_those_of_the_verdicts(toy: Reader, toy_store: str) -> None:
    found = verdicts(toy_store)["verdict"]
    for name in ("exact", "wide", "random", "split"):
        here = found.sel(procedure=name).values
        said = " ".join(f"{sign} {(here == verdict).sum()} {verdict}" for verdict, sign in SIGNS.items())
        assert f"{name} " in toy.words
        assert said in toy.words, (name, said)


def test_every_cell_is_in_a_table_with_its_numbers(toy: Reader, toy_store: str) -> None:
    found, coverage, width = verdicts(toy_store), estimate(toy_store, "coverage"), estimate(toy_store, "width")
    for alpha in (0.05, 0.1):
        head, *rows = toy.table(f"Cells at α = {alpha}").rows
        assert len(rows) == 4 * 2 * 3 * 2 * 2 - 2 * 2, "all but those that are excluded"
        for row in rows:
            cell = dict(zip(head, row, strict=True))
            at = {
                "procedure": cell["procedure"],
                "gamma": float(cell["γ"]),
                "theta": cell["θ"],
                "lam": float(cell["λ"]),
                "n": int(cell["n"]),
                "alpha": alpha,
            }
            one, wide = found.sel(at), width.sel(at)
            assert cell["coverage"] == as_shown(coverage.sel(at))
            assert cell["verdict"].partition(" ")[2] == one["verdict"].item()
            assert cell["width"] == as_shown(wide)


def test_the_map_has_a_sign_for_every_cell(toy: Reader, toy_store: str) -> None:
    found = verdicts(toy_store)["verdict"]
    signs = SIGNS | {"": "·"}
    for row in toy.table("Verdicts on y* at α = 0.05").rows[1:]:
        gamma, theta, lam, *cells = row
        for name, cell in zip(("exact", "wide", "random", "split"), cells, strict=True):
            here = found.sel(procedure=name, gamma=float(gamma), theta=theta.rstrip("†"), lam=float(lam), alpha=0.05)
            said = "".join(signs[each] for each in here.values)
            assert cell == (said[:1] + " " if (name, theta) == ("split", "1") else said)


def test_mad_is_the_estimate(toy: Reader, toy_store: str) -> None:
    found = estimate(toy_store, "mad")
    head, *rows = toy.table("MAD").rows
    assert len(rows) == 4 * 2 * 3 * 2
    for row in rows:
        cell = dict(zip(head, row, strict=True))
        at = found.sel(
            procedure=cell["procedure"].partition(" (")[0],
            gamma=float(cell["γ"]),
            theta=cell["θ"],
            lam=float(cell["λ"]),
            n=10,
        )
        assert cell["n = 10"] == as_shown(at)


def test_paired_differences_are_the_estimates(krr: Reader, krr_store: str) -> None:
    for caption, measure in (("Expected coverage less", "coverage_expected"), ("Width less", "width")):
        found = difference(krr_store, "GPR-f", measure)
        head, *rows = krr.table(f"{caption} that of GPR-f, at α = 0.1").rows
        assert len(rows) == 3 * 2 * 2, "every procedure but the reference, θ and λ"
        for row in rows:
            cell = dict(zip(head, row, strict=True))
            at = found.sel(
                procedure=cell["procedure"].partition(" (")[0], theta=cell["θ"], lam=float(cell["λ"]), alpha=0.1, n=20
            ).squeeze()
            value, low, high = (float(at[part]) for part in ("value", "low", "high"))
            assert cell["n = 20"] == format_interval(value, low, high)


def test_another_reference_is_chosen(krr_store: str, tmp_path: Path) -> None:
    path = write_report(krr_store, tmp_path / "my.html", drawn=0, versus="RRCM", shown=["my.zarr"])
    found = Reader(path.read_text())
    assert {row[0] for row in found.table("Width less that of RRCM").rows[1:]} == {
        "GPR-f (new observation)",
        "GPR-p (latent mean)",
        "CRR-loo",
    }
    assert "ckrr report my.zarr --versus RRCM" in found.words
    with pytest.raises(UserError, match="procedure 'RRCN' isn't in the store"):
        write_report(krr_store, tmp_path / "my.html", drawn=0, versus="RRCN")


def test_the_worst_cell_is_the_one_furthest_below_its_level(toy_store: str) -> None:
    found = verdicts(toy_store)
    for one in judge_procedures(gather_facts(toy_store)):
        short = (found["value"] - found["target"]).sel(procedure=one.name)
        assert one.worst is not None
        assert float(short.sel(one.worst.cell)) == float(short.min()) == one.worst.value - one.worst.target


def test_failures_are_told_with_their_messages(toy: Reader) -> None:
    _, row = toy.table("168 replications of cells failed").rows
    assert row[0] == "168"
    assert "thirteen is singular" in row[2]
    assert row[3].startswith("ckrr replay ")


def test_texts_of_a_scenario_stay_texts(toy_report: Path, toy: Reader) -> None:
    raw = toy_report.read_text()
    assert stores.HOSTILE in toy.words
    assert 'alert("1")</script>' not in raw
    assert raw.count("<script>") == 2, "ours: of tables, and of Explore"


def test_a_name_in_a_store_stays_text(toy_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No scenario file can have such a name, but a store from elsewhere can."""
    facts = gather_facts(toy_store)
    scenario = {**facts.manifest.scenario, "name": stores.HOSTILE}
    hostile = replace(facts, manifest=replace(facts.manifest, scenario=scenario))
    monkeypatch.setattr(page, "gather_facts", lambda url, design: hostile)
    raw = page.render_page(toy_store, stores.HOSTILE, settings=0)
    found = Reader(raw)
    assert f"{stores.HOSTILE} – ckrr report" in found.words
    assert f"ckrr report {stores.HOSTILE}" in found.words
    assert raw.count("<script>") == 2, "ours"
    scripts = [one.get("id") for name, one in found.elements if name == "script"]
    assert scripts == ["explore-library", "explore-data", None, None]
    assert f"{stores.HOSTILE}.toml" in [one.get("download") for name, one in found.elements if name == "a"]


def test_what_breaks_exchangeability_is_said(toy: Reader, krr: Reader, krr_store: str) -> None:
    assert "Test points lie on a regular grid" in krr.words
    assert "θ = ml is searched for on the training sample" in krr.words
    assert "regular grid" not in toy.words
    cards = krr.words.partition("Where α")[0]
    assert cards.count("† Exchangeability is broken here") == 2, "of the conformal procedures, and of them alone"
    assert "† Exchangeability is broken in some of these cells" in toy.words, "where θ is searched for"
    head, *rows = krr.table("Cells at α = 0.1").rows
    levels = {(row[0], row[head.index("level")]) for row in rows}
    exact = verdicts(krr_store)["target"].sel(procedure="RRCM", theta="100", n=10, alpha=0.1)
    assert ("RRCM", f"{float(exact):.4g}†") in levels
    assert ("GPR-f (new observation)", "0.9") in levels, "which has no exact level"


def test_intervals_for_the_function_are_judged_on_it_too(krr: Reader, krr_store: str) -> None:
    found = verdicts(krr_store, {"procedure": ["GPR-p"]}, measure="coverage_f")["verdict"].values
    said = " ".join(f"{sign} {(found == verdict).sum()} {verdict}" for verdict, sign in SIGNS.items())
    assert re.search(rf"GPR-p \(latent mean\) for f\(x\*\) .{{1,40}}{re.escape(said)}", krr.words)
    assert "It is an interval for f(x*), not for y*" in krr.words


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Enough test points to decide most cells."""
    where = tmp_path_factory.mktemp("decided") / "toy.zarr"
    run_serially(
        where,
        source={"function": "tests.harness.toy:Toy", "test_points": 200},
        grid__theta=[1],
        grid__lam=[1],
        replications={"paths": 40, "draws": 1},
    )
    return str(where)


def test_the_headline_on_widths_is_the_comparison(decided: str) -> None:
    words = Reader(write(decided, settings=0).read_text()).words
    found = compare_widths(decided, verdicts(decided))
    compared = found["compared"] > 0
    comparable, wins = int(compared.any("procedure").sum()), int(found["narrowest"].sel(procedure="exact").sum())
    assert 0 < wins <= comparable <= 8
    said = f"Widths can be compared in {comparable} of 8 settings (combinations of γ, n and α), where two or more"
    assert said in words
    chances = int(compared.sel(procedure="exact").sum())
    assert f"exact is shown to be the narrowest in {wins} of its {chances}" in words
    assert f"in all {found.attrs['pairs']} pairs of equal level together" in words
    short = int((verdicts(decided)["verdict"].sel(procedure="split") == "invalid").sum())
    assert re.search(rf"Left out: .*split \(falls short in {short} cells\)", words)
    assert "exact and wide hold the level less the tolerance τ in every cell" in words


def test_the_headline_names_those_that_lead_together(decided: str) -> None:
    """`random` is as wide as `exact`. Were it valid, both would be narrower than `wide`."""
    facts = gather_facts(decided)
    found = facts.verdicts["verdict"]
    moved = facts.verdicts.assign(
        verdict=xr.where(found["procedure"] == "random", "valid", found).transpose(*found.dims)
    )
    told = summarise_widths(replace(facts, verdicts=moved, widths=compare_widths(decided, moved)))
    said = (
        "no procedure is shown to be the narrowest in any of them, but these are shown to be narrower than all others"
    )
    assert told.headline.endswith(f"{said}: exact and random in 8.")
    assert "Levels that differ by at most 0.1 τ count as equal" in told.note
    assert "but these" not in summarise_widths(facts).headline


def test_the_headline_says_that_nothing_can_be_said(krr: Reader, krr_store: str) -> None:
    assert not (compare_widths(krr_store, verdicts(krr_store))["compared"] > 0).any()
    assert "Nothing can be said of widths: none of 16 settings has two procedures shown valid at the same" in krr.words
    assert "GPR-p (its intervals are for f(x*), not for y*)" in krr.words


def test_one_procedure_is_not_compared(tmp_path: Path) -> None:
    run_serially(tmp_path / "toy.zarr", grid__procedure=["exact"], grid__theta=[1])
    words = Reader(write(str(tmp_path / "toy.zarr"), settings=0).read_text()).words
    assert "idths" not in words.partition("Where α")[0]


@pytest.fixture(scope="module")
def table_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stores.table(tmp_path_factory.mktemp("table") / "table.zarr")


CONDITION = "errors are conditional on the rows of this one table"


def test_numbers_of_a_table_are_conditional_on_its_rows(table_store: str, krr: Reader) -> None:
    found = Reader(write(table_store, settings=1).read_text())
    said = "The data are one table, whose rows each replication splits anew. Errors and verdicts are conditional on"
    assert found.words.count(said) == 2, "at the top, and under Uncertainty"
    assert all(CONDITION in one.caption for one in found.tables if one.caption.startswith(("Cells at", "MAD")))
    assert found.words.count(CONDITION.capitalize()) >= 2, "below figures"
    assert "40 paths (splits of the rows) × 1 training sample each" in found.words
    assert CONDITION in str(results_table(table_store))
    for words in (krr.words, str(results_table(table_store)).replace(CONDITION, "")):
        assert "conditional on" not in words


def test_of_a_table_nothing_is_said_that_needs_f(table_store: str, krr: Reader) -> None:
    words = Reader(write(table_store, settings=0).read_text()).words
    for text in ("to oracle", "of f(x*)", "for f(x*) ", "f(x*), the function without noise"):
        assert text not in words
        assert text in krr.words, "where f is known"
    with pytest.raises(UserError, match=r"oracle_width needs to know f, and the data of .*table\.zarr are a table"):
        estimate(table_store, "oracle_width")
    assert (verdicts(table_store, measure="coverage_f")["verdict"] == "").all()


def test_the_spread_of_coverage_is_said_to_include_the_noise_of_test_points(toy: Reader, toy_store: str) -> None:
    assert "5 % and 95 % quantiles; it is counted, so it varies by the noise of its test points, too" in toy.words
    for q in ("q05", "q95"):
        assert "with the noise of its test points" in results_table(toy_store, [f"coverage_{q}"]).caption


def test_adjusted_coverages_are_the_estimates(table_store: str, krr: Reader) -> None:
    """Of GPR, which has no exact level; nowhere if test points lie on a grid."""
    found = Reader(write(table_store, settings=0).read_text())
    adjusted = estimate(table_store, "coverage", adjust=True)
    head, *rows = found.table("Cells at α = 0.1").rows
    for row in rows:
        cell = dict(zip(head, row, strict=True))
        one = adjusted.sel(procedure=cell["procedure"].partition(" (")[0], alpha=0.1).squeeze()
        assert (cell["adjusted"] == "–") == (cell["procedure"] == "RRCM") == (int(one["controls"]) == 0)
        if int(one["controls"]):
            assert cell["adjusted"] == as_shown(one)
            assert cell["adjusted"] != cell["coverage"]
    worth = adjusted["worth"].sel(procedure="GPR-f")
    spread = f"{float(worth.min()):.1f} to {float(worth.max()):.1f}"
    said = f"{float(worth.median()):.1f} for GPR-f (median of 2 cells; {spread})"
    assert said in found.words
    assert "adjusted" not in krr.table("Cells at α = 0.1").rows[0]
    assert "Adjusted coverages" not in krr.words


@pytest.mark.parametrize(
    ("function", "is_table"), [("table", True), ("heaviside", False), ("mine.py:table", False), ("", False)]
)
def test_tables_are_recognised_by_the_name_of_the_source(function: str, is_table: bool, toy_store: str) -> None:
    manifest = gather_facts(toy_store).manifest
    assert replace(manifest, scenario={"source": {"function": function}}).is_resampled == is_table


def test_a_study_that_is_complete_says_nothing_of_it(toy: Reader) -> None:
    assert "unfinished" not in toy.words


def test_a_study_that_is_not_complete_says_so(tmp_path: Path) -> None:
    store = tmp_path / "toy.zarr"
    run_serially(store, order=[0, 1])
    report = write(str(store), settings=0)
    assert " % of its units are done. No run is active" in Reader(report.read_text()).words
    open_backend(str(store)).put(DRIVER, to_bytes(current_driver()))
    report = write(str(store), settings=0)
    assert "A run is active (process" in Reader(report.read_text()).words


def test_with_one_path_nothing_is_decided(tmp_path: Path) -> None:
    store = tmp_path / "toy.zarr"
    run_serially(store, replications={"paths": 1, "draws": 1}, grid__n=[10], grid__theta=[1], grid__lam=[1])
    found = Reader(write(str(store), settings=1).read_text())
    assert "With one path no error can be known, so nothing can be decided." in found.words
    assert "Nothing can be said yet of exact, wide, random and split." in found.words
    assert not found.complaints


def test_a_study_in_which_nothing_ran_has_a_report(tmp_path: Path) -> None:
    store = tmp_path / "toy.zarr"
    run_serially(store, grid__theta=[13])
    found = Reader(write(str(store), settings=0).read_text())
    assert "there is nothing to judge" in found.words


def test_where_a_report_goes(tmp_path: Path) -> None:
    assert get_default_file("results/my.zarr") == Path("results/my.html")
    assert get_default_file("s3://bucket/my.zarr/") == Path("my.html")
    with pytest.raises(UserError, match="neither a store nor a scenario here"):
        write(str(tmp_path / "nothing.zarr"))


def test_an_output_that_cannot_be_is_a_mistake(toy_store: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a directory"):
        write(toy_store, str(tmp_path))
    with pytest.raises(UserError, match="is not a directory"):
        write(toy_store, str(tmp_path / "no" / "a.html"))


def test_code_of_users_is_shown_and_never_run(tmp_path: Path) -> None:
    """The text of a source is in the report, escaped; reading the store doesn't execute it."""
    trace = tmp_path / "trace"
    code = f"""
from pathlib import Path
from tests.harness.toy import Toy
with Path({str(trace)!r}).open("a") as file: file.write("ran <b>here</b>")
def source(): return Toy(test_points=5)
"""
    (tmp_path / "mine.py").write_text(code)
    changes = {"source": {"function": f"{tmp_path}/mine.py:source"}, "grid__n": [10], "grid__theta": [1]}
    run_serially(tmp_path / "toy.zarr", **changes)
    assert trace.exists(), "a run does execute it"
    trace.unlink()
    (tmp_path / "mine.py").unlink()
    for name in [name for name in sys.modules if name.startswith("ckrr_code_")]:
        del sys.modules[name]
    raw = write(str(tmp_path / "toy.zarr"), settings=1).read_text()
    assert not trace.exists()
    assert "ran &lt;b&gt;here&lt;/b&gt;" in raw
    assert "mine.py" in Reader(raw).words


def test_cells_that_cannot_fail_are_told(krr: Reader, krr_store: str) -> None:
    """⌈Nα⌉ or ⌈Nα/2⌉ is 1 there: regions are the whole line."""
    whole = {"GPR-f": 0, "GPR-p": 0, "RRCM": 4, "CRR-loo": 12}
    assert {one.name: one.whole for one in judge_procedures(gather_facts(krr_store))} == whole
    assert "In 4 cells the level is 1: a region is the whole line" in krr.words
