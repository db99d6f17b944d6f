"""Studies whose source crashes, hangs or runs out of memory at chosen replications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.backends.base import open_backend
from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from harness.scenario.load import Loaded, check
from harness.store import receipts
from tests.harness.studies import toy


@dataclass(frozen=True)
class Study:
    """One in a folder of its own, with the log that its replications write."""

    folder: Path
    loaded: Loaded

    @property
    def store(self) -> Path:
        return self.folder / "toy.zarr"

    def run(self, client: Any = None, workers: int = 2, speed: float = 2e7) -> driver.Outcome:
        """With a speed that makes a unit of each path, or of several."""
        prepared = prepare.prepare(self.loaded, str(self.store), workers, speed)
        return driver.run_prepared(prepared, SilentProgress(), client)

    def fate(self, path: int, draw: int) -> float:
        return float(self.loaded.seeds.make_draw_streams(path, draw)("fate").random())

    def log(self) -> list[tuple[float, int, bool]]:
        """Which replication, in which process, and whether a limit was set there."""
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        return [(float(fate), int(pid), limit == "True") for fate, pid, limit in lines]

    def messages(self) -> dict[tuple[int, int], tuple[str, str]]:
        """Of each replication that failed, in all of its cells alike."""
        found: dict[tuple[int, int], set[tuple[str, str]]] = {}
        there = open_backend(str(self.store))
        for one in receipts.list_receipts(there, (10,)).values():
            for each in receipts.read(there, one)["failures"]:
                found.setdefault((each["path"], each["draw"]), set()).add((each["kind"], each["message"]))
        return {where: told.pop() for where, told in found.items() if len(told) == 1}


def written(folder: Path, poison: Mapping[float | str, str], **changes: Any) -> Study:
    folder.mkdir(exist_ok=True, parents=True)
    text = SOURCE.replace("POISON = {}", f"POISON = {dict(poison)!r}")
    (folder / "poison.py").write_text(text.replace('LOG = ""', f"LOG = {str(folder / 'log')!r}"))
    (folder / "log").touch()
    plain = toy(source={"function": "poison.py"}, grid=SMALL, replications={"paths": PATHS, "draws": DRAWS}, **changes)
    return Study(folder, check(plain, "toy.toml", folder))


SOURCE = (Path(__file__).parent / "worker" / "poison.txt").read_text()
PATHS, DRAWS = 8, 3
SMALL = {"gamma": [1.0], "n": [10], "theta": [1, "best"], "lam": [0.1], "alpha": [0.1], "procedure": ["exact", "wide"]}
