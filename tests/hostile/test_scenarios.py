"""Hostile scenario and cluster files: a line for each mistake, and no code, no file, no hang, no memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.scenario.errors import MOST_SHOWN
from tests.harness.studies import ROOT
from tests.hostile.scenarios import CANARY, CLUSTERS, CORPORA, SCENARIOS, Case, Outcome, arguments

MEGABYTES = 500
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
_IN_FULL = ("os.system", "imported by a file", "long key", "nested lists", "many paths", "a FIFO", "/dev/zero")
"""Cases that are also given to the installed program."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Outcome]:
    """What came of every case; the folders are kept until the end."""
    found: dict[tuple[str, str], Outcome] = {}
    for corpus in CORPORA:
        folder = tmp_path_factory.mktemp(corpus)
        command = [sys.executable, "-m", "tests.hostile.scenarios", corpus, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines():
            one = Outcome(**json.loads(line))
            found[corpus, one.name] = one
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_told_in_lines(name: str, outcomes: dict[tuple[str, str], Outcome]) -> None:
    check(SCENARIOS[name], outcomes["scenarios", name])


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_file_is_told_in_lines(name: str, outcomes: dict[tuple[str, str], Outcome]) -> None:
    check(CLUSTERS[name], outcomes["clusters", name])


def check(case: Case, found: Outcome) -> None:
    assert found.traceback == ""
    assert found.exit_code == case.exit_code, found
    lines = (found.stderr if case.exit_code else found.stdout).splitlines()
    assert any(case.says in line for line in lines), lines
    assert found.changed == [], "nothing is written, no code ran"
    assert found.megabytes < MEGABYTES
    if case.exit_code:
        assert len(lines) <= MOST_SHOWN + 1
        assert all(line.startswith("error: ") and len(line) < 6000 for line in lines)
        assert found.stdout == ""
    assert not _CONTROL.search(found.stdout + found.stderr)


def test_there_are_many(outcomes: dict[tuple[str, str], Outcome]) -> None:
    """With the numbers, for `pytest -s`."""
    assert outcomes.keys() == {(corpus, name) for corpus, cases in CORPORA.items() for name in cases}
    for corpus, least in (("scenarios", 40), ("clusters", 30)):
        some = [one for (where, _), one in outcomes.items() if where == corpus]
        codes = Counter(one.exit_code for one in some)
        most, longest = max(one.megabytes for one in some), max(one.cpu for one in some)
        print(
            f"\n{len(some)} {corpus}: exit codes {dict(codes)}, at most {most:.0f} MB and {longest:.1f} s of CPU each"
        )
        assert len(some) >= least


@pytest.mark.parametrize("name", _IN_FULL)
def test_so_says_the_program(name: str, tmp_path: Path) -> None:
    """The same as a user starts it; a minute is for a busy machine."""
    words = arguments("scenarios", name, tmp_path)
    command = [sys.executable, "-m", "harness.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2
    assert SCENARIOS[name].says in done.stderr
    assert all(line.startswith("error: ") for line in done.stderr.splitlines())
    assert not (tmp_path / CANARY).exists()
    assert not (tmp_path / "results").exists()
