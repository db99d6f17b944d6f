"""Mark the functions that a cluster file may name as `kind = "module:function"`.

A cluster file chooses both the function and its arguments, so only functions marked for this purpose are called.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from distributed import Client
from distributed.deploy.cluster import Cluster

Maker = TypeVar("Maker", bound=Callable[..., Any])

_MARK = "__ckrr_cluster_function__"


def cluster_function(maker: Maker) -> Maker:
    """Mark a function or class as one that creates a cluster, so that cluster files may name it.

    Parameters
    ----------
    maker : callable
        Returns a `distributed` cluster or client. Its parameters are set by keys of the cluster file.

    Returns
    -------
    callable
        The same object, marked.

    Examples
    --------
    >>> @cluster_function
    ... def make(n_workers: int = 2):
    ...     from distributed import LocalCluster
    ...
    ...     return LocalCluster(n_workers=n_workers)
    >>> is_cluster_function(make), is_cluster_function(print)
    (True, False)
    """
    if not isinstance(maker, FunctionType | type):
        raise TypeError(f"cluster_function must mark a function or a class, got {type(maker).__name__}")
    setattr(maker, _MARK, True)
    return maker


def is_cluster_function(found: object) -> bool:
    """Return whether an object is a marked function or class, or a subclass of Dask's clusters or clients."""
    if not issubclass(type(found), FunctionType | type):
        return False
    return vars(found).get(_MARK) is True or (isinstance(found, type) and issubclass(found, Cluster | Client))
