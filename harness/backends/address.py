"""Tell local paths from URLs of buckets, and join addresses. No other module makes this distinction by itself."""

from __future__ import annotations

from pathlib import Path

S3 = ("s3://", "s3a://")


def is_url(address: str) -> bool:
    """Return whether an address is a URL, as opposed to a local path.

    Examples
    --------
    >>> is_url("s3://bucket/my.zarr"), is_url("results/my.zarr")
    (True, False)
    """
    return "://" in address


def join(folder: str, name: str) -> str:
    """Return the address of `name` inside a folder or bucket.

    Examples
    --------
    >>> join("s3://bucket/results", "my.zarr"), join("results/", "my.zarr")
    ('s3://bucket/results/my.zarr', 'results/my.zarr')
    """
    return f"{folder}/{name}" if is_url(folder) else str(Path(folder) / name)


def find_local_folder(address: str) -> Path:
    """Return the local folder for files that belong to an address; for a URL, the current directory.

    Examples
    --------
    >>> str(find_local_folder("results")), str(find_local_folder("s3://bucket/results"))
    ('results', '.')
    """
    return Path() if is_url(address) else Path(address)
