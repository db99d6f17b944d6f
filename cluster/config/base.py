"""Keys that kinds of clusters have in common, and what each kind can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from cluster.config.fields import Count, RelativePath

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK = "127.0.0.1"


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


@dataclass(frozen=True)
class StartOptions:
    """What the caller of `connect` decides."""

    workers: int
    """Workers on this machine; the other kinds take their number from the file."""
    memory: float
    """Bytes per worker on this machine; the other kinds take it from the file."""
    note: Callable[[str], None] = lambda text: None
    """Receives messages for the user, e.g. about what takes long."""
    preload: Sequence[str] = ()
    """Modules to import in the fork server of workers on this machine."""


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

    def check_installed(self) -> None:
        """Raise `ClusterFileError` if a package that the cluster needs is not installed.

        Check this before submitting: a driver that starts elsewhere would find out late.
        """

    def warm_up(self, preload: Sequence[str]) -> None:
        """Start early what takes long and costs little, to hide how long it takes."""

    def connect(self, options: StartOptions) -> AbstractContextManager[Client]:
        """Return a context manager that starts or reaches the cluster, and yields a connected client.

        Raises
        ------
        cluster.ClusterFileError
            If the cluster can't be started as the file describes it.
        cluster.StartError
            If it can't be started now, or fails while starting.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how it connects")


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


class RemoteClusterFile(ManagedClusterFile):
    """Keys of clusters with remote workers, which must reach the scheduler in the driver."""

    interface: str
    """Network interface on which scheduler and workers listen, e.g. "eth0" or "ib0"; "lo" for this machine only."""
    python: str | None = None
    """Python interpreter of the workers. Default: the same path as here."""
