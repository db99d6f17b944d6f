"""Exceptions of the harness: errors of the user, of the store, and of the cluster."""

from __future__ import annotations


class UserError(Exception):
    """A problem that the user has to fix. The command line prints its message without a traceback, exit code 2."""


class StoreUnreachableError(UserError):
    """The store does not answer. A run retries for a while; completed units are kept."""


class StoreRefusedError(StoreUnreachableError):
    """The store denies access, does not exist or cannot be written: retrying does not help."""


class StoreReplacedError(StoreRefusedError):
    """The store was removed, or replaced by that of another study: results must no longer be written to it."""


class ClusterError(Exception):
    """A unit failed at every attempt, or the cluster was lost."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; what is done is kept: run again to resume")
        self.why = why

    def __reduce__(self) -> tuple[type[ClusterError], tuple[str]]:
        return type(self), (self.why,)  # unpickling calls `__init__`, which adds to the message


class StoppedError(Exception):
    """The driver was asked to stop."""

    def __init__(self) -> None:
        super().__init__("stopped on request: what is done is kept, the same command resumes")


class IncompatibleWorkerError(Exception):
    """A worker's environment differs from the driver's in a way that could change results."""
