"""Replications that end their process, hang or eat all memory: each is found and stored, and nobody else suffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster import local
from harness import driver, receipts
from harness.loading import Loaded, check
from harness.nouns import Status
from harness.place import place
from harness.progress import Silent
from tests.harness.studies import contents, replications, toy

SOURCE = (Path(__file__).parent / "poison.txt").read_text()
PATHS, DRAWS = 8, 3
SMALL = {"gamma": [1.0], "n": [10], "theta": [1, "best"], "lam": [0.1], "alpha": [0.1], "procedure": ["exact", "wide"]}
Poison = Mapping[tuple[int, int], str]


@dataclass(frozen=True)
class Study:
    """One in a folder of its own, with the log that its replications write."""

    folder: Path
    loaded: Loaded

    @property
    def store(self) -> Path:
        return self.folder / "toy.zarr"

    def run(self, client: Any = None, workers: int = 2, retry: bool = False) -> driver.Outcome:
        prepared = driver.prepare(self.loaded, str(self.store), workers, speed=2e7, retry=retry)
        return driver.run(prepared, Silent(), client)

    def fate(self, path: int, draw: int) -> float:
        return float(self.loaded.seeds.draw(path, draw)("fate").random())

    def log(self) -> list[tuple[float, int, bool]]:
        """Which replication, in which process, and whether a limit was set there."""
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        return [(float(fate), int(pid), limit == "True") for fate, pid, limit in lines]

    def messages(self) -> dict[tuple[int, int], tuple[str, str]]:
        """Of each replication that failed, in all of its cells alike."""
        found: dict[tuple[int, int], set[tuple[str, str]]] = {}
        there = place(str(self.store))
        for one in receipts.listed(there, (10,)).values():
            for each in receipts.read(there, one)["failures"]:
                found.setdefault((each["path"], each["draw"]), set()).add((each["kind"], each["message"]))
        return {where: told.pop() for where, told in found.items() if len(told) == 1}


def written(folder: Path, poison: Mapping[float | str, str], **changes: Any) -> Study:
    folder.mkdir(exist_ok=True, parents=True)
    text = SOURCE.replace("POISON = {}", f"POISON = {dict(poison)!r}").replace(
        'LOG = ""', f"LOG = {str(folder / 'log')!r}"
    )
    (folder / "poison.py").write_text(text)
    (folder / "log").touch()
    plain = toy(source={"function": "poison.py"}, grid=SMALL, replications={"paths": PATHS, "draws": DRAWS}, **changes)
    return Study(folder, check(plain, "toy.toml", folder))


def study(folder: Path, poison: Poison, **changes: Any) -> Study:
    """With poison in some replications."""
    clean = written(folder, {}, **changes)
    return written(folder, {clean.fate(*where): kind for where, kind in poison.items()}, **changes)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one = study(tmp_path_factory.mktemp("clean"), {})
    assert one.run(workers=1).failed == 0
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
    (3, 0): "exit",
    (3, 1): "sleep",
    (5, 2): "leave",
    (6, 0): "eat",
    (7, 1): "kill",
}


def test_every_poison_is_isolated(clean: Path, tmp_path: Path) -> None:
    one = study(tmp_path / "one", MANY, replications__seconds=3)
    with local(2, 8e8) as client:
        outcome = one.run(client)
    assert outcome.failed == 2 * len(MANY)
    assert_only_these_failed(one, clean, MANY)
    told = one.messages()
    kind, message = told.pop((6, 0))
    assert kind == "MEMORY"
    assert "Unable to allocate 2.00 GiB" in message
    assert told == {
        (2, 0): ("SLOW", f"took longer than 3 s, in poison.py:{line('block')} <lambda>"),
        (2, 1): ("ERROR", f"its process died of SIGSEGV, in poison.py:{line('crash')} <lambda>"),
        (3, 0): ("ERROR", "its process ended with exit code 7"),
        (3, 1): ("SLOW", f"took longer than 3 s, in poison.py:{line('sleep')} <lambda>"),
        (5, 2): ("ERROR", "SystemExit: that's it"),
        (7, 1): ("MEMORY", "its process was killed (SIGKILL), as happens when memory runs out"),
    }
    tries = Counter(fate for fate, _, _ in one.log())
    guilty = {path for path, _ in MANY}
    innocent = [(path, draw) for path in range(1, PATHS) for draw in range(DRAWS) if path not in guilty]
    assert {tries[one.fate(*where)] for where in innocent} == {1}, "each was computed once"
