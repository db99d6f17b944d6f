"""Dask settings for the clusters that we start."""

from __future__ import annotations

import shlex

import dask

from cluster.runtime.children import MALLOC

_FAILURE_SETTINGS = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
"""The death of a worker counts at once as a failure of its task; a worker has one task only, so no other is blamed."""
_MEMORY_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.system-monitor.log-length": 240,
}
"""Shorten Dask's diagnostics (a thousand messages per worker, profiles of the last quarter of an hour): unused here,
they would grow to tens of megabytes in the driver and in each worker."""


def make_no_web_settings(who: str, *modules: str) -> dict[str, object]:
    """Return Dask settings with which a "scheduler" or "worker" serves no web pages.

    Dask always starts a web server, which has one page even without routes: a preload module closes it. Preload
    modules in the user's Dask settings are loaded before it, and `modules` after it.
    """
    loaded = [*dask.config.get(f"distributed.{who}.preload"), "cluster.runtime.close_web_server", *modules]
    return {f"distributed.{who}.http.routes": [], f"distributed.{who}.preload": loaded}


def _make_variable_name(key: str) -> str:
    """Return the environment variable from which Dask reads a setting."""
    return f"DASK_{key.upper().replace('.', '__').replace('-', '_')}"


_MALLOC_SETTINGS = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in MALLOC.items()}
SETTINGS: dict[str, object] = {**_FAILURE_SETTINGS, **_MEMORY_SETTINGS, **_MALLOC_SETTINGS}
"""Dask settings for the schedulers and workers that we start; local processes inherit them."""
EXPORTS = (
    *(
        f"export {_make_variable_name(key)}={shlex.quote(str(value))}"
        for key, value in {**_MEMORY_SETTINGS, **make_no_web_settings("worker")}.items()
    ),
    *(f'export {name}="${{{name}:-{value}}}"' for name, value in MALLOC.items()),
)
"""Shell lines with the settings that remote workers need; a nanny prefers variables to Dask's settings."""
