"""What a report says of its verdicts: their words, the design, and what they can't see."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.report.sections.facts import gather_facts
from harness.report.sections.verdict_cards import describe_verdict, judge_procedures
from harness.report.write import write
from harness.results.estimates import estimate
from harness.results.tables import table
from tests.harness.report.reading import Reader
from tests.harness.studies import prepared, serially

ALWAYS = "That holds however often somebody looks (anytime design)."


@pytest.fixture(scope="module")
def grown(grown_report: Path) -> Reader:
    return Reader(grown_report.read_text())


@pytest.fixture(scope="module")
def toy(toy_report: Path) -> Reader:
    return Reader(toy_report.read_text())


def test_borderline_is_a_verdict_like_others(grown: Reader, grown_report: Path, grown_store: str) -> None:
    one = next(one for one in judge_procedures(gather_facts(grown_store)) if one.name == "exact")
    assert one.counts == {"valid": 2, "conservative": 0, "borderline": 1, "invalid": 1, "undecided": 0, "": 0}
    assert "✓ 2 valid ▲ 0 conservative ≈ 1 borderline ✗ 1 invalid ? 0 undecided" in grown.words
    assert "1 cell is borderline: its coverage is within τ/2 of the border, the level less τ." in grown.words
    assert "≈ borderline : within τ/2 of the border" in grown.words, "the key"
    assert "Coverage is borderline, within τ/2 of the level less τ, for exact in 1 of 4 cells." in grown.words
    signs = {row[0]: row[1:] for row in grown.table("Verdicts on y* at α = 0.1").rows}
    assert signs["0.25"][0] == "≈"
    head, *rows = grown.table("Cells at α = 0.1").rows
    words = {(row[0], row[head.index("γ")]): row[head.index("verdict")] for row in rows}
    assert words["exact", "0.25"] == "≈ borderline"
    assert "<td class=b>" in grown_report.read_text()
    assert re.search(
        r"aria-label=\"2 valid, 0 conservative, 1 borderline, 1 invalid, 0 undecided\"", grown_report.read_text()
    )


def test_a_headline_does_not_call_borderline_cells_holding(grown_store: str) -> None:
    one = next(one for one in judge_procedures(gather_facts(grown_store)) if one.name == "exact")
    counts = dict.fromkeys(one.counts, 0)
    said = [
        type(one)("exact", "y*", counts | some, None, "").headline
        for some in (
            {"valid": 2},
            {"valid": 2, "borderline": 1},
            {"undecided": 2, "borderline": 1},
            {"borderline": 1},
            {"invalid": 1, "borderline": 1},
        )
    ]
    some = type(one)("exact", "y*", counts | {"valid": 2, "borderline": 1}, None, "")
    assert describe_verdict(some, 9).startswith(
        "No cell is shown to fall short; 2 of 3 cells are shown to hold. 1 cell is"
    )
    assert said == ["holds everywhere", *["borderline in places"] * 2, "borderline everywhere", "falls short in places"]


def test_studies_that_have_no_such_cell_do_not_mention_it(toy: Reader) -> None:
    assert "borderline" not in toy.words


def test_it_says_the_design(toy: Reader, grown: Reader) -> None:
    once = "That holds for one look at 7 paths, which were given in advance (fixed design)."
    assert toy.words.count(once) == grown.words.count(ALWAYS) == 2, "beside the key, and in Uncertainty"
    assert "intervals hold at all numbers of paths together" in grown.words
    assert "(Bonferroni)" not in grown.words
    assert "(Bonferroni)" in toy.words
    assert "however often" not in toy.words


def test_a_design_can_be_requested(toy_store: str, grown_store: str, tmp_path: Path) -> None:
    said = [
        Reader(write(url, str(tmp_path / "a.html"), settings=0, design=design).read_text()).words
        for url, design in ((toy_store, "anytime"), (grown_store, "fixed"))
    ]
    assert "That holds however often somebody looks (anytime design, as requested)." in said[0]
    assert "for one look at 120 paths, if these were given in advance (fixed design, as requested)." in said[1]
    assert "borderline" not in said[1], "which isn't a word of that design"
    assert re.search(r"by ckrr report \S+ --design fixed", said[1])


def test_an_unfinished_study_has_two_designs(tmp_path: Path) -> None:
    study = prepared(tmp_path / "some.zarr", grid__theta=[1])
    serially(study, [i for i, unit in enumerate(study.plan.units) if unit.n == 10])
    words = Reader(write(str(tmp_path / "some.zarr"), settings=0).read_text()).words
    once = "for one look at 7 paths, which were given in advance, at n = 10"
    assert f"That holds {once}, and however often somebody looks at n = 20 (fixed and anytime design)." in words


def test_what_was_not_seen_is_bounded(toy: Reader, grown: Reader) -> None:
    """δ is 0.8·0.05/8 for the first cells, and 0.2·0.05/2/4 for those that were added."""
    said = "is so unless more than 0.13 of all paths are unlike those seen"  # ln(1/0.00125)/50
    assert f"A cell that is valid, or conservative, {said}" in grown.words
    assert "with P = 50 paths to its verdict and the probability of error δ = 0.0013." in grown.words
    assert "unlike those seen" not in toy.words.partition("Study design")[0]


def test_reserves_are_told(toy: Reader, grown: Reader) -> None:
    added = "4 cells were added to a store that had results: verdicts on such cells hold only if they weren't chosen by"
    contradicted = "Later paths contradict 2 verdicts, which stand all the same"
    for text in (added, contradicted):
        assert grown.words.count(text) == 2, "at the top, and in Uncertainty"
        assert text not in toy.words


def test_expected_coverage_is_called_so(grown: Reader, toy: Reader, grown_store: str) -> None:
    head, *rows = grown.table("Cells at α = 0.1").rows
    assert "expected coverage" in head
    assert "coverage" not in head
    (row,) = (row for row in rows if row[:2] == ["random", "1"])
    assert row[head.index("expected coverage")] == table(
        grown_store, ["coverage_expected"], where={"procedure": ["random"], "gamma": [1.0], "alpha": [0.1]}
    ).format_cell(("random",), ())
    assert "expected coverage: probability that y* is in the region, given the training sample" in grown.words
    assert "Of every cell: expected coverage of y*;" in grown.words
    assert "5 % quantile over replications of expected coverage;" in grown.words
    assert "noise of its test points" not in grown.words
    assert "largest error of expected coverage" in grown.words
    assert "expected" not in toy.words
    assert "5 % quantile over replications of coverage (if counted, with the noise of its test points);" in toy.words
    assert "share of test points with y* in the region" in toy.words


def test_adjusted_coverages_are_of_the_judged_kind(grown_store: str) -> None:
    facts, expected = gather_facts(grown_store), estimate(grown_store, "coverage_expected", adjust=True)
    assert facts.adjusted is not None
    assert facts.adjusted["value"].equals(expected["value"].where(expected["controls"] > 0))


def test_infinite_ends_are_shown(grown: Reader, grown_store: str) -> None:
    head, *rows = grown.table("Cells at α = 0.1").rows
    found = table(grown_store, ["width"], where={"alpha": [0.1], "procedure": ["wide"]})
    said = {row[1]: row[head.index("width")] for row in rows if row[0] == "wide"}
    assert said["1"] == found.format_cell(("1", "wide"), ()) == "6.58 (6.58 to ∞)"
    assert "in brackets: ends of a 95 % interval" in grown.words
