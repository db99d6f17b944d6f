"""Start workers on remote hosts with asyncssh. The scheduler runs in the driver, so all of them end with it.

(Dask's SSHCluster starts the scheduler on a remote host, where it would outlive a killed driver, and has no TLS.)
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import dask
from distributed import Client, Scheduler
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface, SpecCluster
from distributed.security import Security
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cluster.config.base import RemoteClusterFile, Size, StartOptions
from cluster.config.fields import Bytes, Count, RelativePath, Seconds
from cluster.config.files import ClusterFileError
from cluster.runtime.children import defer_interrupts, sigint_free_loop
from cluster.runtime.errors import connect_client, dask_failures
from cluster.runtime.limits import ELSEWHERE, check_descriptors
from cluster.runtime.private import SCRATCH, make_scratch_lines, scratch_directory
from cluster.runtime.scheduler import (
    QUIET,
    announce_dashboard,
    check_dashboard,
    make_dask_settings,
    make_remote_security,
    make_scheduler_options,
)
from cluster.runtime.settings import EXPORTS
from cluster.runtime.supervise import replace_ended_workers

NEEDS_ASYNCSSH = "kind = 'ssh' needs asyncssh: pip install 'ckrr[ssh]'"
_HERE = ("localhost", "127.0.0.1", "::1")
_SHUTDOWN_TIMEOUT = 8.0
"""Seconds that the workers of a host have to end by themselves."""


class Ssh(RemoteClusterFile):
    """Workers on hosts that allow SSH logins."""

    kind: Literal["ssh"]
    interface: str = "lo"
    hosts: Annotated[list[str], Field(min_length=1)]
    workers_per_host: Count = 1
    memory: Bytes
    """Per worker."""
    prologue: list[str] = Field(default_factory=list)
    """Shell lines to run before the workers start, e.g. "module load python"."""
    username: str | None = None
    port: Count | None = None
    client_keys: list[RelativePath] | None = None
    known_hosts: RelativePath | None = None
    timeout: Seconds = 60.0
    """Seconds in which the workers of a host must start, including the login."""

    @model_validator(mode="after")
    def _check_reachable(self) -> Ssh:
        others = [host for host in self.hosts if host not in _HERE]
        if others and self.interface == "lo":
            text = 'interface is missing: {host} must reach the scheduler here: name a network interface, e.g. "eth0"'
            raise PydanticCustomError("interface", text, {"host": others[0]})
        return self

    def get_size(self) -> Size:
        """Return the size of all hosts together."""
        return Size(len(self.hosts) * self.workers_per_host, self.memory, self.threads)

    def check_installed(self) -> None:
        """Check for asyncssh, and for bokeh if there is a dashboard."""
        if find_spec("asyncssh") is None:
            raise ClusterFileError(self.where, NEEDS_ASYNCSSH)
        check_dashboard(self)

    def connect(self, options: StartOptions) -> AbstractContextManager[Client]:
        """Start the workers on all hosts."""
        return ssh(self, options.note)


@contextmanager
def ssh(file: Ssh, note: Callable[[str], None]) -> Iterator[Client]:
    """Start workers on all hosts and yield a client; stop the workers at the end.

    Parameters
    ----------
    file : Ssh
        The cluster file.
    note : callable
        Receives messages for the user.

    Yields
    ------
    distributed.Client
    """
    secure = make_remote_security(file)
    if find_spec("asyncssh") is None:
        raise ClusterFileError(file.where, NEEDS_ASYNCSSH)
    check_dashboard(file)
    check_descriptors(len(file.hosts) * file.workers_per_host, ELSEWHERE)
    with (
        scratch_directory(file.where),
        sigint_free_loop() as loop,
        _start_cluster(file, secure, loop) as cluster,
        replace_ended_workers(cluster),
        connect_client(cluster) as client,
    ):
        announce_dashboard(file, cluster, note)
        yield client


@contextmanager
def _start_cluster(file: Ssh, secure: Security | None, loop: Any) -> Iterator[SpecCluster]:
    options = {"file": file, "pem": _make_pem(secure)}
    workers = {i: {"cls": _Host, "options": {**options, "address": host}} for i, host in enumerate(file.hosts)}
    scheduler = {"cls": Scheduler, "options": make_scheduler_options(file, secure)}
    with defer_interrupts() as interrupts, dask.config.set(make_dask_settings(file)), dask_failures():
        try:
            cluster = SpecCluster(
                workers, scheduler, loop=loop, security=secure, silence_logs=logging.CRITICAL, name="ssh"
            )
        except _HostError as error:
            raise ClusterFileError(file.where, str(error)) from None
    with cluster:
        for interrupt in interrupts:
            raise interrupt
        yield cluster


def _make_pem(secure: Security | None) -> str | None:
    """Return the certificate, key and authority that a worker authenticates with, as one PEM text."""
    if secure is None:
        return None
    config = secure.get_tls_config_for_role("worker")
    parts = [str(config[name]) for name in ("cert", "key", "ca_file")]
    return "\n".join(part if "\n" in part else Path(part).read_text() for part in parts)


class _HostError(Exception):
    """Workers cannot be started on a host."""


class _Host(ProcessInterface):
    """The workers of one host, started there by one process of Dask's command line."""

    def __init__(self, scheduler: str, file: Ssh, pem: str | None, address: str, name: object = None) -> None:
        super().__init__()
        self._scheduler, self._file, self._pem, self._address, self._name = scheduler, file, pem, address, name
        self._connection: Any = None
        self._process: Any = None

    async def start(self) -> None:
        """Log in, start the workers, and wait until they have joined."""
        try:
            await asyncio.wait_for(self._start(), self._file.timeout)
        except TimeoutError:
            await self.close()
            raise _HostError(f"hosts: {self._address} has no worker after {self._file.timeout:g} s (timeout)") from None
        except BaseException:
            await self.close()
            raise
        await super().start()

    async def _start(self) -> None:
        self._connection = await _log_in(self._file, self._address)
        command = _make_command(self._file, self._scheduler, self._pem is not None)
        self._process = await self._connection.create_process(command)
        self._process.stdin.write(self._pem or "")
        self._process.stdin.write_eof()
        joined, said = 0, ""
        while joined < self._file.workers_per_host:
            line = await self._process.stderr.readline()
            if not line:
                raise _HostError(f"hosts: {self._address} starts no worker: {said.strip() or 'it printed nothing'}")
            said = line if line.strip() else said
            joined += "Registered to:" in line
        self._watch = asyncio.create_task(self._wait_until_closed())

    async def _wait_until_closed(self) -> None:
        """Wait until the host's workers have ended; reads their output, so that it does not block them."""
        while await self._process.stderr.readline():
            pass
        self.status = Status.closed

    async def close(self) -> None:
        """Stop the workers: terminate first, so that certificates are removed on the host, then kill."""
        if self._process is not None:
            with suppress(OSError):
                self._process.terminate()
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait_closed(), _SHUTDOWN_TIMEOUT)
            with suppress(OSError):
                self._process.kill()
        if self._connection is not None:
            self._connection.close()
        await super().close()


async def _log_in(file: Ssh, host: str) -> Any:
    import asyncssh

    names = ("username", "port", "client_keys", "known_hosts")
    options = {name: getattr(file, name) for name in names if getattr(file, name) is not None}
    try:
        return await asyncssh.connect(host, **options)
    except (OSError, asyncssh.Error) as error:
        raise _HostError(f"hosts: {host} can't be logged in to: {type(error).__name__}: {error}") from None


def _make_command(file: Ssh, scheduler: str, encrypted: bool) -> str:
    """Return the shell script that starts the workers on a host.

    It reads the certificate from standard input, and removes it at the end.
    """
    words = [file.python or sys.executable, "-m", "distributed.cli.dask_worker", scheduler]
    words += ["--nworkers", str(file.workers_per_host), "--nthreads", "1", "--memory-limit", f"{file.memory:.0f}"]
    words += ["--interface", file.interface, *QUIET, "--death-timeout", f"{file.timeout:.0f}"]
    lines = ["set -e", *make_scratch_lines(), f"(umask 077; cat > {SCRATCH}/tls.pem)"]
    command = f"{shlex.join([*words, '--local-directory'])} {SCRATCH}"
    if encrypted:
        command += "".join(f" --tls-{name} {SCRATCH}/tls.pem" for name in ("ca-file", "cert", "key"))
    return "\n".join([*lines, *EXPORTS, *file.prologue, f"{command} </dev/null >&2"])
