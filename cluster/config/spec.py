"""Models of the cluster file: the keys of each kind of cluster, validated before anything starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cluster.config.units import parse_duration, parse_size, parse_walltime

LOOPBACK = "127.0.0.1"
_HERE = ("localhost", "127.0.0.1", "::1")
_MARGIN, _STAGGER = (0.1, 15.0, 300.0), (0.1, 1.0, 300.0)
"""Share of a job's walltime, minimum and maximum seconds: for its start and end, and for staggering lifetimes."""


@dataclass(frozen=True)
class Size:
    """Size of a cluster, as far as it is known before it starts."""

    workers: int | None = None
    """Number of workers; None if it depends on this machine."""
    memory: float | None = None
    """Bytes per worker; None if it depends on this machine."""
    threads: int = 1
    """BLAS threads per worker."""
    lifetime: float = inf
    """Seconds that a worker lives at least."""


def make_validator(read: Callable[[str], float], like: str) -> Callable[[object], object]:
    """Return a validator that parses a text with `read`, and describes valid values by `like` in its error."""

    def check(value: object) -> object:
        try:
            return read(str(value)) if isinstance(value, str) else _refuse(like)
        except ValueError:
            return _refuse(like)

    return check


def _refuse(like: str) -> object:
    raise PydanticCustomError("form", "must be {like}", {"like": like})


def _check_not_bool(value: object) -> object:
    """Refuse booleans, which Python would accept as the numbers 0 and 1."""
    return _refuse("a whole number") if isinstance(value, bool) else value


def _resolve_path(path: str, info: ValidationInfo) -> str:
    """Resolve a path relative to the folder of the cluster file."""
    return str(Path((info.context or {}).get("folder", ".")) / Path(path).expanduser())


def _check_address(text: str) -> str:
    if not re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", text):
        _refuse('like "tcp://host:8786" or "tls://host:8786"')
    return text


Count = Annotated[int, BeforeValidator(_check_not_bool), Field(strict=True, ge=1, le=1_000_000)]
Bytes = Annotated[float, BeforeValidator(make_validator(parse_size, 'a size like "4 GB"'))]
RelativePath = Annotated[str, AfterValidator(_resolve_path)]


class ClusterFile(BaseModel):
    """Keys common to all kinds of clusters."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: str
    threads: Count = 1
    """BLAS threads per worker. The last digits of results depend on it, so a store is tied to one number of threads."""
    versions: Literal["same", "any"] = "same"
    """Whether workers must have the same versions of the packages that results depend on; "any" only reports them."""
    _where: str = PrivateAttr("the cluster")

    @property
    def where(self) -> str:
        """Path of the cluster file, for messages."""
        return self._where

    def get_size(self) -> Size:
        """Return the size of the cluster, as far as it is known before it starts."""
        return Size(threads=self.threads)

    @property
    def patience(self) -> float | None:
        """Seconds without any worker after which the cluster counts as dead; None for the default."""
        return None


class SecureClusterFile(ClusterFile):
    """Keys of clusters with TLS, by given certificates or temporary ones."""

    tls: bool = True
    """Whether clusters that we start use TLS, even on one machine, since all its users can reach every port."""
    tls_ca_file: RelativePath | None = None
    tls_cert: RelativePath | None = None
    tls_key: RelativePath | None = None

    @property
    def tls_files(self) -> tuple[str, str, str] | None:
        """Paths of the given authority, certificate and key; None if none are given."""
        if self.tls_ca_file and self.tls_cert and self.tls_key:
            return self.tls_ca_file, self.tls_cert, self.tls_key
        return None

    @model_validator(mode="after")
    def _check_tls_files(self) -> SecureClusterFile:
        files = {name: getattr(self, name) for name in ("tls_ca_file", "tls_cert", "tls_key")}
        missing = [name for name, path in files.items() if path is None]
        if 0 < len(missing) < len(files):
            raise PydanticCustomError("tls", "{name} is missing: the three belong together", {"name": missing[0]})
        if not missing and self.tls is False:
            raise PydanticCustomError("tls", "tls is false, but tls_cert and tls_key are given: remove either")
        return self


class ManagedClusterFile(SecureClusterFile):
    """Keys of clusters that we start, with the scheduler in the driver."""

    dashboard: bool = False
    """Whether the scheduler serves Dask's dashboard, on loopback. No login: all users of this machine see it."""


class Local(ManagedClusterFile):
    """Workers are processes on this machine that listen on loopback only."""

    kind: Literal["local"] = "local"
    workers: Count | None = None
    """Default: the number of cores divided by `threads`."""
    memory: Bytes | None = None
    """Per worker. Default: an equal share of the machine's memory."""

    def get_size(self) -> Size:
        """Return what the file sets; the rest depends on this machine."""
        return Size(self.workers, self.memory, self.threads)


class Address(SecureClusterFile):
    """A scheduler that is running already."""

    kind: Literal["address"]
    address: Annotated[str, AfterValidator(_check_address)] | None = None
    scheduler_file: RelativePath | None = None
    """File written by `dask scheduler --scheduler-file`."""
    timeout: Annotated[float, Field(gt=0)] = 10.0
    """Seconds to wait for the scheduler."""

    @model_validator(mode="after")
    def _check_one_address(self) -> Address:
        if (self.address is None) == (self.scheduler_file is None):
            raise PydanticCustomError("address", "must have either address or scheduler_file, not both and not neither")
        if self.address is not None and self.address.startswith("tls://") and self.tls_files is None:
            raise PydanticCustomError("address", "tls_ca_file, tls_cert and tls_key are missing: address is tls://…")
        return self


class RemoteClusterFile(ManagedClusterFile):
    """Keys of clusters with remote workers, which must reach the scheduler in the driver."""

    interface: str
    """Network interface on which scheduler and workers listen, e.g. "eth0" or "ib0"; "lo" for this machine only."""
    python: str | None = None
    """Python interpreter of the workers. Default: the same path as here."""


class Ssh(RemoteClusterFile):
    """Workers on hosts that allow SSH logins."""

    kind: Literal["ssh"]
    interface: str = "lo"
    hosts: Annotated[list[str], Field(min_length=1)]
    workers_per_host: Count = 1
    memory: Bytes
    """Per worker."""
    prologue: list[str] = []
    """Shell lines to run before the workers start, e.g. "module load python"."""
    username: str | None = None
    port: Count | None = None
    client_keys: list[RelativePath] | None = None
    known_hosts: RelativePath | None = None
    timeout: Annotated[float, Field(gt=0)] = 60.0
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
    walltime: Annotated[str, AfterValidator(lambda text: _check_walltime(text))]
    queue: str | None = None
    account: str | None = None
    job_name: str = "ckrr"
    job_extra_directives: list[str] = []
    job_script_prologue: list[str] = []
    log_directory: str = "logs"
    local_directory: str | None = None
    shared_temp_directory: str = "~/.ckrr"
    """Directory for the workers' certificates during a run: seen by all nodes, not writable by other users."""
    death_timeout: Annotated[float, Field(gt=0)] = 60.0
    """Seconds after which a worker that can't reach its scheduler gives up."""
    lifetime: Annotated[float, BeforeValidator(make_validator(parse_duration, 'a time like "50 min"'))] | None = None
    """Of a worker. Default: derived from the walltime."""
    driver_walltime: Annotated[str, AfterValidator(lambda text: _check_walltime(text))] | None = None
    """Of the driver's job of a submitted study. Default: as for workers. A new job continues when it ends."""
    driver_memory: Annotated[float, BeforeValidator(make_validator(parse_size, 'a size like "4 GB"'))] = 2e9

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
        told = {
            "time": self.driver_walltime or self.walltime,
            "mem": f"{self.driver_memory / 1e6:.0f}M",
            "cpus-per-task": 1,
            "output": f"{self.log_directory}/driver-%j.out",
            "partition": self.queue,
            "account": self.account,
        }
        return [*(f"--{key}={value}" for key, value in told.items() if value), *self.job_extra_directives]

    def get_size(self) -> Size:
        """Return the size of all jobs together."""
        seconds, stagger = self.life
        return Size(
            self.jobs * self.workers_per_job, self.memory / self.workers_per_job, self.threads, seconds - stagger
        )


def _check_walltime(text: str) -> str:
    try:
        parse_walltime(text)
    except ValueError:
        _refuse('a time like "01:30:00", "2-12" (days-hours) or "90" (minutes)')
    return text


def _clamp_share(rule: tuple[float, float, float], seconds: float) -> float:
    part, least, most = rule
    return min(max(part * seconds, least), most)


class PlanTable(BaseModel):
    """Table [plan]: what to plan with, for a cluster that a custom function starts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    workers: Count = 1
    memory: Bytes | None = None
    """Per worker."""
    lifetime: Annotated[float, BeforeValidator(make_validator(parse_duration, 'a time like "50 min"'))] = inf


class Custom(ClusterFile):
    """A cluster from a custom function, `kind = "module:function"`, called with the other keys as keyword arguments."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    plan: PlanTable = PlanTable()

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for the function."""
        return dict(self.model_extra or {})

    def get_size(self) -> Size:
        """Return the size that the table [plan] gives."""
        return Size(self.plan.workers, self.plan.memory or inf, self.threads, self.plan.lifetime)


KINDS: dict[str, type[ClusterFile]] = {"local": Local, "address": Address, "ssh": Ssh, "slurm": Slurm}


def _check_kind(kind: str) -> str:
    if kind not in KINDS and not re.fullmatch(r"[\w.]+:\w+", kind):
        near = "".join(f" (did you mean {each!r}?)" for each in get_close_matches(kind.casefold(), KINDS, n=1))
        _refuse(f"one of {', '.join(KINDS)} or 'module:function'{near}")
    return kind


class Kind(BaseModel):
    """The key `kind`, which determines the other keys."""

    model_config = ConfigDict(strict=True)

    kind: Annotated[str, AfterValidator(_check_kind)]


def validate(plain: dict[str, Any], where: str, folder: Path) -> ClusterFile:
    """Validate the content of a cluster file against the model of its kind."""
    found = find_model(plain).model_validate(plain, context={"folder": folder})
    found._where = where
    return found


def find_model(plain: dict[str, Any]) -> type[ClusterFile]:
    """Return the model for the kind of a cluster file."""
    return KINDS.get(Kind.model_validate(plain).kind, Custom)
