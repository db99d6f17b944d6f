"""Buffers that are used again and again: fresh memory for every temporary costs as much as the arithmetic in it."""

from __future__ import annotations

from math import prod
from threading import local

import numpy as np

from ckrr._validation import Array

_KEPT = 1 << 22
"""Numbers in buffers that are kept from one call to the next."""


class Workspace:
    """Named buffers. What was written under a name lasts until the name is asked for again.

    By convention "first" and "second" are for what the asking function needs no longer than it runs.

    Examples
    --------
    >>> scratch = Workspace()
    >>> first = scratch("square", (2, 3))
    >>> np.shares_memory(first, scratch("square", (1, 3))), np.shares_memory(first, scratch("other", (2, 3)))
    (True, False)
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}

    def __call__(self, name: str, shape: tuple[int, ...]) -> Array:
        """An array of this shape with anything in it."""
        size = prod(shape)
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = np.empty(size)
        return self._buffers[name][:size].reshape(shape)

    @property
    def size(self) -> int:
        """Numbers in all buffers."""
        return sum(each.size for each in self._buffers.values())


_threads = local()


def shared_workspace() -> Workspace:
    """The thread's own buffers, as its last call left them: a small problem spends much of its time on fresh memory.

    Large buffers are let go at the next call.
    """
    scratch: Workspace | None = getattr(_threads, "scratch", None)
    if scratch is None or scratch.size > _KEPT:
        scratch = _threads.scratch = Workspace()
    return scratch
