"""TLS: who hasn't the certificate is turned away. Who reaches an open port of Dask can run code."""

from __future__ import annotations

from pathlib import Path

from distributed.security import Security

from cluster.reading import Wrong
from cluster.spec import Encrypted


def security(file: Encrypted, beyond: bool = False) -> Security | None:
    """As the file says; if it says nothing, on where anything listens `beyond` loopback."""
    if file.tls_files is not None:
        return given(file)
    return temporary(file) if file.tls or (file.tls is None and beyond) else None


def given(file: Encrypted) -> Security | None:
    """From the files that are named, for scheduler, workers and clients alike."""
    if file.tls_files is None:
        return None
    for key, path in zip(("tls_ca_file", "tls_cert", "tls_key"), file.tls_files, strict=True):
        if not Path(path).is_file():
            raise Wrong(file.where, f"{key} names {path}, which isn't there")
    authority, cert, key = file.tls_files
    roles = {f"tls_{role}_{part}": path for role in _ROLES for part, path in (("cert", cert), ("key", key))}
    return Security(require_encryption=True, tls_ca_file=authority, **roles)


_ROLES = ("client", "scheduler", "worker")


def temporary(file: Encrypted) -> Security:
    """An authority of its own, in memory alone."""
    try:
        made: Security = Security.temporary()
        return made
    except ImportError:
        hint = "install it (pip install cryptography), name files of your own (tls_ca_file, tls_cert, tls_key)"
        raise Wrong(file.where, f"tls needs the package cryptography: {hint}, or say tls = false") from None
