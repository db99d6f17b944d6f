"""Reuse buffers: allocating fresh memory for every temporary costs as much as the arithmetic in it."""

from __future__ import annotations

from math import prod
from threading import local

import numpy as np

from ckrr._validation import Array

_KEPT = 1 << 22
"""Maximum number of entries in buffers that are kept from one call to the next."""


class Workspace:
    """Named buffers. The contents under a name are valid until the name is requested again.

    By convention "first" and "second" are for short-lived temporaries.

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
        """Return an uninitialised array of this shape."""
        size = prod(shape)
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = np.empty(size)
        return self._buffers[name][:size].reshape(shape)

    @property
    def size(self) -> int:
        """Number of entries in all buffers."""
        return sum(each.size for each in self._buffers.values())


_threads = local()


def shared_workspace() -> Workspace:
    """Return this thread's workspace, reused because small problems spend much of their time on fresh memory.

    If its buffers have grown beyond `_KEPT` entries, they are replaced at the next call.
    """
    scratch: Workspace | None = getattr(_threads, "scratch", None)
    if scratch is None or scratch.size > _KEPT:
        scratch = _threads.scratch = Workspace()
    return scratch
