"""Verdicts by betting against a bettor written out, and where the other rule errs."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from harness.core.types import Array, Bools
from harness.statistics.betting import bound_unseen, compute_capital, decide_by_betting
from harness.statistics.looks import list_looks
from harness.statistics.sequential import Decision
from harness.statistics.verdicts import EMPTY, INVALID, UNDECIDED, VALID, get_code, to_words
from tests.harness.statistics.path_laws import LAWS, RARE, Law

CELLS = 200
WRONG = 0.05 / CELLS
ALL = np.ones((1, 1, 1), dtype=bool)


def bet(gains: Array, cap: float) -> list[float]:
    """The capital after each path: purses that are bet one after the other, as the module says."""
    purses, found = [0.5, 0.125, 0.125, 0.125, 0.125], []
    for p, gain in enumerate(gains):
        past = np.array([0.0, *gains[:p]])  # the first is the path at the border that is added
        d, v = past.mean(), (past.var() * (p + 1) + 0.01) / (p + 1)
        bets = [min(max(d / (v + d**2), 0.0), cap), 0.9 * cap, 0.45 * cap, 0.225 * cap, 0.09 * cap]
        purses = [purse * (1 + each * gain) for purse, each in zip(purses, bets, strict=True)]
        found.append(sum(purses))
    return found


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 140), st.sampled_from([0.05, 0.5, 0.88, 0.988]), st.sampled_from([1, -1]))
def test_capital_is_that_of_a_bettor(seed: int, paths: int, border: float, sign: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.beta(border * 9, (1 - border) * 9, (paths, 2))
    values[rng.random(values.shape) < 0.02] = rng.integers(0, 2)
    gains, cap = sign * (values - border), np.array(0.9 / (border if sign > 0 else 1 - border))
    looks = list_looks(paths)
    found = compute_capital(gains, cap, looks)
    assert found.shape == (len(looks), 2)
    for cell in range(2):
        wanted = bet(gains[:, cell], float(cap))
        np.testing.assert_allclose(found[:, cell], [log(wanted[look - 1]) for look in looks], rtol=1e-7, atol=1e-9)


def decide_law(values: Array, level: float, law: Law) -> Decision:
    return decide_by_betting(values, ALL, ~ALL, np.array(level), np.array(law.tolerance), WRONG)


@pytest.mark.parametrize("name", ["α = 0.01, correlation 0.03", *RARE])
def test_false_verdicts_are_rare_for_every_law(name: str) -> None:
    """Also where the rule that assumes a central limit theorem errs in most grids (`test_sequential.py`)."""
    law = ({**LAWS, **RARE})[name]
    values, level = law.draw(np.random.default_rng(1), 8000, 500)
    wrong = (decide_law(values, level, law).codes != get_code(UNDECIDED)).sum()
    assert wrong <= stats.poisson.isf(1e-4, WRONG * 8000)


@pytest.mark.soak
def test_false_verdicts_of_all_laws(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\nfalse valid, false invalid, of 40000 cells, by betting")
        for name, law in {**LAWS, **RARE}.items():
            rng, wrong = np.random.default_rng(2), np.zeros(2, dtype=int)
            for _ in range(10):
                values, level = law.draw(rng, 4000, 1000)
                codes = decide_law(values, level, law).codes
                wrong += [(codes == get_code(word)).sum() for word in (VALID, INVALID)]
            print(f"{name:36} {wrong}")
            assert (wrong <= stats.poisson.isf(1e-4, WRONG / 2 * 40_000)).all()


@pytest.mark.parametrize(
    ("shift", "word", "paths"), [(0.0, VALID, 456), (-2.0, INVALID, 107)], ids=["at the level", "below"]
)
def test_paths_to_a_verdict(shift: float, word: str, paths: int) -> None:
    """The study of the rule spent δ_c a side; here it is δ_c/2, for about 7 % more paths."""
    law = replace(LAWS["α = 0.1, correlation 0.01"], shift=shift)
    values, level = law.draw(np.random.default_rng(3), 200, 2000)
    found = decide_law(values, level, law)
    assert set(to_words(found.codes)) == {word}
    assert found.paths.mean() == pytest.approx(1.07 * paths, rel=0.12)
    np.testing.assert_array_equal(found.settled, found.paths)


def split(values: Array, share: float) -> Bools:
    failed = np.zeros(values.shape, dtype=bool)
    failed[:: round(1 / share)] = True
    return failed


def test_failures_count_against_both_words() -> None:
    for shift, word in ((0.0, VALID), (-2.0, INVALID)):
        values, level = Law(0.1, 0.01, shift=shift).draw(np.random.default_rng(4), 20, 1500)
        failed = split(values, 0.05 if word == VALID else 0.2)
        values = np.where(failed, np.nan, values)
        arguments = np.array(level), np.array(0.02), WRONG
        assert set(to_words(decide_by_betting(values, ~failed, failed, *arguments).codes)) == {UNDECIDED}
        assert set(to_words(decide_by_betting(values, ~failed, failed & False, *arguments).codes)) == {word}


def test_words_stand_and_contradictions_are_noted() -> None:
    values = np.concatenate([np.full((500, 1, 1), 0.9), np.full((1500, 1, 1), 0.8)])
    found = [
        decide_by_betting(values[:cut], ALL, ~ALL, np.array([0.9]), np.array([0.02]), WRONG) for cut in (40, 500, 2000)
    ]
    assert [to_words(each.codes)[0] for each in found] == [UNDECIDED, VALID, VALID]
    assert found[1].paths == found[2].paths
    assert [bool(each.is_contradicted[0]) for each in found] == [False, False, True]


def test_whole_lines_and_cells_without_results() -> None:
    values = np.ones((200, 1, 4))
    values[60, 0, 1] = 0.995
    ok = np.ones(values.shape, dtype=bool)
    ok[..., 2] = False
    found = decide_by_betting(
        values, ok, ~ok, np.ones(4), np.full(4, 0.0002), WRONG, np.array([True, True, True, False])
    )
    assert to_words(found.codes).tolist() == [VALID, VALID, EMPTY, UNDECIDED]
    assert found.paths.tolist() == [50, 50, 0, 0]
    assert found.is_contradicted.tolist() == [False, True, False, False]


def test_what_paths_may_have_failed_to_show() -> None:
    """So many bad paths are missed by P paths with a probability of at most δ_c."""
    for paths in (50, 415, 4150):
        assert (1 - float(bound_unseen(np.array(paths), WRONG))) ** paths <= WRONG
    assert float(bound_unseen(np.array(50), WRONG)) > 0.1, "more than the bad paths of both laws in `RARE`"
