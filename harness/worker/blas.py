"""How many threads BLAS may use while something is computed."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def limit_threads(threads: int) -> AbstractContextManager[Any]:
    """Within, every library that is loaded has so many.

    Examples
    --------
    >>> import numpy
    >>> with limit_threads(1):
    ...     {library.num_threads for library in ThreadpoolController().lib_controllers}
    {1}
    """
    limiting: AbstractContextManager[Any] = _find_libraries(len(sys.modules)).limit(limits=threads)
    return limiting


@lru_cache(maxsize=1)
def _find_libraries(modules: int) -> ThreadpoolController:
    """The libraries. To look for them takes 2 ms, a quarter of a short unit, so it is done when modules have come."""
    return ThreadpoolController()
