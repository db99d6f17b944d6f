"""A cluster file → a connected Dask client, and nothing else."""

from cluster.address import offered
from cluster.connecting import check_installed, connected, expected, sized
from cluster.local import local
from cluster.reading import Wrong, parsed, read, text_of
from cluster.spec import ClusterFile, Local, Size

__all__ = [
    "ClusterFile",
    "Local",
    "Size",
    "Wrong",
    "check_installed",
    "connected",
    "expected",
    "local",
    "offered",
    "parsed",
    "read",
    "sized",
    "text_of",
]
