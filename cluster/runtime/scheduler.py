"""A scheduler in this process, for workers elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from distributed.security import Security
from distributed.utils import get_ip_interface

from cluster.config.load import Wrong
from cluster.config.spec import LOOPBACK, Listening, Started
from cluster.runtime.settings import SETTINGS, no_web_server
from cluster.runtime.tls import security

NEEDS_BOKEH = "dashboard = true needs bokeh: pip install 'ckrr[dashboard]'"
QUIET = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0")
"""For workers elsewhere: without the address their web server listens everywhere, until it is closed (`EXPORTS`)."""


def dask_settings(file: Started, *modules: str) -> dict[str, object]:
    """Return the settings of Dask for a cluster that a file describes.

    Workers have no web server, and schedulers have one if the file says `dashboard = true`.

    Parameters
    ----------
    file : Started
        The cluster file.
    *modules : str
        Modules that workers load when they start, for their `dask_setup`.
    """
    scheduler = {} if file.dashboard else no_web_server("scheduler")
    return SETTINGS | scheduler | no_web_server("worker", *modules)


def check_dashboard(file: Started) -> None:
    """Refuse a dashboard that can't be shown."""
    if file.dashboard and find_spec("bokeh") is None:
        raise Wrong(file.where, NEEDS_BOKEH)


def tell_dashboard(file: Started, cluster: Any, note: Callable[[str], None]) -> None:
    """Say where the dashboard is, if there is one."""
    if file.dashboard:
        port = cluster.scheduler_info["services"]["dashboard"]
        note(f"dashboard: http://{LOOPBACK}:{port}/status (it has no login: all users of this machine can see it)")


def security_of(file: Listening) -> Security | None:
    """Return the certificates of a cluster whose workers are elsewhere, after checking that its network is here."""
    try:
        get_ip_interface(file.interface)
    except ValueError as error:
        raise Wrong(file.where, f"interface names {file.interface!r}, which isn't here: {error}") from None
    return security(file)


def scheduler_options(file: Listening, secure: Security | None) -> dict[str, Any]:
    """It listens where the file says, and its dashboard on loopback."""
    return {
        "interface": file.interface,
        "port": 0,
        "protocol": "tls://" if secure else "tcp://",
        "security": secure,
        "dashboard": file.dashboard,
        "dashboard_address": f"{LOOPBACK}:0",
    }
