"""A cluster file → a connected Dask client, and nothing else."""

from cluster.config.load import Wrong, parsed, read, text_of
from cluster.config.spec import ClusterFile, Local, Size
from cluster.connect import check_installed, connected, sized, warm_up
from cluster.kinds.existing import offered
from cluster.kinds.local import local
from cluster.kinds.marking import cluster_function
from cluster.runtime.errors import StartError
from cluster.runtime.limits import has_address_space

__all__ = [
    "ClusterFile",
    "Local",
    "Size",
    "StartError",
    "Wrong",
    "check_installed",
    "cluster_function",
    "connected",
    "has_address_space",
    "local",
    "offered",
    "parsed",
    "read",
    "sized",
    "text_of",
    "warm_up",
]
