"""Addresses of stores: paths of this machine, or URLs of buckets. No other module asks which of the two one is."""

from __future__ import annotations

from pathlib import Path

S3 = ("s3://", "s3a://")


def is_url(address: str) -> bool:
    """Return whether an address is a URL, and not a path of this machine.

    Examples
    --------
    >>> is_url("s3://bucket/my.zarr"), is_url("results/my.zarr")
    (True, False)
    """
    return "://" in address


def join(folder: str, name: str) -> str:
    """Return the address of something inside a folder or a bucket.

    Examples
    --------
    >>> join("s3://bucket/results", "my.zarr"), join("results/", "my.zarr")
    ('s3://bucket/results/my.zarr', 'results/my.zarr')
    """
    return f"{folder}/{name}" if is_url(folder) else str(Path(folder) / name)


def find_local_folder(address: str) -> Path:
    """Return the folder of this machine for files that belong to an address: the current one for a URL.

    Examples
    --------
    >>> str(find_local_folder("results")), str(find_local_folder("s3://bucket/results"))
    ('results', '.')
    """
    return Path() if is_url(address) else Path(address)
