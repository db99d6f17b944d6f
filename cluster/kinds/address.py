"""Connect to a scheduler that is running already; it keeps running afterwards."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from distributed import Client
from distributed.utils import silence_logging_cmgr
from distributed.versions import VersionMismatchWarning
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from cluster.config.base import SecureClusterFile, Size, StartOptions
from cluster.config.fields import RelativePath, SchedulerAddress, Seconds
from cluster.config.files import ClusterFileError, read_text
from cluster.runtime.tls import load_security


class Address(SecureClusterFile):
    """A scheduler that is running already."""

    kind: Literal["address"]
    address: SchedulerAddress | None = None
    scheduler_file: RelativePath | None = None
    """File written by `dask scheduler --scheduler-file`."""
    timeout: Seconds = 10.0
    """Seconds to wait for the scheduler."""

    @model_validator(mode="after")
    def _check_one_address(self) -> Address:
        if (self.address is None) == (self.scheduler_file is None):
            raise PydanticCustomError("address", "must have either address or scheduler_file, not both and not neither")
        if self.address is not None and self.address.startswith("tls://") and self.tls_files is None:
            raise PydanticCustomError("address", "tls_ca_file, tls_cert and tls_key are missing: address is tls://…")
        return self

    def get_size(self) -> Size:
        """Ask the scheduler for its workers."""
        with connect_to_scheduler(self) as client:
            return size_of_client(client, self.threads)

    def connect(self, options: StartOptions) -> AbstractContextManager[Client]:
        """Connect to the scheduler."""
        return connect_to_scheduler(self)


@contextmanager
def connect_to_scheduler(file: Address) -> Iterator[Client]:
    """Yield a client connected to the scheduler that a cluster file names."""
    where = _find_address(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # the harness compares versions itself
        try:
            client = Client(where, timeout=file.timeout, security=load_security(file), set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterFileError(file.where, _explain_silence(file, where, error)) from None
    with silence_logging_cmgr(logging.CRITICAL), client:  # the harness reports a lost scheduler itself
        yield client


def _explain_silence(file: Address, where: str, error: Exception) -> str:
    """Say that no scheduler answers, why if that is known, and what to check."""
    is_late = isinstance(error, TimeoutError) or "Timed out" in str(error)
    why = f" within {file.timeout:g} s" if is_late else f": {_format_error(error)}"
    key = "address is right" if file.scheduler_file is None else "scheduler_file isn't that of an earlier scheduler"
    what = f"that it is running, that this machine can reach it, and that {key}"
    return f"no scheduler answers at {where}{why}: check {what}"


def _find_address(file: Address) -> str:
    """Return the address from the cluster file, or from the scheduler file that it names."""
    if file.address is not None:
        return file.address
    path = Path(file.scheduler_file or "")
    try:
        text = read_text(path)
    except ClusterFileError as wrong:
        raise ClusterFileError(file.where, f"scheduler_file names {path}, which {wrong.problem}") from None
    try:
        return str(json.loads(text)["address"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ClusterFileError(file.where, f"scheduler_file names {path}, which isn't a scheduler file") from None


def _format_error(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def size_of_client(client: Client, threads: int = 1) -> Size:
    """Return the number of workers (Dask threads) that a client has now, and the memory of the smallest one."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [float(each["memory_limit"]) for each in workers if each["memory_limit"]]
    return Size(sum(each["nthreads"] for each in workers) or 1, min(limits, default=float("inf")), threads)
