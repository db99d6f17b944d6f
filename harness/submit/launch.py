"""Handing a study over: everything is checked here, then a driver elsewhere is asked to run it."""

from __future__ import annotations

import platform
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from harness.backends.base import Place
from harness.core.errors import Mistake
from harness.core.text import one_line, timestamp
from harness.execution import clusters, prepare
from harness.planning.plan import check_fits
from harness.scenario.load import Loaded
from harness.submit import process, slurm, submission
from harness.submit.locate import at_work
from harness.submit.submission import PROCESS, SLURM, TASK, Submission

_HOW = {"address": TASK, "slurm": SLURM}
"""Who drives, by the kind of cluster; a process of this machine where it isn't said."""
_SIGN, _TASK = 30.0, 10.0
"""Seconds to wait for a driver's first sign of life where it can start at once; a task may wait for a worker."""


@dataclass(frozen=True)
class Submitted:
    """What became of it."""

    url: str
    submission: Submission | None
    running: str | None
    """Who is at work on the store already: then nothing was handed over."""
    lives: bool
    """Whether the driver was heard of."""


def submit(
    prepared: prepare.Prepared,
    cluster_path: str | None,
    workers: int | None,
    note: Callable[[str], None] = lambda text: None,
) -> Submitted:
    """Hands a study over that could start now."""
    there = prepared.there
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    clusters.check_installed(prepared.cluster)
    if (who := at_work(there)) is not None:
        _check_same(prepared, who)
        return Submitted(there.url, None, who, True)
    if not _is_left(prepared):
        return Submitted(there.url, None, None, False)
    one = _submission(prepared.loaded, workers, prepared)
    submission.put_files(there, prepared.loaded.built.files)
    if cluster_path is not None:
        submission.put_cluster(there, one, clusters.kept(cluster_path))
    submission.write(there, one)
    try:
        one = submission.add(there, one, handle=_start(prepared, one, note))
    except BaseException as error:
        why = one_line(error)
        submission.add(there, one, ended=one.submitted, outcome=f"could not be handed over: {why}", code=2)
        raise
    return Submitted(there.url, one, None, one.how == SLURM or _sign_of(there, one, 0.0 if one.how == TASK else _SIGN))


def _check_same(prepared: prepare.Prepared, who: str) -> None:
    """Refuses what whoever is at work doesn't know of: it would be dropped."""
    told = submission.read(prepared.there) if prepared.is_new else None
    asked = prepared.loaded.scenario.model_dump(mode="json")
    if prepared.grows or (told is not None and told.scenario != asked):
        raise Mistake(
            f"{prepared.there.url}: {who} is at work on it, on less than is asked for now: submit again when that has "
            "ended, or `ckrr cancel` it first"
        )


def _is_left(prepared: prepare.Prepared) -> bool:
    """Whether there is anything to do, if only to bring the cube up to date."""
    plan = prepared.plan
    return bool(plan.units or plan.preparations or prepared.grows or prepared.is_new or not prepared.record.is_settled)


def _submission(loaded: Loaded, workers: int | None, prepared: prepare.Prepared) -> Submission:
    return Submission(
        id=f"{loaded.scenario.name}-{uuid.uuid4().hex[:8]}",
        scenario=loaded.scenario.model_dump(mode="json"),
        where=loaded.where,
        files=tuple(loaded.built.files),
        hashes={name: sha256(data).hexdigest() for name, data in loaded.built.files.items()},
        cluster=None,
        workers=workers,
        retry=prepared.retry,
        accept_changed=prepared.accept_changed,
        folder=str(Path.cwd()),
        host=platform.node(),
        submitted=timestamp(),
        command=" ".join(sys.argv),
        how=_HOW.get(prepared.cluster.kind if prepared.cluster else "local", PROCESS),
    )


def _start(prepared: prepare.Prepared, one: Submission, note: Callable[[str], None]) -> dict[str, Any]:
    there, file = prepared.there, prepared.cluster
    if one.how == SLURM:
        Path(file.log_directory).mkdir(parents=True, exist_ok=True)  # Slurm makes none
        command = process.command(there.url, one.id, file.python or sys.executable)
        text = slurm.script(
            one.name, slurm.comment(there.url), one.folder, command, file.driver_directives(), file.job_script_prologue
        )
        submission.add(there, one, handle={"script": text})  # the job may start at once, and needs it for its follower
        return {"script": text, "job": slurm.start(text)}
    if one.how == TASK:
        from harness.submit import task

        with clusters.connected(file, prepared.machine, note) as client:
            handle = task.start(client, there.url, one.id, one.name)
            _sign_of(there, one, _TASK)  # a client that leaves at once may take its task along
            return handle
    return process.start(there, one.id)


def _sign_of(there: Place, one: Submission, seconds: float) -> bool:
    """Waits until the driver was heard of, or has ended already."""
    end = monotonic() + seconds
    while True:
        now = submission.read(there)
        if now is not None and (now.starts or now.ended is not None):
            return True
        if monotonic() >= end:
            return False
        sleep(0.1)
