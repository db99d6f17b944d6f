"""Workers as jobs of a real Slurm: the serial cube whatever becomes of the jobs, and none left at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import psutil
import pytest

import cluster
from harness import UserError
from harness.backends.base import open_backend
from harness.store import receipts
from tests.cluster import slurm
from tests.cluster.listening import alive, free_port, listening, ports, until, with_children, workers_of
from tests.cluster.slow import PAUSE
from tests.cluster.studies import LONG, SLOWLY, run, serial
from tests.harness.commands import TOY
from tests.harness.studies import ROOT, assert_identical

pytestmark = pytest.mark.skipif(slurm.missing() is not None, reason=str(slurm.missing()))


@pytest.fixture(scope="module")
def running() -> Iterator[slurm.Slurm]:
    with slurm.running() as one, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", one.conf)
        yield one


@pytest.fixture
def file(running: slurm.Slurm, tmp_path: Path) -> Path:
    return slurm.cluster_file(tmp_path)


def done(store: Path) -> int:
    return len(receipts.list_receipts(open_backend(str(store)), (10,)))


def test_workers_whose_life_is_far_shorter_than_the_study(running: slurm.Slurm, file: Path, tmp_path: Path) -> None:
    """With TLS, too: certificates reach the jobs, and are gone at the end."""
    text = file.read_text().replace("jobs = 2", "jobs = 1")
    text = text.replace("prologue = [", f'prologue = ["export {PAUSE}=0.4", ')
    file.write_text(f'{text}lifetime = "10 s"\n')
    store = tmp_path / "one.zarr"
    seen: list[set[str]] = []

    def look() -> None:
        until(lambda: done(store) > 0)
        seen.append({oct(path.stat().st_mode & 0o777) for path in (tmp_path / "shared").glob("*/*.pem")})

    thread = Thread(target=look)
    thread.start()
    study = {"source__function": "tests.cluster.slow:Slow", "replications__paths": 30, "replications__draws": 1}
    run(file, store, speed=1e7, **study)
    thread.join()
    assert_identical(store, serial(tmp_path / "serial.zarr", **study))
    logs = "".join(path.read_text() for path in (tmp_path / "logs").glob("ckrr-*.err"))
    assert "worker-lifetime-reached" in logs
    assert "TIME LIMIT" not in logs, "Slurm ended none of them"
    assert seen == [{"0o600"}]
    assert not list((tmp_path / "shared").iterdir())


def test_everything_listens_on_loopback_and_jobs_go_away(running: slurm.Slurm, file: Path, tmp_path: Path) -> None:
    """So do the directories that workers write to, which they alone can enter."""
    scratch, before = tmp_path / "scratch", ports([psutil.Process()])
    file.write_text(f'{file.read_text()}local_directory = "{scratch}"\n')
    with cluster.read(file).connect(cluster.StartOptions(1, 1e9)) as client:
        client.wait_for_workers(2, timeout=60)
        assert client.scheduler.address.startswith("tls://")
        workers = with_children(workers_of(client.scheduler.address))
        assert len(workers) >= 4
        assert listening([*workers, psutil.Process()]) == {"127.0.0.1"}
        assert len(ports(workers)) == 4, "two nannies and two workers, without web servers"
        assert len(ports([psutil.Process()]) - before) == 1, "the scheduler, without a web server"
        assert [oct(path.stat().st_mode & 0o777) for path in scratch.iterdir()] == ["0o700"] * 2
        written = client.run(lambda dask_worker: (dask_worker.local_directory, os.environ["TMPDIR"])).values()
        assert all(Path(each).is_relative_to(scratch) and Path(each) != scratch for two in written for each in two)
    until(lambda: not running.jobs() and not alive(workers), 60)
    until(lambda: not list(scratch.iterdir()), why=lambda: str(list(scratch.rglob("*"))))


def test_jobs_refuse_to_write_where_others_can_change_it(running: slurm.Slurm, file: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch").chmod(0o777)
    file.write_text(f'{file.read_text()}local_directory = "{tmp_path}/scratch"\n')
    with pytest.raises(UserError, match=r"\d jobs ended without a worker: .*/scratch can be changed by other users"):
        run(file, tmp_path / "one.zarr")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_job_s_script_is_written_where_nobody_can_change_it(running: slurm.Slurm, file: Path) -> None:
    with cluster.read(file).connect(cluster.StartOptions(1, 1e9)) as client:
        with next(iter(client.cluster.workers.values())).job_file() as path:
            assert Path(path).stat().st_mode & 0o777 == 0o600
            assert Path(path).parent.stat().st_mode & 0o777 == 0o700
        assert not Path(path).exists()


def test_slurm_s_no_is_told(running: slurm.Slurm, file: Path, tmp_path: Path) -> None:
    file.write_text(f'{file.read_text()}queue = "nowhere"\n')
    with pytest.raises(UserError, match=r"slurm.toml: Slurm refuses jobs: .*invalid partition"):
        run(file, tmp_path / "one.zarr")


def test_jobs_that_end_at_once_are_told(running: slurm.Slurm, file: Path, tmp_path: Path) -> None:
    file.write_text(f'{file.read_text()}python = "/nowhere/python"\n')
    with pytest.raises(UserError, match=r"\d jobs ended without a worker: .*/nowhere/python: No such file"):
        run(file, tmp_path / "one.zarr")
    assert not running.jobs()


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.soak), signal.SIGKILL])
def test_the_driver_ends_and_so_do_its_jobs(
    number: signal.Signals, running: slurm.Slurm, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "toy.toml").write_text(TOY)
    file.write_text(file.read_text().replace("prologue = [", f'prologue = ["{SLOWLY}", '))
    command = [sys.executable, "-m", "harness.cli", "run", "toy.toml", "--cluster", str(file), *LONG]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.PIPE)
    until(lambda: bool(list(tmp_path.glob("results/toy.zarr/receipts/*/*.json"))))
    workers = [one for one in psutil.process_iter() if "distributed.cli.dask_worker" in _words(one, file)]
    assert len(workers) >= 1
    workers = with_children(workers)
    driver.send_signal(number)
    driver.communicate(timeout=120)
    assert driver.returncode == (130 if number == signal.SIGINT else -number)
    until(lambda: not running.jobs() and not alive(workers), 60)


def _words(process: psutil.Process, file: Path) -> list[str]:
    try:
        return process.cmdline() if str(file.parent) in process.environ().get("SLURM_SUBMIT_DIR", "") else []
    except psutil.Error:
        return []


@pytest.mark.soak
def test_a_slurm_that_is_not_there_is_told(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither takes it jobs, nor does it say what is queued."""
    text = (Path(os.environ["SLURM_CONF"])).read_text()
    port = next(line for line in text.splitlines() if line.startswith("SlurmctldPort="))
    (tmp_path / "slurm.conf").write_text(text.replace(port, f"SlurmctldPort={free_port()}"))
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    with pytest.raises(UserError, match=r"Slurm refuses jobs: .*Unable to contact slurm controller"):
        run(file, tmp_path / "one.zarr")
