"""The study that faults strike: 14 units of a fifth of a second, of which is known how often each was begun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.backends.base import open_backend
from harness.execution import lifecycle, prepare
from harness.monitor.state import status
from harness.scenario.load import check
from harness.store import receipts
from tests.harness.studies import serially, toy

PATHS, PAUSE = 14, 0.2
_SLOW = 2e4
"""Operations a second of a machine so slow that a unit is one path, however many there are."""
SOURCE = (Path(__file__).parent / "source.txt").read_text()
GRID = {"gamma": [1.0], "n": [10], "theta": [1, "best"], "lam": [0.1], "alpha": [0.1], "procedure": ["exact", "wide"]}
TOML = """
name = "faults"
seed = 5
family = "tests.harness.toy:FAMILY"
[source]
function = "source.py"
[grid]
gamma = 1.0
n = 10
theta = [1, "best"]
lam = 0.1
alpha = 0.1
procedure = ["exact", "wide"]
[replications]
paths = {paths}
"""


@dataclass(frozen=True)
class Study:
    """One in a folder of its own; its store may be elsewhere."""

    folder: Path
    store: Path
    paths: int = PATHS

    @property
    def scenario(self) -> Path:
        return self.folder / "faults.toml"

    def done(self) -> int:
        """Units that are signed for."""
        return len(receipts.list_receipts(open_backend(str(self.store)), (10,)))

    def begun(self) -> Counter[int]:
        """How often each path was begun."""
        return Counter(map(int, (self.folder / "computed").read_text().split()))

    def again(self) -> int:
        """Units that were begun again."""
        return self.begun().total() - len(self.begun())

    def pace(self, pause: float) -> None:
        """So many seconds a unit takes from now on."""
        draft = self.folder / "pause.new"
        draft.write_text(str(pause))
        draft.replace(self.folder / "pause")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Units that begin wait, for the while."""
        (self.folder / "gate").touch()
        try:
            yield
        finally:
            (self.folder / "gate").unlink()

    @property
    def complete(self) -> bool:
        return bool(status(str(self.store))["complete"])


def begun(folder: Path, store: Path | None = None, paths: int = PATHS, pause: float = PAUSE) -> Study:
    """A study whose store is there, without a unit in it: so it is cut in units of one path, whoever runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    one = Study(folder, store or folder / "faults.zarr", paths)
    _write(one, pause)
    lifecycle.begin_run(_prepared(one))
    return one


def undisturbed(folder: Path, paths: int = PATHS) -> Path:
    """The store of the same study, by a plain loop."""
    one = begun(folder, paths=paths, pause=0.0)
    serially(_prepared(one))
    return one.store


def _prepared(one: Study) -> prepare.Prepared:
    plain: dict[str, Any] = toy(
        name="faults", source={"function": "source.py"}, grid=GRID, replications={"paths": one.paths, "draws": 1}
    )
    prepared = prepare.prepare(check(plain, "faults.toml", one.folder), str(one.store), workers=2, speed=_SLOW)
    assert prepared.manifest.count_units(10) == one.paths, "a unit is one path"
    return prepared


def _write(one: Study, pause: float) -> None:
    """The scenario and its source, which finds the folder, and the study's own paths, as constants."""
    one.scenario.write_text(TOML.format(paths=one.paths))
    (one.folder / "source.py").write_text(SOURCE)
    (one.folder / "computed").touch()
    seeds = _prepared(one).loaded.seeds
    ours = {float(seeds.make_path_streams(i)("fate").random()): i for i in range(one.paths)}
    text = SOURCE.replace('FOLDER = ""', f"FOLDER = {str(one.folder)!r}").replace("OURS = {}", f"OURS = {ours!r}")
    (one.folder / "source.py").write_text(text)
    one.pace(pause)
