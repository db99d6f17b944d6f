"""A submitted study on a real Slurm, cancelled: none of its jobs is left. (Drivers that are ended: `tests/faults`.)"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.base import open_backend
from harness.monitor.state import status
from harness.submit.cancel import cancel
from tests.cluster import slurm
from tests.harness.poison import Study, written
from tests.harness.studies import ROOT, until
from tests.harness.submissions import done, handed_over

pytestmark = pytest.mark.skipif(slurm.missing() is not None, reason=str(slurm.missing()))


@pytest.fixture(scope="module")
def running() -> Iterator[slurm.Slurm]:
    with slurm.running() as one, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", one.conf)
        patch.setenv("PYTHONPATH", str(ROOT))
        yield one


@pytest.fixture
def file(running: slurm.Slurm, tmp_path: Path) -> str:
    return str(slurm.cluster_file(tmp_path))


def test_cancelled_no_job_is_left(running: slurm.Slurm, file: str, tmp_path: Path) -> None:
    one: Study = written(tmp_path, {"all": "slow"}, replications__paths=64)
    assert handed_over(one, file).submission is not None
    until(lambda: done(one) >= 1)
    assert len(running.jobs()) >= 3, "the driver, its follower, its workers"
    cancel(open_backend(str(one.store)))
    until(lambda: not running.jobs())
    facts = status(str(one.store))
    assert not facts["at_work"]
    assert not facts["complete"]
    assert facts["submission"]["code"] == 130
