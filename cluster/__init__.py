"""Turn a cluster file into a connected Dask client."""

from cluster.config.base import ClusterFile, Size, StartOptions
from cluster.config.files import ClusterFileError, read_text
from cluster.kinds.address import size_of_client
from cluster.kinds.local import Local, local
from cluster.kinds.marking import cluster_function
from cluster.load import parse, read
from cluster.runtime.errors import StartError
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
]
