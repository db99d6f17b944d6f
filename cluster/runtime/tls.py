"""Create and share TLS certificates: without TLS, anyone who reaches a port of Dask can run code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed.security import Security

from cluster.config.base import SecureClusterFile
from cluster.config.files import ClusterFileError
from cluster.runtime.private import PrivateDirectory, private_directory

_ROLES = ("client", "scheduler", "worker")


def make_security(file: SecureClusterFile) -> Security | None:
    """Return the certificates for a cluster that we start; None if its file says `tls = false`."""
    if file.tls_files is not None:
        return load_security(file)
    return make_temporary_security(file) if file.tls else None


def load_security(file: SecureClusterFile) -> Security | None:
    """Return the certificates from the files that a cluster file names, for all roles; None if it names none."""
    if file.tls_files is None:
        return None
    for key, path in zip(("tls_ca_file", "tls_cert", "tls_key"), file.tls_files, strict=True):
        if not Path(path).is_file():
            raise ClusterFileError(file.where, f"{key} names {path}, which doesn't exist")
    return _make_from_files(*file.tls_files)


def _make_from_files(authority: str, cert: str, key: str) -> Security:
    roles = {f"tls_{role}_{part}": path for role in _ROLES for part, path in (("cert", cert), ("key", key))}
    return Security(require_encryption=True, tls_ca_file=authority, **roles)


def make_temporary_security(file: SecureClusterFile) -> Security:
    """Create a certificate authority for this run, kept in memory only."""
    try:
        made: Security = Security.temporary()
        return made
    except ImportError:
        hint = "install it (pip install cryptography), name your own files (tls_ca_file, tls_cert, tls_key)"
        raise ClusterFileError(file.where, f"tls needs the package cryptography: {hint}, or say tls = false") from None


@contextmanager
def share_security(secure: Security | None, folder: str, where: str) -> Iterator[Security | None]:
    """Write certificates to a private directory that other nodes see, and remove them at the end.

    Parameters
    ----------
    secure : Security or None
        The certificates, in memory or in files. Those in files stay where they are.
    folder : str
        A directory that all nodes see. It is created if it doesn't exist.
    where : str
        The cluster file that names the folder, for messages.

    Yields
    ------
    Security or None
        The same certificates, all of them as files.
    """
    if secure is None:
        yield None
        return
    parent = Path(folder).expanduser()
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ClusterFileError(
            where, f"shared_temp_directory names {parent}, which can't be made: {error.strerror}"
        ) from None
    with private_directory(parent, where) as directory:
        yield _make_from_files(*(_ensure_file(directory, secure, part) for part in ("ca_file", "cert", "key")))


def _ensure_file(directory: PrivateDirectory, secure: Security, part: str) -> str:
    """Return the path of a certificate or key, after writing it to a file if it is only in memory."""
    text = str(secure.get_tls_config_for_role("worker")[part])
    return str(directory.write(f"{part}.pem", text)) if "\n" in text else text
