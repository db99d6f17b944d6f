"""Try again while a store does not answer."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from harness.core.errors import StoreRefusedError, StoreUnreachableError

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds that a run waits for a store that doesn't answer."""


_PAUSE = 1.0


def retry_call(what: Callable[[], T]) -> T:
    """Does something again as long as the store doesn't answer, for a minute; what is refused is refused at once."""
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
