"""Chaos for an hour, or for CKRR_SOAK_SECONDS: `pytest -m soak -s tests/faults/test_soak.py` prints what to write down.

One store of very many units; one random fault after the other strikes whoever is at work on it. Whenever that ends the
run, what was broken is mended and the same command is given again. In the end the cube is that of a study left alone.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic, sleep

import pytest

from harness.maintenance.verify import verify
from tests.cluster.listening import until
from tests.faults import clocks, disks, injector, processes
from tests.faults.executors import EXECUTORS, Run, Shelf
from tests.faults.injector import Trial, flip, truncate
from tests.faults.study import Study, begun, undisturbed
from tests.harness.studies import assert_identical

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(disks.missing() is not None, reason=str(disks.missing())),
    pytest.mark.skipif(clocks.missing() is not None, reason=str(clocks.missing())),
]
SECONDS = float(os.environ.get("CKRR_SOAK_SECONDS", "3600"))
UNITS_A_SECOND = 4
"""More than can be done meanwhile: chaos is slow, and should find work to the end."""
_SETTINGS = ("--set", "replications.seconds=20")


def beside(trial: Trial) -> None:
    """A second driver, for a few seconds, which is then killed."""
    other = Run(trial.study, trial.site, "run", trial.run.variables, _SETTINGS)
    before = trial.study.done()
    other.start()
    until(lambda: trial.study.done() > before + 8 or other.over or trial.run.over)
    other.kill()


def locked(trial: Trial) -> None:
    """A disk that nobody may write to, until the run has ended of it."""
    disks.remount(trial.study.store.parent, "ro")
    trial.run.wait()
    disks.remount(trial.study.store.parent, "rw")


def full(trial: Trial) -> None:
    disks.fill(trial.study.store.parent)
    trial.run.wait()
    disks.make_room(trial.study.store.parent)


def trapped(name: str) -> Callable[[Trial], None]:
    def strike(trial: Trial) -> None:
        (trial.study.folder / f"{name}.sprung").unlink(missing_ok=True)
        injector.trap(name)(trial)

    return strike


KINDS: dict[str, Callable[[Trial], None]] = {
    "kill -9 of a worker": injector.one(processes.WORKER),
    "kill -9 of the driver": injector.driver,
    "kill -9 of everything": injector.everything,
    "a worker out of memory": trapped("eat"),
    "a worker that hangs and holds the GIL": trapped("hang"),
    "a full disk": full,
    "a store that becomes read-only": locked,
    "a chunk truncated": injector.to_a_file("replications/*/*/c.*", truncate),
    "a bit flipped": injector.to_a_file("replications/*/*/c.*", flip),
    "a receipt truncated": injector.to_a_file("receipts/*/*.json", truncate),
    "a clock that jumps": injector.clock,
    "a second driver, killed": beside,
}
MORE = {
    "run": {},
    "run on a scheduler": {
        "kill -9 of a nanny": injector.one(processes.NANNY),
        "kill -9 of the scheduler": injector.one(processes.SCHEDULER),
    },
}


@pytest.mark.parametrize("executor", MORE)
def test_chaos(executor: str, tmp_path: Path) -> None:
    units, shelf, folder = int(SECONDS * UNITS_A_SECOND), Shelf(), tmp_path / "one"
    whole = undisturbed(tmp_path / "whole", paths=units)
    try:
        with disks.mounted(folder / "disk", f"size={20_000 + 100 * units}k,nr_inodes=0") as disk:  # it is memory
            study = begun(folder, disk / "faults.zarr", paths=units, pause=0.1)
            variables = clocks.variables(folder)
            with EXECUTORS[executor].site(study, shelf, variables) as site:
                trial = Trial(study, site, Run(study, site, "run", variables, _SETTINGS), Random(0))
                toll, ends = endured(trial, KINDS | MORE[executor])
                told = [f"    {many} × {why}" for why, many in ends.items()]
                print(_told(executor, toll, study), *told, sep="\n", flush=True)  # whatever comes of it
                runs = ends.total() + 1 + healed(trial)
            assert_identical(study.store, whole)
            print(f"{runs} runs, {study.again()} units run again; the cube is the same")
    finally:
        processes.clear(folder)
        shelf.close()
    assert len(toll) >= min(len(KINDS), SECONDS / 600), "too few kinds struck"


def endured(trial: Trial, kinds: dict[str, Callable[[Trial], None]]) -> tuple[Counter[str], Counter[str]]:
    """One fault after the other, as long as it may take; how often each struck, and how runs ended meanwhile."""
    toll, ends, end = Counter[str](), Counter[str](), monotonic() + SECONDS
    trial.run.start()
    while monotonic() < end and trial.study.done() < trial.study.paths - 50:
        before = trial.study.done()
        until(lambda before=before: trial.study.done() >= before + 5 or trial.run.over, 180)  # type: ignore[misc]
        if trial.run.over:
            ends[f"{trial.run.wait()}: {_last_words(trial.run.said)}"] += 1
            if "no result has come for" in trial.run.said:  # a scheduler whose clock was set back, and its workers
                processes.kill(processes.found(trial.study.folder, *processes.CLUSTER))
            trial.site.restore()
            trial.run = trial.run.again()
            continue
        kind = trial.rng.choice(sorted(kinds))
        kinds[kind](trial)
        toll[kind] += 1
        sleep(trial.rng.uniform(0, 3))
    return toll, ends


def _last_words(said: str) -> str:
    """What a run said at its end, without numbers and paths."""
    lines = [line for line in said.splitlines() if line.startswith("error")]
    return re.sub(r"\d+|/\S+", "…", lines[-1])[:120] if lines else ""


def healed(trial: Trial) -> int:
    """Everything left is run, what is torn is found and run again; how many runs that took."""
    longest = 300 + trial.study.paths - trial.study.done()  # a second a unit is far more than it takes
    trial.run.wait(longest)
    for runs in range(5):
        if verify(str(trial.study.store))[1] == [] and trial.study.complete:
            return runs
        trial.site.restore()
        trial.run = trial.run.again()
        trial.run.wait(longest)
    raise AssertionError(f"it doesn't heal: {trial.run.said}")


def _told(executor: str, toll: Counter[str], study: Study) -> str:
    kinds = ", ".join(f"{count} × {kind}" for kind, count in sorted(toll.items()))
    return f"{executor}: {study.done()} of {study.paths} units, {toll.total()} faults in {SECONDS:.0f} s ({kinds})"
