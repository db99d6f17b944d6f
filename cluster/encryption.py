"""TLS: who hasn't the certificate is turned away. Who reaches an open port of Dask can run code."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed.security import Security

from cluster.reading import Wrong
from cluster.spec import Encrypted

_ROLES = ("client", "scheduler", "worker")


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
    return _from(*file.tls_files)


def _from(authority: str, cert: str, key: str) -> Security:
    roles = {f"tls_{role}_{part}": path for role in _ROLES for part, path in (("cert", cert), ("key", key))}
    return Security(require_encryption=True, tls_ca_file=authority, **roles)


def temporary(file: Encrypted) -> Security:
    """An authority of its own, in memory alone."""
    try:
        made: Security = Security.temporary()
        return made
    except ImportError:
        hint = "install it (pip install cryptography), name files of your own (tls_ca_file, tls_cert, tls_key)"
        raise Wrong(file.where, f"tls needs the package cryptography: {hint}, or say tls = false") from None


@contextmanager
def shared(secure: Security | None, folder: str) -> Iterator[Security | None]:
    """With certificates as files that other nodes see; those of drivers that were killed are removed."""
    if secure is None:
        yield None
        return
    parent = Path(folder).expanduser()
    mine = f"tls-{platform.node()}-"
    for old in parent.glob(f"{mine}*"):
        pid = old.name.removeprefix(mine)
        if not (pid.isdigit() and _is_alive(int(pid))):
            shutil.rmtree(old, ignore_errors=True)
    here = parent / f"{mine}{os.getpid()}"
    here.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield _from(*(_written(here / f"{part}.pem", secure, part) for part in ("ca_file", "cert", "key")))
    finally:
        shutil.rmtree(here, ignore_errors=True)


def _written(path: Path, secure: Security, part: str) -> str:
    """One that is in memory alone, as a file; the path of one that is in a file."""
    text = str(secure.get_tls_config_for_role("worker")[part])
    if "\n" not in text:
        return text
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(text)
    return str(path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
