"""Submit a study: check it on this machine, then start a driver that runs it in the background."""

from __future__ import annotations

import platform
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from harness.core.errors import UserError
from harness.core.text import fold_whitespace, get_timestamp
from harness.execution import clusters, prepare
from harness.planning.plan import check_fits
from harness.scenario.load import Loaded
from harness.submit import submission
from harness.submit.launchers import choose_launcher, find_launcher, wait_for_driver
from harness.submit.locate import find_active_driver
from harness.submit.submission import Submission


@dataclass(frozen=True)
class SubmissionResult:
    """Result of a request to submit a study."""

    url: str
    submission: Submission | None
    """The new submission; None if a driver is active already, or there is nothing to do."""
    running: str | None
    """Description of the driver that is active on the store already; nothing was submitted then."""
    is_alive: bool
    """Whether the driver has reported its start, or waits in a queue."""


def submit_study(
    prepared: prepare.Prepared,
    cluster_path: str | None,
    workers: int | None,
    note: Callable[[str], None] = lambda text: None,
) -> SubmissionResult:
    """Submit a prepared study, unless a driver is active on its store or there is nothing to do.

    Parameters
    ----------
    prepared : Prepared
        The checked and planned study.
    cluster_path : str or None
        Path of the cluster file. It is copied to the store.
    workers : int or None
        Number of workers to start on this machine.
    note : callable
        Called with messages about steps that take long.

    Raises
    ------
    UserError
        If the study does not fit the machine, the driver cannot be started, or the active driver runs another request.
    """
    backend = prepared.backend
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    clusters.check_installed(prepared.cluster)
    if (who := find_active_driver(backend)) is not None:
        _check_same(prepared, who)
        return SubmissionResult(backend.url, None, who, True)
    if not _has_work(prepared):
        return SubmissionResult(backend.url, None, None, False)
    one = _make_submission(prepared.loaded, workers, prepared)
    submission.put_files(backend, prepared.loaded.files)
    if cluster_path is not None:
        submission.put_cluster(backend, one, clusters.snapshot(cluster_path))
    submission.write(backend, one)
    launcher = find_launcher(one)
    try:
        one = submission.add(backend, one, handle=launcher.start(prepared, one, note))
    except BaseException as error:
        why = fold_whitespace(error)
        submission.add(backend, one, ended=one.submitted, outcome=f"could not be handed over: {why}", code=2)
        raise
    return SubmissionResult(backend.url, one, None, launcher.is_queued or wait_for_driver(backend, launcher.patience))


def _check_same(prepared: prepare.Prepared, who: str) -> None:
    """Raise UserError if the active driver runs another request than this one, which would be lost."""
    told = submission.read(prepared.backend) if prepared.is_new else None
    asked = prepared.loaded.scenario.model_dump(mode="json")
    if prepared.grows or (told is not None and told.scenario != asked):
        raise UserError(
            f"{prepared.backend.url}: {who} is active with an earlier request that differs from this one: "
            "submit again when it has ended, or `ckrr cancel` it first"
        )


def _has_work(prepared: prepare.Prepared) -> bool:
    """Return whether there is anything to do, if only to refresh the cube."""
    plan = prepared.plan
    return bool(
        plan.units or plan.preparations or prepared.grows or prepared.is_new or not prepared.manifest.is_settled
    )


def _make_submission(loaded: Loaded, workers: int | None, prepared: prepare.Prepared) -> Submission:
    return Submission(
        id=f"{loaded.scenario.name}-{uuid.uuid4().hex[:8]}",
        scenario=loaded.scenario.model_dump(mode="json"),
        where=loaded.where,
        files=tuple(loaded.files),
        hashes={name: sha256(data).hexdigest() for name, data in loaded.files.items()},
        cluster=None,
        workers=workers,
        retry=prepared.retry,
        accept_changed=prepared.accept_changed,
        folder=str(Path.cwd()),
        host=platform.node(),
        submitted=get_timestamp(),
        command=" ".join(sys.argv),
        how=choose_launcher(prepared.cluster.kind if prepared.cluster else None),
    )
