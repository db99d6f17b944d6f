"""Addresses of stores: paths of this machine, or URLs."""

from __future__ import annotations

S3 = ("s3://", "s3a://")


def is_url(text: str) -> bool:
    """Whether a place is no path of this machine."""
    return "://" in text
