"""Turn a cluster file into a connected Dask client."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.config.base import ClusterFile, Size, StartOptions
    from cluster.config.files import ClusterFileError, read_text
    from cluster.kinds.address import size_of_client
    from cluster.kinds.local import Local, local
    from cluster.kinds.marking import cluster_function
    from cluster.load import parse, read
    from cluster.runtime.errors import StartError
    from cluster.runtime.forkserver import start_process, warm_up
    from cluster.runtime.limits import has_address_space

__all__ = [
    "ClusterFile",
    "ClusterFileError",
    "Local",
    "Size",
    "StartError",
    "StartOptions",
    "cluster_function",
    "has_address_space",
    "local",
    "parse",
    "read",
    "read_text",
    "size_of_client",
    "start_process",
    "warm_up",
]

_HOMES = {
    "ClusterFile": "cluster.config.base",
    "ClusterFileError": "cluster.config.files",
    "Local": "cluster.kinds.local",
    "Size": "cluster.config.base",
    "StartError": "cluster.runtime.errors",
    "StartOptions": "cluster.config.base",
    "cluster_function": "cluster.kinds.marking",
    "has_address_space": "cluster.runtime.limits",
    "local": "cluster.kinds.local",
    "parse": "cluster.load",
    "read": "cluster.load",
    "read_text": "cluster.config.files",
    "size_of_client": "cluster.kinds.address",
    "start_process": "cluster.runtime.forkserver",
    "warm_up": "cluster.runtime.forkserver",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use: a short study needs no Dask, and starts a second earlier without it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cluster' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
