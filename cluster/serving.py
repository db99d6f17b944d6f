"""A scheduler in this process, for workers elsewhere."""

from __future__ import annotations

from typing import Any

from distributed.security import Security
from distributed.utils import get_ip_interface

from cluster.encryption import security
from cluster.reading import Wrong
from cluster.spec import LOOPBACK, Listening

QUIET = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0")
"""For workers: without the address their web server, which stays, listens everywhere."""


def is_beyond(file: Listening) -> bool:
    """Whether others than this machine can reach the file's interface."""
    try:
        return not str(get_ip_interface(file.interface)).startswith("127.")
    except ValueError as error:
        raise Wrong(file.where, f"interface names {file.interface!r}, which isn't here: {error}") from None


def security_of(file: Listening) -> Security | None:
    """TLS wherever others can reach us, unless the file says no."""
    return security(file, is_beyond(file))


def scheduler_options(file: Listening, secure: Security | None) -> dict[str, Any]:
    """It listens where the file says, and its dashboard on loopback."""
    return {
        "interface": file.interface,
        "port": 0,
        "protocol": "tls://" if secure else "tcp://",
        "security": secure,
        "dashboard_address": f"{LOOPBACK}:0",
    }
