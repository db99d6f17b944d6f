"""Workers on hosts that we log in to, with asyncssh. The scheduler is here: it ends with the driver, and they with it.

(Dask's SSHCluster starts the scheduler on a host, where it would outlive a driver that was killed, and knows no TLS.)
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Scheduler
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface, SpecCluster
from distributed.security import Security

from cluster.config.load import Wrong
from cluster.config.spec import Ssh
from cluster.runtime.errors import client_of, dask_failures
from cluster.runtime.limits import ELSEWHERE, check_descriptors
from cluster.runtime.private import SCRATCH, scratch_directory, scratch_lines
from cluster.runtime.scheduler import (
    QUIET,
    check_dashboard,
    dask_settings,
    scheduler_options,
    security_of,
    tell_dashboard,
)
from cluster.runtime.settings import EXPORTS, deaf_loop, put_off
from cluster.runtime.supervise import replaced

NEEDS_ASYNCSSH = "kind = 'ssh' needs asyncssh: pip install 'ckrr[ssh]'"
_GOODBYE = 8.0
"""Seconds that a host's workers have to end by themselves."""


@contextmanager
def ssh(file: Ssh, note: Callable[[str], None]) -> Iterator[Client]:
    """Start workers on all hosts, and end them at the end.

    Parameters
    ----------
    file : Ssh
        The cluster file.
    note : callable
        Where to say what the user should know.

    Yields
    ------
    distributed.Client
    """
    secure = security_of(file)
    if find_spec("asyncssh") is None:
        raise Wrong(file.where, NEEDS_ASYNCSSH)
    check_dashboard(file)
    check_descriptors(len(file.hosts) * file.workers_per_host, ELSEWHERE)
    with (
        scratch_directory(file.where),
        deaf_loop() as loop,
        _started(file, secure, loop) as cluster,
        replaced(cluster),
        client_of(cluster) as client,
    ):
        tell_dashboard(file, cluster, note)
        yield client


@contextmanager
def _started(file: Ssh, secure: Security | None, loop: Any) -> Iterator[SpecCluster]:
    options = {"file": file, "pem": _pem(secure)}
    workers = {i: {"cls": _Host, "options": {**options, "address": host}} for i, host in enumerate(file.hosts)}
    scheduler = {"cls": Scheduler, "options": scheduler_options(file, secure)}
    with put_off() as interrupts, dask.config.set(dask_settings(file)), dask_failures():
        try:
            cluster = SpecCluster(
                workers, scheduler, loop=loop, security=secure, silence_logs=logging.CRITICAL, name="ssh"
            )
        except _Unusable as error:
            raise Wrong(file.where, str(error)) from None
    with cluster:
        for interrupt in interrupts:
            raise interrupt
        yield cluster


def _pem(secure: Security | None) -> str | None:
    """All that a worker needs to prove itself, as one text: its certificate, its key, the authority."""
    if secure is None:
        return None
    config = secure.get_tls_config_for_role("worker")
    parts = [str(config[name]) for name in ("cert", "key", "ca_file")]
    return "\n".join(part if "\n" in part else Path(part).read_text() for part in parts)


class _Unusable(Exception):
    """A host, and why it can't be used."""


class _Host(ProcessInterface):
    """The workers of one host: one process of Dask's command line there."""

    def __init__(self, scheduler: str, file: Ssh, pem: str | None, address: str, name: object = None) -> None:
        super().__init__()
        self._scheduler, self._file, self._pem, self._address, self._name = scheduler, file, pem, address, name
        self._connection: Any = None
        self._process: Any = None

    async def start(self) -> None:
        """Logs in, starts the workers, and waits until they have joined."""
        try:
            await asyncio.wait_for(self._start(), self._file.timeout)
        except TimeoutError:
            await self.close()
            raise _Unusable(f"hosts: {self._address} has no worker after {self._file.timeout:g} s (timeout)") from None
        except BaseException:
            await self.close()
            raise
        await super().start()

    async def _start(self) -> None:
        self._connection = await _login(self._file, self._address)
        command = _command(self._file, self._scheduler, self._pem is not None)
        self._process = await self._connection.create_process(command)
        self._process.stdin.write(self._pem or "")
        self._process.stdin.write_eof()
        joined, said = 0, ""
        while joined < self._file.workers_per_host:
            line = await self._process.stderr.readline()
            if not line:
                raise _Unusable(f"hosts: {self._address} starts no worker: {said.strip() or 'it says nothing'}")
            said = line if line.strip() else said
            joined += "Registered to:" in line
        self._watch = asyncio.create_task(self._watched())

    async def _watched(self) -> None:
        """Until the host's workers have ended, whoever ended them. (Somebody has to read what they say.)"""
        while await self._process.stderr.readline():
            pass
        self.status = Status.closed

    async def close(self) -> None:
        """Ends them: first in order, so that certificates are removed there."""
        if self._process is not None:
            with suppress(OSError):
                self._process.terminate()
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait_closed(), _GOODBYE)
            with suppress(OSError):
                self._process.kill()
        if self._connection is not None:
            self._connection.close()
        await super().close()


async def _login(file: Ssh, host: str) -> Any:
    import asyncssh

    told = ("username", "port", "client_keys", "known_hosts")
    options = {name: getattr(file, name) for name in told if getattr(file, name) is not None}
    try:
        return await asyncssh.connect(host, **options)
    except (OSError, asyncssh.Error) as error:
        raise _Unusable(f"hosts: {host} can't be logged in to: {type(error).__name__}: {error}") from None


def _command(file: Ssh, scheduler: str, encrypted: bool) -> str:
    """Return what the host's shell is told.

    A certificate comes by its standard input, and is removed at the end.
    """
    words = [file.python or sys.executable, "-m", "distributed.cli.dask_worker", scheduler]
    words += ["--nworkers", str(file.workers_per_host), "--nthreads", "1", "--memory-limit", f"{file.memory:.0f}"]
    words += ["--interface", file.interface, *QUIET, "--death-timeout", f"{file.timeout:.0f}"]
    lines = ["set -e", *scratch_lines(), f"(umask 077; cat > {SCRATCH}/tls.pem)"]
    command = f"{shlex.join([*words, '--local-directory'])} {SCRATCH}"
    if encrypted:
        command += "".join(f" --tls-{name} {SCRATCH}/tls.pem" for name in ("ca-file", "cert", "key"))
    return "\n".join([*lines, *EXPORTS, *file.prologue, f"{command} </dev/null >&2"])
