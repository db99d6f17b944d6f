"""The cluster file: what each kind of cluster may be told, checked whole before anything starts."""

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
"""Share of a job's time, at least and at most so many seconds: for it to start and end; and by which lives differ."""


@dataclass(frozen=True)
class Size:
    """What a cluster offers, as far as it is known before it starts."""

    workers: int | None = None
    """None if that is for this machine to say."""
    memory: float | None = None
    """Bytes of one worker; None if that is for this machine to say."""
    threads: int = 1
    """BLAS threads of a worker."""
    lifetime: float = inf
    """Seconds that a worker surely lives."""


def make_validator(read: Callable[[str], float], like: str) -> Callable[[object], object]:
    """Reads a text, and says what it should be like if it can't be read."""

    def check(value: object) -> object:
        try:
            return read(str(value)) if isinstance(value, str) else _refuse(like)
        except ValueError:
            return _refuse(like)

    return check


def _refuse(like: str) -> object:
    raise PydanticCustomError("form", "must be {like}", {"like": like})


def _check_not_bool(value: object) -> object:
    """Python takes true for the number 1; a reader doesn't."""
    return _refuse("a whole number") if isinstance(value, bool) else value


def _resolve_path(path: str, info: ValidationInfo) -> str:
    """Paths are relative to the cluster file."""
    return str(Path((info.context or {}).get("folder", ".")) / Path(path).expanduser())


def _check_address(text: str) -> str:
    if not re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", text):
        _refuse('like "tcp://host:8786" or "tls://host:8786"')
    return text


Count = Annotated[int, BeforeValidator(_check_not_bool), Field(strict=True, ge=1, le=1_000_000)]
Bytes = Annotated[float, BeforeValidator(make_validator(parse_size, 'a size as "4 GB"'))]
RelativePath = Annotated[str, AfterValidator(_resolve_path)]


class ClusterFile(BaseModel):
    """What every kind has."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: str
    threads: Count = 1
    """BLAS threads of a worker. Numbers depend on it in the last digits, so a store is of one number of threads."""
    versions: Literal["same", "any"] = "same"
    """Whether workers must have our versions of what numbers depend on, or differences are told and that is all."""
    _where: str = PrivateAttr("the cluster")

    @property
    def where(self) -> str:
        """The file that it is from."""
        return self._where

    def get_size(self) -> Size:
        """What is known of it before it starts."""
        return Size(threads=self.threads)

    @property
    def patience(self) -> float | None:
        """Seconds without any worker after which the cluster counts as dead; None if that isn't special."""
        return None


class SecureClusterFile(ClusterFile):
    """With TLS, by certificates that are given, or made for the while."""

    tls: bool = True
    """Whether clusters that we start use it: on one machine, too, since other users of it reach every port."""
    tls_ca_file: RelativePath | None = None
    tls_cert: RelativePath | None = None
    tls_key: RelativePath | None = None

    @property
    def tls_files(self) -> tuple[str, str, str] | None:
        """Certificates that are given: the authority's, ours, our key."""
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
            raise PydanticCustomError("tls", "tls is false, but tls_cert and its like are given: leave one out")
        return self


class ManagedClusterFile(SecureClusterFile):
    """A cluster that we start, with its scheduler in the driver."""

    dashboard: bool = False
    """Whether the scheduler has Dask's dashboard, on loopback. It has no login: every user of this machine sees it."""


class Local(ManagedClusterFile):
    """Processes on this machine. They listen on loopback alone."""

    kind: Literal["local"] = "local"
    workers: Count | None = None
    """One a core (or for each so many cores as it has threads) if not told."""
    memory: Bytes | None = None
    """Of each worker; they share what there is if not told."""

    def get_size(self) -> Size:
        """What is told; the machine knows the rest."""
        return Size(self.workers, self.memory, self.threads)


class Address(SecureClusterFile):
    """A scheduler that runs already."""

    kind: Literal["address"]
    address: Annotated[str, AfterValidator(_check_address)] | None = None
    scheduler_file: RelativePath | None = None
    """What `dask scheduler --scheduler-file` wrote."""
    timeout: Annotated[float, Field(gt=0)] = 10.0
    """Seconds to wait for it."""

    @model_validator(mode="after")
    def _check_one_address(self) -> Address:
        if (self.address is None) == (self.scheduler_file is None):
            raise PydanticCustomError("address", "must have either address or scheduler_file, not both and not neither")
        if self.address is not None and self.address.startswith("tls://") and self.tls_files is None:
            raise PydanticCustomError("address", "tls_ca_file, tls_cert and tls_key are missing: address is tls://…")
        return self


class RemoteClusterFile(ManagedClusterFile):
    """A scheduler here, in the driver, and workers elsewhere that must reach it."""

    interface: str
    """The network on which scheduler and workers listen, as "eth0" or "ib0"; "lo" for this machine alone."""
    python: str | None = None
    """The Python of the workers; the path of ours if not told."""


class Ssh(RemoteClusterFile):
    """Workers on hosts that we may log in to."""

    kind: Literal["ssh"]
    interface: str = "lo"
    hosts: Annotated[list[str], Field(min_length=1)]
    workers_per_host: Count = 1
    memory: Bytes
    """Of each worker."""
    prologue: list[str] = []
    """Lines of shell before the worker starts there, as "module load python"."""
    username: str | None = None
    port: Count | None = None
    client_keys: list[RelativePath] | None = None
    known_hosts: RelativePath | None = None
    timeout: Annotated[float, Field(gt=0)] = 60.0
    """Seconds for a worker to log in, start and answer."""

    @model_validator(mode="after")
    def _check_reachable(self) -> Ssh:
        others = [host for host in self.hosts if host not in _HERE]
        if others and self.interface == "lo":
            text = 'interface is missing: {host} must reach the scheduler here: name its network, as "eth0"'
            raise PydanticCustomError("interface", text, {"host": others[0]})
        return self

    def get_size(self) -> Size:
        """All hosts together."""
        return Size(len(self.hosts) * self.workers_per_host, self.memory, self.threads)


class Slurm(RemoteClusterFile):
    """Workers as jobs of Slurm: the names are those of dask-jobqueue."""

    kind: Literal["slurm"]
    jobs: Count
    cores: Count = 1
    """Of a job."""
    processes: Count | None = None
    """Workers in a job; cores / threads if not told."""
    memory: Bytes
    """Of a job, shared by its workers."""
    walltime: Annotated[str, AfterValidator(lambda text: _check_walltime(text))]
    queue: str | None = None
    account: str | None = None
    job_name: str = "ckrr"
    job_extra_directives: list[str] = []
    job_script_prologue: list[str] = []
    log_directory: str = "logs"
    local_directory: str | None = None
    shared_temp_directory: str = "~/.ckrr"
    """Where certificates for the workers are while it runs: seen by all nodes, and by nobody else."""
    death_timeout: Annotated[float, Field(gt=0)] = 60.0
    """Seconds that a worker looks for its scheduler before it gives up."""
    lifetime: Annotated[float, BeforeValidator(make_validator(parse_duration, 'a time as "50 min"'))] | None = None
    """Of a worker; from the walltime if not told."""
    driver_walltime: Annotated[str, AfterValidator(lambda text: _check_walltime(text))] | None = None
    """Of the job that drives a study that is submitted; as that of the workers if not told. Another job follows it."""
    driver_memory: Annotated[float, BeforeValidator(make_validator(parse_size, 'a size as "4 GB"'))] = 2e9

    @property
    def workers_per_job(self) -> int:
        """How many share a job."""
        return self.processes or max(1, self.cores // self.threads)

    @property
    def life(self) -> tuple[float, float]:
        """Seconds that a worker lives, and by how many that differs: the longest ends before Slurm ends the job."""
        seconds = parse_walltime(self.walltime)
        stagger = _clamp_share(_STAGGER, self.lifetime or seconds)
        return self.lifetime or max(seconds - min(_clamp_share(_MARGIN, seconds), seconds / 4) - stagger, 1.0), stagger

    @property
    def patience(self) -> float:
        """New jobs may wait in the queue for hours."""
        return inf

    def list_driver_directives(self) -> list[str]:
        """What sbatch is told of the job that drives a submitted study."""
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
        """All jobs together."""
        seconds, stagger = self.life
        return Size(
            self.jobs * self.workers_per_job, self.memory / self.workers_per_job, self.threads, seconds - stagger
        )


def _check_walltime(text: str) -> str:
    try:
        parse_walltime(text)
    except ValueError:
        _refuse('a time as "01:30:00", "2-12" (days-hours) or "90" (minutes)')
    return text


def _clamp_share(rule: tuple[float, float, float], seconds: float) -> float:
    part, least, most = rule
    return min(max(part * seconds, least), most)


class PlanTable(BaseModel):
    """[plan]: what the planner may count on, of a cluster that is made by a function."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    workers: Count = 1
    memory: Bytes | None = None
    """Of each worker."""
    lifetime: Annotated[float, BeforeValidator(make_validator(parse_duration, 'a time as "50 min"'))] = inf


class Custom(ClusterFile):
    """Whatever a function makes: `kind = "module:function"`. It is called with the other options by their names."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    plan: PlanTable = PlanTable()

    @property
    def options(self) -> dict[str, Any]:
        """For the function."""
        return dict(self.model_extra or {})

    def get_size(self) -> Size:
        """As the file promises."""
        return Size(self.plan.workers, self.plan.memory or inf, self.threads, self.plan.lifetime)


KINDS: dict[str, type[ClusterFile]] = {"local": Local, "address": Address, "ssh": Ssh, "slurm": Slurm}


def _check_kind(kind: str) -> str:
    if kind not in KINDS and not re.fullmatch(r"[\w.]+:\w+", kind):
        near = "".join(f" (did you mean {each!r}?)" for each in get_close_matches(kind.casefold(), KINDS, n=1))
        _refuse(f"one of {', '.join(KINDS)} or 'module:function'{near}")
    return kind


class Kind(BaseModel):
    """The one key that says what the others may be."""

    model_config = ConfigDict(strict=True)

    kind: Annotated[str, AfterValidator(_check_kind)]


def validate(plain: dict[str, Any], where: str, folder: Path) -> ClusterFile:
    """A file's content as its kind has it."""
    found = find_model(plain).model_validate(plain, context={"folder": folder})
    found._where = where
    return found


def find_model(plain: dict[str, Any]) -> type[ClusterFile]:
    """What a file may say, by its kind."""
    return KINDS.get(Kind.model_validate(plain).kind, Custom)
