"""Replications that end their process, hang or eat all memory: each is found and stored, and nobody else suffers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from cluster import local
from harness.core.types import Status
from tests.harness.commands import ckrr, start
from tests.harness.poison import DRAWS, PATHS, SOURCE, Study, written
from tests.harness.studies import contents, replications, until

Poison = Mapping[tuple[int, int], str]


def study(folder: Path, poison: Poison, **changes: Any) -> Study:
    """With poison in some replications."""
    clean = written(folder, {}, **changes)
    return written(folder, {clean.fate(*where): kind for where, kind in poison.items()}, **changes)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one = study(tmp_path_factory.mktemp("clean"), {})
    assert one.run(workers=1, speed=2e9).failed == 0, "one unit, which needs no cluster"
    return one.store


def assert_only_these_failed(one: Study, clean: Path, poison: Poison) -> None:
    """And that all others have the numbers of a study without poison, bit for bit."""
    lost = np.zeros((PATHS, DRAWS), bool)
    for where in poison:
        lost[where] = True
    names = [name for name in contents(clean) if name.startswith("replications/n=10/")]
    for name in (each.rpartition("/")[2] for each in names):
        new, old = replications(one.store, 10, name), replications(clean, 10, name)
        if new.shape[:2] == lost.shape:
            assert new[~lost].tobytes() == old[~lost].tobytes(), name
    status = replications(one.store, 10, "status")
    assert (status[~lost] == Status.OK).all()
    for where, (kind, _) in one.messages().items():
        assert (status[where] == Status[kind]).all()


def line(kind: str) -> int:
    """Where in the source a poison is."""
    (found,) = [i for i, text in enumerate(SOURCE.splitlines(), 1) if f'"{kind}":' in text]
    return found


MANY: Poison = {
    (2, 0): "block",
    (2, 1): "crash",
    (0, 0): "exit",
    (3, 1): "sleep",
    (5, 2): "leave",
    (6, 0): "eat",
    (7, 1): "kill",
}


def test_every_poison_is_isolated(clean: Path, tmp_path: Path) -> None:
    one = study(tmp_path / "one", MANY, replications__seconds=3)
    with local(2, 8e8) as client:
        outcome = one.run(client)
    assert outcome.failed == 2 * len(MANY), "in two cells each"
    assert_only_these_failed(one, clean, MANY)
    told = one.messages()
    kind, message = told.pop((6, 0))
    assert kind == "MEMORY"
    assert "Unable to allocate 2.00 GiB" in message
    assert told == {
        (2, 0): ("SLOW", f"took longer than 3 s, in poison.py:{line('block')} <lambda>"),
        (2, 1): ("ERROR", f"its process died of SIGSEGV, in poison.py:{line('crash')} <lambda>"),
        (0, 0): ("ERROR", "its process ended with exit code 7"),
        (3, 1): ("SLOW", f"took longer than 3 s, in poison.py:{line('sleep')} <lambda>"),
        (5, 2): ("ERROR", "SystemExit: that's it"),
        (7, 1): ("MEMORY", "its process was killed (SIGKILL), as happens when memory runs out"),
    }
    assert {limit for fate, _, limit in one.log() if fate != one.fate(PATHS, 0)} == {True}, "nannies replace them"
    tries = Counter(fate for fate, _, _ in one.log())
    guilty = {path for path, _ in MANY}
    assert max(tries[one.fate(*where)] for where in MANY) <= 3, "once on a worker, once or twice in a child"
    innocent = [(path, draw) for path in range(1, PATHS) for draw in range(DRAWS) if path not in guilty]
    counts = [tries[one.fate(*where)] for where in innocent]
    assert np.median(counts) == 1
    assert max(counts) <= 2, "a result that isn't fetched yet is lost with its worker, which nobody is blamed for"


@pytest.mark.soak
def test_on_a_cluster_with_settings_of_its_own(clean: Path, tmp_path: Path) -> None:
    """Dask lets a task kill four workers, and innocent ones wait beside it: that only takes longer."""
    poison = {(2, 0): "kill", (5, 1): "exit", (6, 1): "graze"}
    one = study(tmp_path, poison)
    options: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "memory_limit": "800MB"}
    with LocalCluster(n_workers=2, threads_per_worker=2, **options) as cluster, Client(cluster) as client:
        one.run(client)
    assert {where: kind for where, (kind, _) in one.messages().items()} == {
        (2, 0): "MEMORY",
        (5, 1): "ERROR",
        (6, 1): "MEMORY",
    }
    assert_only_these_failed(one, clean, poison)


@pytest.mark.parametrize("asked", [False, True])
def test_no_limit_is_set_where_nobody_replaces_the_process(asked: bool, clean: Path, tmp_path: Path) -> None:
    """As in a notebook with threads for workers: a limit that the user asks for holds in children."""
    poison = {(4, 1): "sleep"} if asked else {}
    one = study(tmp_path, poison, **({"replications__seconds": 2} if asked else {}))
    options: dict[str, Any] = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster, Client(cluster) as client:
        one.run(client, speed=2e8)
    assert_only_these_failed(one, clean, poison)
    told = {(4, 1): ("SLOW", f"took longer than 2 s, in poison.py:{line('sleep')} <lambda>")}
    assert one.messages() == (told if asked else {})
    drawn = [(pid == os.getpid(), limit) for fate, pid, limit in one.log() if fate != one.fate(PATHS, 0)]
    assert set(drawn) == ({(False, True)} if asked else {(True, False)})


TEXT = """
name = "toy"
seed = 5
family = "tests.harness.toy:FAMILY"
[source]
function = "poison.py"
[grid]
gamma = 1.0
n = 10
theta = 1
lam = 0.1
procedure = ["exact"]
[replications]
paths = 3
seconds = 60
"""


def test_from_the_first_command_to_the_mended_source(tmp_path: Path) -> None:
    """run, errors, replay and --retry-failed; with one worker and one unit nobody but a child may die."""
    one = study(tmp_path, {})
    (tmp_path / "poison.py").write_text(SOURCE.replace("POISON = {}", f"POISON = {{{one.fate(1, 0)!r}: 'crash'}}"))
    (tmp_path / "toy.toml").write_text(TEXT)
    code, _, err = ckrr("run", "toy.toml", "--workers", "1", cwd=tmp_path)
    assert code == 1, err
    code, out, _ = ckrr("errors", "results/toy.zarr", cwd=tmp_path)
    told = f"its process died of SIGSEGV, in poison.py:{line('crash')} <lambda>"
    assert f"1 × error: {told}" in out
    command = out.splitlines()[1].split()
    code, out, err = ckrr(*command[1:], "--save", "it.npz", "--trust", cwd=tmp_path)
    assert f"failed here: error: {told}" in out
    assert (code, err.splitlines()) == (
        2,
        [
            f"it failed before: {told}; replaying in a separate process, with at most 60 s per step",
            "error: --save and --plot need a replication that doesn't kill its process",
        ],
    )
    (tmp_path / "poison.py").write_text(SOURCE)
    (tmp_path / "toy.toml").write_text(TEXT.replace("seconds = 60", "seconds = 50"))
    code, out, err = ckrr(
        "run", "toy.toml", "--workers", "1", "--retry-failed", "--accept-changed-source", cwd=tmp_path
    )
    assert code == 0, err


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    one = study(tmp_path, {(1, 0): "sleep"})
    (tmp_path / "toy.toml").write_text(TEXT)
    process = start("run", "toy.toml", "--workers", "1", cwd=tmp_path)
    try:
        until(lambda: any(fate == one.fate(1, 0) for fate, _, _ in one.log()))
    finally:
        process.kill()
        process.communicate()
    child = one.log()[-1][1]
    assert child != process.pid
    until(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    """Neither gone nor waiting for somebody to notice that it is."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
