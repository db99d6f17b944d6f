"""Start workers as Slurm jobs with dask-jobqueue. Workers retire before their walltime, and new jobs replace them."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal
from uuid import uuid4

import dask
from distributed import Client
from distributed.deploy.spec import ProcessInterface
from distributed.security import Security
from pydantic import Field

from cluster.config.base import RemoteClusterFile, Size, StartOptions
from cluster.config.fields import Bytes, Count, Duration, Seconds, Walltime
from cluster.config.files import ClusterFileError
from cluster.config.units import parse_walltime
from cluster.runtime.children import defer_interrupts, preserve_sigint, sigint_free_loop
from cluster.runtime.errors import connect_client, dask_failures
from cluster.runtime.limits import ELSEWHERE, check_descriptors
from cluster.runtime.private import SCRATCH, PrivateDirectory, make_scratch_lines, scratch_directory
from cluster.runtime.scheduler import (
    QUIET,
    announce_dashboard,
    check_dashboard,
    make_dask_settings,
    make_remote_security,
    make_scheduler_options,
)
from cluster.runtime.settings import EXPORTS
from cluster.runtime.supervise import run_in_background
from cluster.runtime.tls import share_security

NEEDS_JOBQUEUE = "kind = 'slurm' needs dask-jobqueue: pip install 'ckrr[slurm]'"
_MARGIN, _STAGGER = (0.1, 15.0, 300.0), (0.1, 1.0, 300.0)
"""Share of a job's walltime, minimum and maximum seconds: for its start and end, and for staggering lifetimes."""
_LOOK = 2.0
"""Seconds between two queries of the queue."""
_FRUITLESS = 3
"""Give up after this many jobs in a row that ended without a worker."""
_QUIET = 10.0
"""Seconds after which the user is told that the jobs are queued."""


class Slurm(RemoteClusterFile):
    """Workers as Slurm jobs. The keys are named as in dask-jobqueue."""

    kind: Literal["slurm"]
    jobs: Count
    cores: Count = 1
    """Per job."""
    processes: Count | None = None
    """Workers per job. Default: cores / threads."""
    memory: Bytes
    """Per job, shared by its workers."""
    walltime: Walltime
    queue: str | None = None
    account: str | None = None
    job_name: str = "ckrr"
    job_extra_directives: list[str] = Field(default_factory=list)
    job_script_prologue: list[str] = Field(default_factory=list)
    log_directory: str = "logs"
    local_directory: str | None = None
    shared_temp_directory: str = "~/.ckrr"
    """Directory for the workers' certificates during a run: seen by all nodes, not writable by other users."""
    death_timeout: Seconds = 60.0
    """Seconds after which a worker that can't reach its scheduler gives up."""
    lifetime: Duration | None = None
    """Of a worker. Default: derived from the walltime."""
    driver_walltime: Walltime | None = None
    """Of the driver's job of a submitted study. Default: as for workers. A new job continues when it ends."""
    driver_memory: Bytes = 2e9

    @property
    def workers_per_job(self) -> int:
        """Number of workers that share a job."""
        return self.processes or max(1, self.cores // self.threads)

    @property
    def life(self) -> tuple[float, float]:
        """Mean lifetime of a worker and its stagger, in seconds: the longest life ends before Slurm ends the job."""
        seconds = parse_walltime(self.walltime)
        stagger = _clamp_share(_STAGGER, self.lifetime or seconds)
        return self.lifetime or max(seconds - min(_clamp_share(_MARGIN, seconds), seconds / 4) - stagger, 1.0), stagger

    @property
    def patience(self) -> float:
        """No limit: new jobs may wait in the queue for hours."""
        return inf

    def list_driver_directives(self) -> list[str]:
        """Return the sbatch directives of the driver's job of a submitted study."""
        directives = {
            "time": self.driver_walltime or self.walltime,
            "mem": f"{self.driver_memory / 1e6:.0f}M",
            "cpus-per-task": 1,
            "output": f"{self.log_directory}/driver-%j.out",
            "partition": self.queue,
            "account": self.account,
        }
        return [*(f"--{key}={value}" for key, value in directives.items() if value), *self.job_extra_directives]

    def get_size(self) -> Size:
        """Return the size of all jobs together."""
        seconds, stagger = self.life
        return Size(
            self.jobs * self.workers_per_job, self.memory / self.workers_per_job, self.threads, seconds - stagger
        )

    def check_installed(self) -> None:
        """Check for dask-jobqueue, and for bokeh if there is a dashboard."""
        if self.python is None and find_spec("dask_jobqueue") is None:
            raise ClusterFileError(self.where, NEEDS_JOBQUEUE)
        check_dashboard(self)

    def connect(self, options: StartOptions) -> AbstractContextManager[Client]:
        """Submit the jobs."""
        return slurm(self, options.note)


def _clamp_share(rule: tuple[float, float, float], seconds: float) -> float:
    part, least, most = rule
    return min(max(part * seconds, least), most)


@contextmanager
def slurm(file: Slurm, note: Callable[[str], None]) -> Iterator[Client]:
    """Submit jobs, wait for the first worker, and yield a client; cancel the jobs at the end.

    Parameters
    ----------
    file : Slurm
        The cluster file.
    note : callable
        Receives messages for the user.

    Yields
    ------
    distributed.Client

    Raises
    ------
    cluster.ClusterFileError
        If Slurm refuses the jobs, or they end without a worker.
    cluster.StartError
        If the scheduler can't be started.
    """
    check_dashboard(file)
    check_descriptors(file.jobs * file.workers_per_job, ELSEWHERE)
    with (
        scratch_directory(file.where) as scratch,
        sigint_free_loop() as loop,
        _start_cluster(file, loop, scratch) as cluster,
        _supervise_jobs(cluster, file, note) as keeper,
        connect_client(cluster) as client,
    ):
        announce_dashboard(file, cluster, note)
        _wait(client, keeper, note)
        yield client


@contextmanager
def _start_cluster(file: Slurm, loop: Any, scratch: PrivateDirectory) -> Iterator[Any]:
    """Start the scheduler; jobs are submitted later, by `_JobSupervisor`."""
    make, temporary = _make_factory(file, scratch), make_remote_security(file)
    _check_commands(file)
    with share_security(temporary, file.shared_temp_directory, file.where) as secure:
        with defer_interrupts() as interrupts, dask.config.set(make_dask_settings(file)), dask_failures():
            cluster = make(**_make_options(file, secure), loop=loop)
        with cluster:
            for interrupt in interrupts:
                raise interrupt
            yield cluster


def _make_factory(file: Slurm, scratch: PrivateDirectory) -> Callable[..., Any]:
    """Return dask-jobqueue's cluster class with a modified job class.

    A job that Slurm refuses notes the reason instead of raising, and `_JobSupervisor` reports it. Job scripts are
    written to a private directory: where dask-jobqueue writes them, another user could change them.
    """
    try:
        with preserve_sigint():
            from dask_jobqueue.slurm import SLURMCluster, SLURMJob
    except ImportError:
        raise ClusterFileError(file.where, NEEDS_JOBQUEUE) from None

    class Job(SLURMJob):
        refused: str | None = None

        async def start(self) -> None:
            try:
                await super().start()
            except RuntimeError as error:
                self.refused = f"Slurm refuses jobs: {_find_error_line(str(error))}"
                await ProcessInterface.start(self)

        @contextmanager
        def job_file(self) -> Iterator[str]:
            path = scratch.write(f"{uuid4().hex}.sh", self.job_script())
            try:
                yield str(path)
            finally:
                path.unlink(missing_ok=True)

    made: Any = SLURMCluster
    return partial(made, job_cls=Job)


def _check_commands(file: Slurm) -> None:
    lacking = [name for name in ("sbatch", "squeue", "scancel") if shutil.which(name) is None]
    if lacking:
        raise ClusterFileError(
            file.where, f"{lacking[0]} isn't installed here: run this on a host that can submit Slurm jobs"
        )


def _make_options(file: Slurm, secure: Security | None) -> dict[str, Any]:
    """Return the options of dask-jobqueue. Each worker has one Dask thread; BLAS may use more."""
    life, stagger = file.life
    lived = ["--lifetime", f"{life:.0f}s", "--lifetime-stagger", f"{stagger:.0f}s"]
    names = ("queue", "account", "walltime", "job_name", "death_timeout", "python", "interface")
    return {
        **{name: getattr(file, name) for name in names},
        "cores": file.workers_per_job,
        "processes": file.workers_per_job,
        "job_cpu": file.cores,
        "memory": f"{file.memory:.0f} B",
        "job_extra_directives": ["--no-requeue", *file.job_extra_directives],  # ended jobs are replaced anyway
        "local_directory": SCRATCH,
        "job_script_prologue": [*make_scratch_lines(file.local_directory), *EXPORTS, *file.job_script_prologue],
        "log_directory": str(Path(file.log_directory).absolute()),
        "worker_extra_args": [*lived, *QUIET],
        "scheduler_options": make_scheduler_options(file, secure),
        "security": secure,
        "silence_logs": logging.CRITICAL,
    }


@dataclass
class _JobSupervisor:
    """Keep as many jobs as the file asks for, by replacing those that ended."""

    cluster: Any
    file: Slurm
    note: Callable[[str], None]
    seen: set[str] = field(default_factory=set)
    """Names of jobs whose workers have joined."""
    fruitless: int = 0
    """Number of jobs in a row that ended without a worker."""
    problem: str | None = None
    pending: int = 0

    async def supervise(self) -> None:
        """Replace jobs that ended, until cancelled or until there is a problem."""
        while self.problem is None:
            self.cluster.scale(jobs=self.file.jobs)
            await self.cluster  # until jobs are submitted
            await asyncio.sleep(_LOOK)
            await self._drop_ended_jobs()
        if self.seen:  # a run is under way
            self.note(f"{self.problem}: giving up")
            await self.cluster.scheduler.close()

    async def _drop_ended_jobs(self) -> None:
        """Remove ended jobs from the cluster, and note a problem if too many had no worker."""
        names = {str(worker.name) for worker in self.cluster.scheduler.workers.values()}
        self.seen |= {job for job in self.cluster.workers if any(f"{name}-".startswith(f"{job}-") for name in names)}
        queued = await _query_queue()
        if queued is None:  # Slurm may be restarting; if it never accepted a job, it is unreachable
            self.problem = self._find_refusal() if not self.seen else None
            return
        self.pending = sum(queued.get(job.job_id) == "PENDING" for job in self.cluster.workers.values())
        gone = {name: job for name, job in self.cluster.workers.items() if job.job_id not in queued}
        for name, job in gone.items():
            self.fruitless = 0 if name in self.seen else self.fruitless + 1
            self.cluster.worker_spec.pop(name, None)
            self.cluster.workers.pop(name, None)
            if self.fruitless >= _FRUITLESS:
                log = Path(self.file.log_directory) / f"{self.file.job_name}-{job.job_id}.err"
                self.problem = job.refused or f"{self.fruitless} jobs ended without a worker: {_read_tail(log)}"

    def _find_refusal(self) -> str | None:
        """Return why Slurm refused the jobs; None if it accepted any."""
        refusals = [job.refused for job in self.cluster.workers.values()]
        return refusals[0] if refusals and all(refusals) else None


@contextmanager
def _supervise_jobs(cluster: Any, file: Slurm, note: Callable[[str], None]) -> Iterator[_JobSupervisor]:
    """Supervise the jobs of a cluster inside the `with` block."""
    keeper = _JobSupervisor(cluster, file, note)
    with run_in_background(cluster, keeper.supervise):
        yield keeper


async def _query_queue() -> dict[str, str] | None:
    """Return the states of this user's jobs by id; None if Slurm doesn't answer."""
    words = ("--me", "--noheader", "--format=%A %T")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("squeue", *words, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    out, _ = await process.communicate()
    return None if process.returncode else dict(line.split() for line in out.decode().splitlines())


def _wait(client: Client, keeper: _JobSupervisor, note: Callable[[str], None]) -> None:
    """Wait for the first worker; jobs may be queued for hours."""
    start, is_noted = monotonic(), False
    while not client.nthreads():
        if keeper.problem is not None:
            raise ClusterFileError(keeper.file.where, keeper.problem)
        if not is_noted and monotonic() > start + _QUIET:
            is_noted = True
            note(f"waiting for the first worker ({keeper.pending} of {keeper.file.jobs} jobs wait in the queue)")
        sleep(0.1)


def _find_error_line(text: str) -> str:
    """Return the first line that contains "error", else the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[-1] if lines else "")


def _read_tail(log: Path) -> str:
    if not log.exists() or not os.path.getsize(log):
        return f"{log} is missing or empty"
    return f"{log} ends with {log.read_text(errors='replace').strip().splitlines()[-1]!r}"
