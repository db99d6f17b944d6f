"""Limit the number of BLAS threads during a computation."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def limit_threads(threads: int) -> AbstractContextManager[Any]:
    """Limit every loaded BLAS and OpenMP library to this number of threads within a context.

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
    """Return the loaded libraries; searched for again only when the number of imported modules has changed.

    The search takes 2 ms, a quarter of a short unit.
    """
    return ThreadpoolController()
