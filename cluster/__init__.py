"""A cluster file → a connected Dask client, and nothing else."""

from cluster.address import offered
from cluster.connecting import connected, expected, sized
from cluster.local import local
from cluster.reading import Wrong, parsed, read, text_of
from cluster.spec import ClusterFile, Local, Size

__all__ = [
    "ClusterFile",
    "Local",
    "Size",
    "Wrong",
    "connected",
    "expected",
    "local",
    "offered",
    "parsed",
    "read",
    "sized",
    "text_of",
]
