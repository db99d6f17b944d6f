"""A cluster file → a connected Dask client, and nothing else."""

from cluster.address import offered
from cluster.connecting import check_installed, connected, expected, sized
from cluster.failures import StartError
from cluster.limits import has_address_space
from cluster.local import local
from cluster.marking import cluster_function
from cluster.reading import Wrong, parsed, read, text_of
from cluster.spec import ClusterFile, Local, Size

__all__ = [
    "ClusterFile",
    "Local",
    "Size",
    "StartError",
    "Wrong",
    "check_installed",
    "cluster_function",
    "connected",
    "expected",
    "has_address_space",
    "local",
    "offered",
    "parsed",
    "read",
    "sized",
    "text_of",
]
