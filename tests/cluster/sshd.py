"""A real OpenSSH server on loopback, for as long as a test needs it, with keys and a port of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.listening import free_port, until

PROGRAMS = ("sshd", "ssh-keygen")


def missing() -> str | None:
    """Why there can be no server here; None if there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"an SSH server can't be started: {', '.join(lacking)} isn't installed"
    return None if os.geteuid() == 0 else "an SSH server is started by root alone here"


@dataclass(frozen=True)
class Server:
    """One that runs."""

    folder: Path
    port: int

    def options(self) -> str:
        """How to log in, as lines of a cluster file."""
        return (
            f'username = "{getpass.getuser()}"\nport = {self.port}\nclient_keys = ["{self.folder}/key"]\n'
            f'known_hosts = "{self.folder}/known_hosts"\n'
        )


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """A server whose only user is who has the key."""
    folder.mkdir(parents=True)
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = free_port()
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "unknown_hosts").write_text("")
    (folder / "config").write_text(_config(folder, port))
    Path("/run/sshd").mkdir(exist_ok=True)
    command = [str(shutil.which("sshd")), "-D", "-e", "-f", str(folder / "config")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            until(lambda: "Server listening" in (folder / "log").read_text())
            yield Server(folder, port)
        finally:
            process.terminate()
            process.wait()


def _config(folder: Path, port: int) -> str:
    lines = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": folder / "pid",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
    }
    return "".join(f"{key} {value}\n" for key, value in lines.items())
