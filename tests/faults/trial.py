"""One fault on one executor: it strikes while units are outstanding, and in the end the cube is the undisturbed one."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tests.cluster.listening import until
from tests.faults import disks, processes
from tests.faults.executors import EXECUTORS, Run, Shelf
from tests.faults.injector import NEXT, WITHIN, Fault, Trial
from tests.faults.study import begun
from tests.harness.commands import ckrr
from tests.harness.studies import assert_identical


@dataclass(frozen=True)
class Result:
    """How a fault healed."""

    fault: str
    executor: str
    healed: str
    again: int
    """Units that were begun again."""
    seconds: float


def missing(fault: Fault, executor: str) -> str | None:
    """Why a fault can't be tried here; None if it can."""
    return fault.missing() or EXECUTORS[executor].missing()


def tried(fault: Fault, executor: str, folder: Path, whole: Path, shelf: Shelf) -> Result:
    """Tries it, and says how it went; nothing is left of it but the folder."""
    EXECUTORS[executor].ready(shelf)
    start = monotonic()
    with ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        disk = stack.enter_context(disks.mounted(folder / "disk")) if fault.disk else None
        study = begun(folder, None if disk is None else disk / "faults.zarr", pause=fault.pause)
        variables = fault.variables(folder)
        stack.callback(processes.clear, folder)
        site = stack.enter_context(EXECUTORS[executor].site(study, shelf, variables))
        site.file.write_text(site.file.read_text() + fault.lines)
        trial = Trial(study, site, Run(study, site, EXECUTORS[executor].verb, variables, fault.settings))
        stack.callback(lambda: trial.run.clear())
        code = _struck(fault, trial)
        fault.heal(trial)
        healed = WITHIN
        if fault.verify:
            _found(trial, code)
        if code != 0 or not study.complete:
            healed = NEXT
            _next(trial)
        assert study.complete, trial.run.said
        assert_identical(study.store, whole)
        return Result(fault.name, executor, healed, study.again(), monotonic() - start)


def _struck(fault: Fault, trial: Trial) -> int | None:
    """Runs it into the fault; its exit code."""
    trial.run.start()
    until(lambda: trial.study.done() >= fault.after or trial.run.over, 120)
    left = trial.study.paths - trial.study.done()
    assert left > 0, f"the run ended before the fault came: {trial.run.wait()} {trial.run.said}"
    fault.strike(trial)
    assert trial.toll > 0, "nothing was struck"
    trial.study.pace(0.0)  # what is left needn't wait for anything
    code = trial.run.wait()
    assert "Traceback" not in trial.run.said, trial.run.said
    assert re.search(fault.told, trial.run.said), trial.run.said
    return code


def _found(trial: Trial, code: int | None) -> None:
    """By the run, as it ended, or else by `ckrr status --verify`."""
    found, _, err = ckrr("status", str(trial.study.store), "--verify", cwd=trial.study.folder)
    assert found == (1 if code == 0 else 0), err
    assert f"1 of {trial.study.paths} units are damaged" in trial.run.said + err


def _next(trial: Trial) -> None:
    """The same command again, on a cluster that is there again."""
    trial.site.restore()
    trial.run = trial.run.again()
    assert trial.run.wait() == 0, trial.run.said
