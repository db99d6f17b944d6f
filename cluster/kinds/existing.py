"""A scheduler that runs already: we come and go, it stays."""

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
    """A client of it."""
    where = _find_address(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # the harness looks closer, and says it in words
        try:
            client = Client(where, timeout=file.timeout, security=load_security(file), set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterFileError(file.where, f"no scheduler answers at {where}: {_format_error(error)}") from None
    with silence_logging_cmgr(logging.CRITICAL), client:  # a scheduler that goes is told in words, too
        yield client


def _find_address(file: Address) -> str:
    """As it is told, or as the scheduler's file says."""
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
        raise ClusterFileError(file.where, f"scheduler_file names {path}, which no scheduler wrote") from None


def _format_error(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def ask_scheduler(file: Address) -> Size:
    """What it offers now."""
    with existing(file) as client:
        return size_of_client(client, file.threads)


def size_of_client(client: Client, threads: int = 1) -> Size:
    """The workers that a client's cluster has now, each with so many BLAS threads, and the memory of the smallest."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [float(each["memory_limit"]) for each in workers if each["memory_limit"]]
    return Size(sum(each["nthreads"] for each in workers) or 1, min(limits, default=float("inf")), threads)
