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

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.core.text import fold_whitespace, get_timestamp
from harness.execution import clusters, prepare
from harness.planning.plan import check_fits
from harness.scenario.load import Loaded
from harness.submit import process, slurm, submission
from harness.submit.locate import find_active_driver
from harness.submit.submission import PROCESS, SLURM, TASK, Submission

_HOW = {"address": TASK, "slurm": SLURM}
"""Who drives, by the kind of cluster; a process of this machine where it isn't said."""
_SIGN, _TASK = 30.0, 10.0
"""Seconds to wait for a driver's first sign of life where it can start at once; a task may wait for a worker."""


@dataclass(frozen=True)
class SubmissionResult:
    """What became of it."""

    url: str
    submission: Submission | None
    running: str | None
    """Who is at work on the store already: then nothing was handed over."""
    is_alive: bool
    """Whether the driver was heard of."""


def submit_study(
    prepared: prepare.Prepared,
    cluster_path: str | None,
    workers: int | None,
    note: Callable[[str], None] = lambda text: None,
) -> SubmissionResult:
    """Hands a study over that could start now."""
    backend = prepared.backend
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    clusters.check_installed(prepared.cluster)
    if (who := find_active_driver(backend)) is not None:
        _check_same(prepared, who)
        return SubmissionResult(backend.url, None, who, True)
    if not _has_work(prepared):
        return SubmissionResult(backend.url, None, None, False)
    one = _make_submission(prepared.loaded, workers, prepared)
    submission.put_files(backend, prepared.loaded.built.files)
    if cluster_path is not None:
        submission.put_cluster(backend, one, clusters.snapshot(cluster_path))
    submission.write(backend, one)
    try:
        one = submission.add(backend, one, handle=_start(prepared, one, note))
    except BaseException as error:
        why = fold_whitespace(error)
        submission.add(backend, one, ended=one.submitted, outcome=f"could not be handed over: {why}", code=2)
        raise
    return SubmissionResult(
        backend.url, one, None, one.how == SLURM or _wait_for_driver(backend, one, 0.0 if one.how == TASK else _SIGN)
    )


def _check_same(prepared: prepare.Prepared, who: str) -> None:
    """Refuses what whoever is at work doesn't know of: it would be dropped."""
    told = submission.read(prepared.backend) if prepared.is_new else None
    asked = prepared.loaded.scenario.model_dump(mode="json")
    if prepared.grows or (told is not None and told.scenario != asked):
        raise UserError(
            f"{prepared.backend.url}: {who} is at work on it, on less than is asked for now: "
            "submit again when that has "
            "ended, or `ckrr cancel` it first"
        )


def _has_work(prepared: prepare.Prepared) -> bool:
    """Whether there is anything to do, if only to bring the cube up to date."""
    plan = prepared.plan
    return bool(
        plan.units or plan.preparations or prepared.grows or prepared.is_new or not prepared.manifest.is_settled
    )


def _make_submission(loaded: Loaded, workers: int | None, prepared: prepare.Prepared) -> Submission:
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
        submitted=get_timestamp(),
        command=" ".join(sys.argv),
        how=_HOW.get(prepared.cluster.kind if prepared.cluster else "local", PROCESS),
    )


def _start(prepared: prepare.Prepared, one: Submission, note: Callable[[str], None]) -> dict[str, Any]:
    backend, file = prepared.backend, prepared.cluster
    if one.how == SLURM:
        Path(file.log_directory).mkdir(parents=True, exist_ok=True)  # Slurm makes none
        command = process.make_command(backend.url, one.id, file.python or sys.executable)
        text = slurm.make_script(
            one.name,
            slurm.make_comment(backend.url),
            one.folder,
            command,
            file.list_driver_directives(),
            file.job_script_prologue,
        )
        submission.add(
            backend, one, handle={"script": text}
        )  # the job may start at once, and needs it for its follower
        return {"script": text, "job": slurm.start(text)}
    if one.how == TASK:
        from harness.submit import task

        with clusters.connect(file, prepared.machine, note) as client:
            handle = task.start(client, backend.url, one.id, one.name)
            _wait_for_driver(backend, one, _TASK)  # a client that leaves at once may take its task along
            return handle
    return process.start(backend, one.id)


def _wait_for_driver(backend: Backend, one: Submission, seconds: float) -> bool:
    """Waits until the driver was heard of, or has ended already."""
    end = monotonic() + seconds
    while True:
        now = submission.read(backend)
        if now is not None and (now.starts or now.ended is not None):
            return True
        if monotonic() >= end:
            return False
        sleep(0.1)
