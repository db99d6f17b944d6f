"""Retry calls while a store does not answer."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from harness.core.errors import StoreRefusedError, StoreUnreachableError

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds that a run waits for a store that does not answer."""
_PAUSE = 1.0
"""Seconds between two attempts."""


def retry_call(what: Callable[[], T]) -> T:
    """Call `what` and return its result; repeat it for up to `PATIENCE` seconds while the store does not answer.

    Raises
    ------
    StoreRefusedError
        At once, because retrying does not help.
    StoreUnreachableError
        If the store did not answer in time.
    """
    end = monotonic() + PATIENCE
    while True:
        try:
            return what()
        except StoreRefusedError:
            raise
        except StoreUnreachableError:
            if monotonic() > end:
                raise
            sleep(_PAUSE)
