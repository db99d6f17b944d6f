"""Scenario → plan → Dask tasks → Zarr cube.

`run`, `plan`, `status` and `open_cube` are the command line's commands from Python; `estimate`, `difference`,
`verdicts`, `precision` and `table` say what came out. What they need is loaded when they are first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import plan, run
    from harness.core.errors import ClusterError, UserError
    from harness.cube.reader import open_cube
    from harness.monitor.state import status
    from harness.results.estimates import difference, estimate
    from harness.results.required_paths import precision
    from harness.results.tables import table
    from harness.results.validity import verdicts

__all__ = [
    "ClusterError",
    "UserError",
    "difference",
    "estimate",
    "open_cube",
    "plan",
    "precision",
    "run",
    "status",
    "table",
    "verdicts",
]

_HOMES = {
    "run": "harness.api",
    "plan": "harness.api",
    "status": "harness.monitor.state",
    "open_cube": "harness.cube.reader",
    "UserError": "harness.core.errors",
    "estimate": "harness.results.estimates",
    "difference": "harness.results.estimates",
    "precision": "harness.results.required_paths",
    "table": "harness.results.tables",
    "verdicts": "harness.results.validity",
    "ClusterError": "harness.core.errors",
}


def __getattr__(name: str) -> Any:
    """Loads a call when it is first asked for."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
