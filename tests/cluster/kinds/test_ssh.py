"""Workers on a host with a real OpenSSH server: the serial cube, TLS, and nothing left at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from distributed import Client
from distributed.security import Security

import cluster
from harness import UserError
from tests.cluster import sshd
from tests.cluster.listening import alive, listening, ports, until, with_children, workers_of
from tests.cluster.studies import LONG, PROLOGUE, SLOWLY, run, serial
from tests.harness.commands import TOY
from tests.harness.studies import ROOT, assert_identical

pytestmark = pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing()))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Server]:
    with sshd.running(tmp_path_factory.mktemp("ssh") / "server") as one:
        yield one


@pytest.fixture
def file(server: sshd.Server, tmp_path: Path) -> Path:
    path = tmp_path / "ssh.toml"
    path.write_text(
        f'kind = "ssh"\nhosts = ["127.0.0.1"]\nworkers_per_host = 2\nmemory = "1 GB"\nprologue = ["{PROLOGUE}"]\n'
        f"{server.options()}"
    )
    return path


def test_hosts_give_the_serial_cube(file: Path, tmp_path: Path) -> None:
    assert run(file, tmp_path / "one.zarr") == []
    assert_identical(tmp_path / "one.zarr", serial(tmp_path / "serial.zarr"))


def test_strangers_are_turned_away_and_nothing_is_left(file: Path) -> None:
    """By TLS, which is on if the file doesn't say otherwise."""
    before = ports([psutil.Process()])
    with cluster.read(file).connect(cluster.StartOptions(1, 1e9)) as client:
        client.wait_for_workers(2, timeout=60)
        address = client.scheduler.address
        workers = workers_of(address)
        words = workers[0].cmdline()
        pem = Path(words[words.index("--tls-cert") + 1])
        assert pem.stat().st_mode & 0o777 == 0o600
        assert not any("PRIVATE KEY" in word for word in words)
        assert pem.parent.stat().st_mode & 0o777 == 0o700
        assert words[words.index("--local-directory") + 1] == str(pem.parent)
        workers = with_children(workers)
        assert len(ports(workers)) == 4, "two nannies and two workers, without web servers"
        assert len(ports([psutil.Process()]) - before) == 1, "the scheduler, without a web server"
        assert listening([*workers, psutil.Process()]) == {"127.0.0.1"}
        for where, secure in ((address, Security.temporary()), (address.replace("tls", "tcp"), None)):
            with pytest.raises(OSError, match=r"(?i)tls|ssl|closed|timed out"):
                Client(where, timeout=2, security=secure, set_as_default=False)
    until(lambda: not alive(workers), 15)
    until(lambda: not pem.parent.exists(), 5)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("/known_hosts", "/unknown_hosts", "hosts: 127.0.0.1 can't be logged in to: HostKeyNotVerifiable"),
        ("workers_per_host", 'python = "/nowhere"\nworkers_per_host', "hosts: 127.0.0.1 starts no worker: .*/nowhere"),
        ('kind = "ssh"', 'kind = "ssh"\ninterface = "eth99"', "interface names 'eth99', which isn't found"),
    ],
)
def test_hosts_that_cannot_be_used_are_told(old: str, new: str, told: str, file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=rf"ssh.toml: {told}"):
        run(file, tmp_path / "one.zarr")


@pytest.mark.soak
def test_the_driver_is_killed_and_workers_end(file: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY)
    file.write_text(file.read_text().replace("prologue = [", f'prologue = ["{SLOWLY}", '))
    command = [sys.executable, "-m", "harness.cli", "run", "toy.toml", "--cluster", str(file), *LONG]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)
    until(lambda: bool(list(tmp_path.glob("results/toy.zarr/receipts/*/*.json"))))
    sockets = [one for one in psutil.Process(driver.pid).net_connections() if one.status == "LISTEN"]
    started = [each for one in sockets for each in workers_of(f"tls://127.0.0.1:{one.laddr.port}")]
    workers = with_children(started)
    assert len(workers) >= 3
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    until(lambda: not alive(workers), 30)
