"""Turn a cluster file into a connected Dask client."""

from cluster.config.load import ClusterFileError, parse, read, read_text
from cluster.config.spec import ClusterFile, Local, Size
from cluster.connection import check_installed, connect, size_of, warm_up
from cluster.kinds.existing import size_of_client
from cluster.kinds.local import local
from cluster.kinds.marking import cluster_function
from cluster.runtime.errors import StartError
from cluster.runtime.limits import has_address_space

__all__ = [
    "ClusterFile",
    "ClusterFileError",
    "Local",
    "Size",
    "StartError",
    "check_installed",
    "cluster_function",
    "connect",
    "has_address_space",
    "local",
    "parse",
    "read",
    "read_text",
    "size_of",
    "size_of_client",
    "warm_up",
]
