"""Connect to a scheduler that is running already; it keeps running afterwards."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client
from distributed.utils import silence_logging_cmgr
from distributed.versions import VersionMismatchWarning

from cluster.config.load import ClusterFileError, read_text
from cluster.config.spec import Address, Size
from cluster.runtime.tls import load_security


@contextmanager
def existing(file: Address) -> Iterator[Client]:
    """Yield a client connected to the scheduler that a cluster file names."""
    where = _find_address(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # the harness compares versions itself
        try:
            client = Client(where, timeout=file.timeout, security=load_security(file), set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterFileError(file.where, f"no scheduler answers at {where}: {_format_error(error)}") from None
    with silence_logging_cmgr(logging.CRITICAL), client:  # the harness reports a lost scheduler itself
        yield client


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


def ask_scheduler(file: Address) -> Size:
    """Return the size of the running cluster that a cluster file names."""
    with existing(file) as client:
        return size_of_client(client, file.threads)


def size_of_client(client: Client, threads: int = 1) -> Size:
    """Return the number of workers (Dask threads) that a client has now, and the memory of the smallest one."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [float(each["memory_limit"]) for each in workers if each["memory_limit"]]
    return Size(sum(each["nthreads"] for each in workers) or 1, min(limits, default=float("inf")), threads)
