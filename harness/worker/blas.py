"""Limit the number of BLAS threads during a computation, also where several threads of a process compute at once.

The number of threads of a BLAS library belongs to the process. If each computation restored the number that it found,
the first one to end would raise it for those that still run, and more threads give other last digits. So the first
computation sets the number, the last one restores it, and one that wants another number waits. OpenMP has a number for
each thread that calls it, which is set there. (`threadpoolctl` lets one thread at a time set the number of OpenBLAS,
and silently ignores all others.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from threading import Condition

from threadpoolctl import ThreadpoolController


@contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Limit every loaded BLAS and OpenMP library to this number of threads within a context.

    Computations of one process that are limited to the same number run at once. A nested limit must have the same
    number, too.

    Examples
    --------
    >>> import numpy
    >>> with limit_threads(1):
    ...     {library.num_threads for library in ThreadpoolController().lib_controllers}
    {1}
    """
    own, shared = _find_libraries(len(sys.modules))
    _held.enter(threads, shared)
    try:
        with own.limit(limits=threads):
            yield
    finally:
        _held.leave()


class _SharedLimit:
    """The limit of the libraries that all threads of this process share, and how many computations hold it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._threads, self._holders = 0, 0
        self._limited: list[ThreadpoolController] = []
        self._restore = ExitStack()

    def enter(self, threads: int, libraries: ThreadpoolController) -> None:
        """Limit the libraries, once no computation holds another limit."""
        with self._changed:
            self._changed.wait_for(lambda: not self._holders or self._threads == threads)
            if libraries not in self._limited:  # the first holder, or a library was loaded since
                _take_control(libraries)
                self._restore.callback(libraries.limit(limits=threads).restore_original_limits)
                self._limited.append(libraries)
            self._threads, self._holders = threads, self._holders + 1

    def leave(self) -> None:
        """Restore what was before the first holder, if this is the last one."""
        with self._changed:
            self._holders -= 1
            if self._holders:
                return
            for libraries in self._limited:
                _take_control(libraries)
            self._restore.close()
            self._limited.clear()
            self._changed.notify_all()


_held = _SharedLimit()


def _take_control(libraries: ThreadpoolController) -> None:
    """Let the current thread set the number of threads, whichever thread has set it before."""
    for kind in {type(each) for each in libraries.lib_controllers}:
        if hasattr(kind, "clear_controlling_thread"):  # of OpenBLAS, in newer versions
            kind.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _find_libraries(modules: int) -> tuple[ThreadpoolController, ThreadpoolController]:
    """Return the loaded libraries that have a number for each thread, and those that have one for the process.

    They are searched for again only when the number of imported modules has changed: that takes 2 ms, a quarter of a
    short unit.
    """
    found = ThreadpoolController()
    own = found.select(user_api="openmp", threading_layer="openmp")
    paths = {each.filepath for each in found.lib_controllers} - {each.filepath for each in own.lib_controllers}
    return own, found.select(filepath=sorted(paths))
