"""A scheduler that runs already: the serial cube, unlike workers told before work starts, strangers turned away."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client
from distributed.security import Security

import cluster
from harness import ClusterError, UserError
from tests.cluster.listening import until
from tests.cluster.studies import planned, run, serial
from tests.harness.studies import ROOT, assert_identical

HERE = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--no-dashboard")


@contextmanager
def dask(*arguments: str, path: str = str(ROOT)) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask's own command line."""
    command = [sys.executable, "-P", "-m", f"distributed.cli.dask_{arguments[0]}", *arguments[1:]]
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """The cluster file of a scheduler without workers."""
    with dask("scheduler", *HERE, "--port", "0", "--scheduler-file", str(tmp_path / "scheduler.json")):
        until((tmp_path / "scheduler.json").exists)
        (tmp_path / "address.toml").write_text('kind = "address"\nscheduler_file = "scheduler.json"\n')
        yield tmp_path / "address.toml"


def worker(file: Path, path: str = str(ROOT)) -> contextmanager[subprocess.Popen[bytes]]:  # type: ignore[type-arg]
    options = ("--scheduler-file", str(file.parent / "scheduler.json"), "--nthreads", "1", "--memory-limit", "2 GB")
    return dask("worker", *options, *HERE, "--local-directory", str(file.parent), path=path)  # type: ignore[return-value]


def joined(file: Path, count: int) -> None:
    with cluster.read(file).connect(cluster.StartOptions(1, 1e9)) as client:
        client.wait_for_workers(count, timeout=60)


def pretending(folder: Path) -> str:
    """A path on which another NumPy seems to be installed, and another ckrr is."""
    there = folder / "pretended"
    (there / "numpy-1.0.0.dist-info").mkdir(parents=True)
    (there / "numpy-1.0.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.0.0\n")
    shutil.copytree(ROOT / "ckrr", there / "ckrr", ignore=shutil.ignore_patterns("__pycache__"))
    module = Path("ckrr/regions/bayesian.py")
    (there / module).write_text((ROOT / module).read_text() + "# changed\n")
    return f"{there}:{ROOT}"


def test_a_running_scheduler_gives_the_serial_cube_and_stays(file: Path, tmp_path: Path) -> None:
    with worker(file):
        joined(file, 1)
        size = cluster.read(file).get_size()
        assert (size.workers, size.memory) == (1, 2e9)
        assert run(file, tmp_path / "one.zarr") == []
        assert_identical(tmp_path / "one.zarr", serial(tmp_path / "serial.zarr"))
        joined(file, 1)


def test_workers_that_differ_are_told_before_work_starts(file: Path, tmp_path: Path) -> None:
    """And can be used all the same; one that joins late, and differs, ends the run."""
    other = "numpy is 1.0.0 there and"
    with worker(file, pretending(tmp_path)):
        joined(file, 1)
        with pytest.raises(UserError, match=other) as caught:
            run(file, tmp_path / "one.zarr")
        told = str(caught.value)
        assert told.startswith("the worker at tcp://127.0.0.1:")
        assert "(numbers may change)" in told
        assert re.search("; code of ckrr is ([0-9a-f]{8}) there and (?!\\1)[0-9a-f]{8} here", told)
        assert 'versions = "any"' in told
        assert not list((tmp_path / "one.zarr").rglob("receipts/*/*.json"))
        file.write_text(f'{file.read_text()}versions = "any"\n')
        (note,) = run(file, tmp_path / "one.zarr")
        assert other in note


def test_a_late_worker_that_differs_ends_the_run(file: Path, tmp_path: Path) -> None:
    from threading import Thread

    caught: list[BaseException] = []

    def go() -> None:
        try:
            run(file, tmp_path / "one.zarr")
        except BaseException as error:
            caught.append(error)

    thread = Thread(target=go)
    thread.start()
    until(lambda: (tmp_path / "one.zarr" / "zarr.json").exists())
    with worker(file, pretending(tmp_path)):
        thread.join(60)
    assert isinstance(caught[0], ClusterError)
    assert " differs from the driver: numpy is 1.0.0 there" in str(caught[0])
    assert not list((tmp_path / "one.zarr").rglob("receipts/*/*.json"))


def test_users_code_is_looked_for_on_every_worker(file: Path, tmp_path: Path) -> None:
    """The toy is beside our packages, and this worker sees the packages alone."""
    seen = tmp_path / "seen"
    seen.mkdir()
    for name in ("ckrr", "harness", "scenarios", "cluster"):
        (seen / name).symlink_to(ROOT / name)
    with worker(file), worker(file, str(seen)):
        joined(file, 2)
        with pytest.raises(UserError) as caught:
            run(file, tmp_path / "one.zarr")
    first, *_ = str(caught.value).splitlines()
    assert first.startswith("the worker at tcp://127.0.0.1:")
    assert "can't compute this study: " in first
    assert "which can't be imported: No module named 'tests" in first
    assert str(caught.value).count("can't compute this study") == 1


def test_nobody_answers(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('kind = "address"\naddress = "tcp://127.0.0.1:1"\ntimeout = 0.5\n')
    with pytest.raises(
        UserError, match=r"my.toml: no scheduler answers at tcp://127.0.0.1:1 within 0.5 s: check .* address"
    ):
        planned(tmp_path / "my.toml", tmp_path / "one.zarr")


def test_the_file_of_an_earlier_scheduler(tmp_path: Path) -> None:
    (tmp_path / "scheduler.json").write_text('{"address": "tcp://127.0.0.1:1"}')
    (tmp_path / "my.toml").write_text('kind = "address"\nscheduler_file = "scheduler.json"\ntimeout = 0.5\n')
    with pytest.raises(UserError, match=r"within 0.5 s: .* scheduler_file isn't that of an earlier scheduler"):
        planned(tmp_path / "my.toml", tmp_path / "one.zarr")


def certificates(folder: Path) -> str:
    """Files of an authority, and the lines of a cluster file that name them."""
    made = Security.temporary().get_tls_config_for_role("client")
    for name in ("ca_file", "cert", "key"):
        (folder / f"{name}.pem").write_text(made[name])
    return "".join(f'tls_{name} = "{name}.pem"\n' for name in ("ca_file", "cert", "key"))


def test_who_has_no_certificate_is_turned_away(tmp_path: Path) -> None:
    lines = certificates(tmp_path)
    tls = [
        word
        for key in ("ca-file", "cert", "key")
        for word in (f"--tls-{key}", f"{tmp_path}/{key.replace('-', '_')}.pem")
    ]
    port = ("--port", "0", "--protocol", "tls", "--scheduler-file", str(tmp_path / "scheduler.json"))
    with dask("scheduler", *HERE, *port, *tls):
        until((tmp_path / "scheduler.json").exists)
        (tmp_path / "address.toml").write_text(f'kind = "address"\nscheduler_file = "scheduler.json"\n{lines}')
        with cluster.read(tmp_path / "address.toml").connect(cluster.StartOptions(1, 1e9)) as client:
            address = client.scheduler.address
            assert address.startswith("tls://127.0.0.1:")
        with pytest.raises(OSError, match=r"(?i)ssl|timed out|certificate"):
            Client(address, timeout=2, security=Security.temporary(), set_as_default=False)
        with pytest.raises(OSError, match=r"(?i)closed|timed out|ssl"):
            Client(address.replace("tls", "tcp"), timeout=2, set_as_default=False)
