"""Submit a study, and wait for its driver."""

from __future__ import annotations

from harness.backends.base import open_backend
from harness.execution import prepare
from harness.execution.clusters import read_file
from harness.store import receipts
from harness.submit.launch import SubmissionResult, submit_study
from tests.harness.poison import Study


def handed_over(one: Study, file: str | None = None) -> SubmissionResult:
    """48 replications of 0.1 s."""
    workers = None if file else 2
    prepared = prepare.prepare(one.loaded, str(one.store), workers, speed=2e7, cluster=read_file(file))
    return submit_study(prepared, file, workers)


def done(one: Study) -> int:
    return len(receipts.list_receipts(open_backend(str(one.store)), (10,)))
