"""A check has one result, which follows from the verdicts on all selected cells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import xarray as xr

from ckrr import study
from harness.core.errors import UserError
from harness.core.schema.cube import CUBE_DIMS
from harness.results.check import ALLOWABLE, NO_RESULT, WORDS, Outcome, check, list_cells
from harness.results.estimates import estimate
from harness.results.junit import is_junit, render_junit
from harness.results.validity import verdicts
from harness.statistics.verdicts import CONSERVATIVE, EMPTY, INVALID, UNDECIDED, VALID
from tests.harness.studies import run_serially
from tests.harness.toy import ToyFamily

EVIL = '<b a="1">&amp; ]]> \u202e\ufffe\uffff'
"""A procedure's name that XML must escape, and with characters that it can't have at all."""


class EvilFamily(ToyFamily):
    procedures: Sequence[str] = (EVIL, "split")


FAMILY = EvilFamily()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Valid, conservative, undecided and invalid cells, and excluded ones."""
    where = tmp_path_factory.mktemp("check") / "toy.zarr"
    run_serially(
        where,
        source__test_points=200,
        replications={"paths": 150, "draws": 1},
        grid__theta=[1, "best"],
        exclude=[{"n": [20], "procedure": ["split"], "theta": [1]}],
    )
    return str(where)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("evil") / "evil.zarr"
    procedures = {"family": "tests.harness.results.test_check:FAMILY", "grid__procedure": [EVIL, "split"]}
    run_serially(where, **procedures, source__test_points=200, replications={"paths": 7, "draws": 1}, grid__theta=[1])
    return str(where)


def make_outcome(words: Sequence[str], allow: Sequence[str] = (), **columns: Sequence[float]) -> Outcome:
    """An outcome of cells with these verdicts, at n = 0, 1, …"""
    coords: dict[str, Any] = {axis: [1.0] for axis in CUBE_DIMS} | {"n": np.arange(len(words))}
    dims = [len(coords[axis]) for axis in CUBE_DIMS]
    numbers = {"value": 0.9, "se": 0.01, "low": 0.8, "high": 0.95, "target": 0.9, "tolerance": 0.02, "paths": 9}
    plain = {**numbers, "replications": 9, "promised": False, "exchangeable": False, **columns}
    arrays = {name: np.broadcast_to(each, len(words)).reshape(dims) for name, each in plain.items()}
    stored = np.array([EMPTY if word == NO_RESULT else word for word in words], dtype=object).reshape(dims)
    found = xr.Dataset({name: (CUBE_DIMS, each) for name, each in {**arrays, "verdict": stored}.items()}, coords)
    return Outcome(list_cells(found, xr.ones_like(found["value"], dtype=bool), "y*"), allow)


def subsets(words: Sequence[str]) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(combinations(words, size) for size in range(len(words) + 1)))


def define_result(words: Sequence[str], allow: Sequence[str]) -> str:
    """The definition, word by word."""
    if "invalid" in words:
        return "failed"
    for word in ("undecided", "borderline", "no_result"):
        if word in words and word not in allow:
            return "undecided"
    return "passed"


@pytest.mark.parametrize("words", subsets(WORDS)[1:], ids="-".join)
def test_the_result_is_as_defined_for_all_verdicts_together(words: tuple[str, ...]) -> None:
    cells = make_outcome(words).cells
    for allow in subsets(ALLOWABLE):
        outcome, expected = Outcome(cells, allow), define_result(words, allow)
        assert outcome.result == expected
        assert outcome.passed == (expected == "passed")
        assert outcome.counts == {word: int(word in words) for word in WORDS}
        offending = [word for word in words if word not in ("valid", "conservative", *allow)]
        assert [cell.verdict for cell in outcome.iter_offending()] == offending
        assert [cell.verdict for cell in outcome.iter_cells() if not cell.passes] == offending
        assert outcome.summarise().startswith(f"{expected}: {len(words)} cell")


def test_the_worst_cells_come_first_and_the_rest_is_counted() -> None:
    words = [*["undecided"] * 5, *["invalid"] * 30]
    values = np.random.default_rng(1).permutation(35) / 100
    outcome = make_outcome(words, value=list(values), target=[0.9] * 35)
    listed = [(cell.verdict, cell.value) for cell in outcome.iter_offending()]
    assert listed == sorted(zip(words, values, strict=True))
    lines = str(outcome).splitlines()
    assert len(lines) == 22
    assert all(line.startswith("invalid: procedure=1,gamma=1,") for line in lines[:20])
    assert lines[20:] == ["and 15 more", "failed: 35 cells: 30 invalid, 5 undecided"]
    assert "more" not in str(make_outcome(["invalid"] * 20))
    assert "and 1 more" in str(make_outcome(["invalid"] * 21))


def test_cells_are_those_of_the_grid_one_by_one(store: str) -> None:
    """Against a plain loop over the verdicts."""
    found, outcome = verdicts(store), check(store)
    listed = {tuple(cell.axes.values()): cell for cell in outcome.iter_cells()}
    count = 0
    for place in product(*(found[axis].values.tolist() for axis in CUBE_DIMS)):
        at = dict(zip(CUBE_DIMS, place, strict=True))
        if (at["n"], at["procedure"], at["theta"]) == (20, "split", "1"):
            assert place not in listed, "excluded"
            continue
        one, cell = found.sel(at), listed[place]
        count += 1
        assert cell.verdict == one.verdict.item()
        for name in ("value", "se", "low", "high", "target", "tolerance", "paths", "promised", "exchangeable"):
            assert getattr(cell, name) == one[name].item()
    assert count == len(listed) == outcome.cells.sizes["cell"] == 128 - 8
    assert set(outcome.cells["verdict"].values.tolist()) == {VALID, CONSERVATIVE, INVALID, UNDECIDED}
    assert outcome.result == "failed"


@pytest.mark.parametrize(
    ("where", "allow", "result"),
    [
        ({"procedure": ["exact"], "gamma": [1]}, (), "passed"),
        ({"procedure": ["exact", "wide"], "gamma": [1]}, (), "undecided"),
        ({"procedure": ["exact", "wide"], "gamma": [1]}, "undecided", "passed"),
        ({"procedure": ["exact", "wide"], "gamma": [1]}, ["borderline", "no_result"], "undecided"),
        ({"procedure": ["exact", "split"], "gamma": [1]}, ALLOWABLE, "failed"),
    ],
)
def test_a_selection_is_checked(where: dict[str, Any], allow: str | Sequence[str], result: str, store: str) -> None:
    outcome = study.check(store, where=where, allow=allow)
    assert outcome.result == result
    assert set(outcome.cells["procedure"].values.tolist()) == set(where["procedure"])
    assert set(outcome.cells["gamma"].values.tolist()) == {1.0}


def test_broken_exchangeability_is_judged_and_mentioned(store: str) -> None:
    outcome = check(store, {"procedure": ["exact"], "gamma": ["0.25"], "alpha": ["0.05"], "theta": ["best"]})
    assert outcome.counts[UNDECIDED] == 4
    assert str(outcome).count("(the exact level less 0.01); exchangeability is broken by design") == 4
    others = check(store, {"procedure": ["exact", "split"], "gamma": ["0.25"], "alpha": ["0.05"], "theta": ["1"]})
    assert {cell.axes["procedure"] for cell in others.iter_offending()} == {"exact", "split"}
    assert "exchangeability" not in str(others), "it isn't broken, or no exact level assumes it"
    assert "exchangeability" not in str(check(store, {"procedure": ["split"], "theta": ["best"]}))


def test_a_value_that_is_named_twice_counts_once(store: str) -> None:
    once, twice = (check(store, {"n": sizes}) for sizes in (["10"], ["10", 10, 10.0]))
    assert once.cells.identical(twice.cells)


@pytest.mark.parametrize(
    ("where", "allow", "message"),
    [
        ({"n": []}, (), "where selects no value of n"),
        ({"n": [20], "procedure": ["split"], "theta": [1]}, (), "the scenario excludes every selected cell"),
        ({"n": [30]}, (), "n=30 isn't in the store: it has 10, 20"),
        ({"size": [10]}, (), "there is no axis 'size'"),
        ({}, "undecide", r"allow=undecide: it must be one of .* \(did you mean 'undecided'\?\)"),
        ({}, ["borderline", "invalid"], "allow=invalid: .* to leave out invalid cells, select others with --where"),
        ({}, "", "allow=: it must be one of undecided, borderline, no_result"),
    ],
)
def test_mistakes_are_named(where: dict[str, Any], allow: str | Sequence[str], message: str, store: str) -> None:
    with pytest.raises(UserError, match=message):
        check(store, where, allow)


def krr(where: Path, **changes: Any) -> str:
    grid = {"grid__procedure": ["GPR-f", "GPR-p", "RRCM"], "grid__theta": [10], "grid__n": [20], "grid__lam": [1]}
    run_serially(where, family="krr", source__test_points=50, **grid, **changes)
    return str(where)


def test_intervals_for_the_function_are_judged_on_it(tmp_path: Path) -> None:
    store = krr(tmp_path / "krr.zarr")
    outcome = check(store)
    wanted = {name: estimate(store, measure)["value"] for name, measure in (("f", "coverage_f"), ("y", "coverage"))}
    for cell in outcome.iter_cells():
        assert cell.judged_on == ("f(x*)" if cell.axes["procedure"] == "GPR-p" else "y*")
        assert cell.value == wanted[cell.judged_on[0]].sel(cell.axes).item()
    assert not wanted["f"].sel(procedure="GPR-p").equals(wanted["y"].sel(procedure="GPR-p"))
    assert outcome.cells.sizes["cell"] == 3 * 2 * 2, "every cell once"
    assert "note: GPR-p: judged on coverage of f(x*)" in str(outcome)
    assert check(store, {"procedure": ["RRCM"]}).notes == []
    assert set(check(store, {"procedure": ["GPR-p"]}).cells["judged_on"].values.tolist()) == {"f(x*)"}


def test_they_have_no_result_where_the_function_is_unknown(tmp_path: Path) -> None:
    store = krr(tmp_path / "krr.zarr", source__knows_f=False)
    outcome = check(store, {"procedure": ["GPR-p"]}, ["undecided", "borderline"])
    assert outcome.counts[NO_RESULT] == 4
    assert outcome.result == UNDECIDED
    assert "the source doesn't know f, so f(x*) can't be judged" in str(outcome)
    assert check(store, {"procedure": ["GPR-p"]}, NO_RESULT).passed


def test_a_study_in_which_all_failed_does_not_pass(tmp_path: Path) -> None:
    run_serially(tmp_path / "toy.zarr", grid__theta=[13])
    outcome = check(str(tmp_path / "toy.zarr"), allow="undecided")
    assert outcome.result == UNDECIDED
    assert outcome.counts == {**dict.fromkeys(WORDS, 0), NO_RESULT: 32 * 2}
    text = str(outcome)
    assert ": not computed" in text
    assert "note: some replications failed" in text
    offending = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))["offending"]
    assert [cell["value"] for cell in offending] == [None] * 64


def test_junit_has_a_case_for_each_cell(store: str) -> None:
    outcome = check(store, allow="borderline")
    root = ET.fromstring(text := render_junit(outcome, "toy.zarr"))
    (suite,) = root
    counts = outcome.counts
    for element in (root, suite):
        assert [int(element.attrib[key]) for key in ("tests", "failures", "errors", "skipped")] == [
            120,
            counts[INVALID],
            0,
            counts[UNDECIDED],
        ]
    assert len(suite) == 120
    for case, cell in zip(suite, outcome.iter_cells(), strict=True):
        assert (case.attrib["classname"], case.attrib["name"]) == (cell.axes["procedure"], cell.label)
        kinds = {VALID: "system-out", CONSERVATIVE: "system-out", INVALID: "failure", UNDECIDED: "skipped"}
        (inside,) = case
        assert inside.tag == kinds[cell.verdict]
        assert (inside.text or inside.attrib["message"]) == f"{cell.verdict}: {cell.describe()}"
    assert is_junit(text.encode())
    assert not is_junit(text.replace("ckrr check", "pytest tests").encode())


def test_what_is_allowed_is_not_skipped() -> None:
    words = ["undecided", "borderline", "no_result", "invalid", "valid"]
    (suite,) = ET.fromstring(render_junit(make_outcome(words, ["borderline"]), "x"))
    assert [case[0].tag for case in suite] == ["skipped", "system-out", "skipped", "failure", "system-out"]
    assert suite.attrib["skipped"] == "2"


def test_labels_of_a_stranger_are_escaped(evil: str) -> None:
    outcome = check(evil)
    assert outcome.counts[INVALID] > 0
    (suite,) = ET.fromstring(render_junit(outcome, f"{EVIL}\x00\x1b[2J\n\ud800"))
    assert suite.attrib["name"] == '<b a="1">&amp; ]]> \\u202e\\ufffe\\uffff\\x00\\x1b[2J\\n\\ud800'
    assert {case.attrib["classname"] for case in suite} == {'<b a="1">&amp; ]]> \\u202e\\ufffe\\uffff', "split"}
    assert len(suite) == outcome.cells.sizes["cell"]
    assert "\u202e" not in str(outcome)
    plain = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert {cell["procedure"] for cell in plain["offending"]} == {EVIL, "split"}
