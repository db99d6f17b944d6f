"""A cluster file → a connected Dask client, and nothing else."""

from cluster.local import local

__all__ = ["local"]
