"""Configure the scheduler in this process: Dask settings, dashboard, and the network for remote workers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from distributed.security import Security
from distributed.utils import get_ip_interface

from cluster.config.base import LOOPBACK, ManagedClusterFile, RemoteClusterFile
from cluster.config.files import ClusterFileError
from cluster.runtime.settings import SETTINGS, make_no_web_settings
from cluster.runtime.tls import make_security

NEEDS_BOKEH = "dashboard = true needs bokeh: pip install 'ckrr[dashboard]'"
QUIET = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0")
"""Options of remote workers. Without the address, their web server listens everywhere until closed (`EXPORTS`)."""


def make_dask_settings(file: ManagedClusterFile, *modules: str) -> dict[str, object]:
    """Return the Dask settings for the cluster that a file describes.

    Workers have no web server; the scheduler has one only if the file says `dashboard = true`.

    Parameters
    ----------
    file : ManagedClusterFile
        The cluster file.
    *modules : str
        Modules whose `dask_setup` workers call when they start.
    """
    scheduler = {} if file.dashboard else make_no_web_settings("scheduler")
    return SETTINGS | scheduler | make_no_web_settings("worker", *modules)


def check_dashboard(file: ManagedClusterFile) -> None:
    """Raise `ClusterFileError` if a dashboard is requested but bokeh is not installed."""
    if file.dashboard and find_spec("bokeh") is None:
        raise ClusterFileError(file.where, NEEDS_BOKEH)


def announce_dashboard(file: ManagedClusterFile, cluster: Any, note: Callable[[str], None]) -> None:
    """Tell the user the address of the dashboard, if there is one."""
    if file.dashboard:
        port = cluster.scheduler_info["services"]["dashboard"]
        note(f"dashboard: http://{LOOPBACK}:{port}/status (it has no login: all users of this machine can see it)")


def make_remote_security(file: RemoteClusterFile) -> Security | None:
    """Check that the network interface exists, and return the certificates of a cluster with remote workers."""
    try:
        get_ip_interface(file.interface)
    except ValueError as error:
        raise ClusterFileError(file.where, f"interface names {file.interface!r}, which isn't found: {error}") from None
    return make_security(file)


def make_scheduler_options(file: RemoteClusterFile, secure: Security | None) -> dict[str, Any]:
    """Return the options of the scheduler: it listens on the file's interface, its dashboard on loopback."""
    return {
        "interface": file.interface,
        "port": 0,
        "protocol": "tls://" if secure else "tcp://",
        "security": secure,
        "dashboard": file.dashboard,
        "dashboard_address": f"{LOOPBACK}:0",
    }
