"""Exceptions of the harness, and who has to act on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Values = npt.NDArray[Any]
    Generator = np.random.Generator
else:  # whoever computes loads NumPy; `ckrr status` does without
    Array = Bools = Values = Generator = Any


class UserError(Exception):
    """What the user has to put right: one line for each, told without a traceback, exit code 2."""


class StoreUnreachableError(UserError):
    """A store that doesn't answer. During a run that may pass, and what is done is kept."""


class StoreRefusedError(StoreUnreachableError):
    """A store that won't have us, or isn't there: waiting doesn't help."""


class StoreReplacedError(StoreRefusedError):
    """A store that was removed, or replaced by another study's: what is computed doesn't belong there any more."""


class ClusterError(Exception):
    """A unit failed at every attempt, or the cluster is gone."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; what is done is kept: run again to go on")


class StoppedError(Exception):
    """Somebody asked the driver to end."""

    def __init__(self) -> None:
        super().__init__("stopped as asked: what is done is kept, the same command goes on")


class IncompatibleWorkerError(Exception):
    """A worker that would compute otherwise than this process."""
