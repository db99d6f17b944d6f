"""Run simulation studies on Dask: scenario → plan → tasks → Zarr cube → tables, figures and a report.

`run`, `plan`, `status` and `check` are commands of the command line, from Python. `graph` is a study as a Dask graph,
to compute with other work. `open_cube` and `open_replications` open results with xarray. `estimate`, `difference`,
`verdicts`, `precision`, `table` and `write_report` say what came out, and `export` writes it to files for other
programs. `procedure` makes a function a procedure of scenarios. User code imports them from `ckrr.study`.
"""

from typing import TYPE_CHECKING

from harness.lazy import attach as _attach

if TYPE_CHECKING:
    from harness.api import graph, plan, run
    from harness.core.errors import ClusterError, UserError
    from harness.cube.reader import open_cube
    from harness.cube.replications import open_replications
    from harness.families.functions import procedure
    from harness.interchange.write import export
    from harness.monitor.state import status
    from harness.report.write import write_report
    from harness.results.check import check
    from harness.results.estimates import difference, estimate
    from harness.results.required_paths import precision
    from harness.results.studies.tables import table
    from harness.results.validity import verdicts

__all__ = [
    "ClusterError",
    "UserError",
    "check",
    "difference",
    "estimate",
    "export",
    "graph",
    "open_cube",
    "open_replications",
    "plan",
    "precision",
    "procedure",
    "run",
    "status",
    "table",
    "verdicts",
    "write_report",
]

_HOMES = {
    "ClusterError": "harness.core.errors",
    "UserError": "harness.core.errors",
    "check": "harness.results.check",
    "difference": "harness.results.estimates",
    "estimate": "harness.results.estimates",
    "export": "harness.interchange.write",
    "graph": "harness.api",
    "open_cube": "harness.cube.reader",
    "open_replications": "harness.cube.replications",
    "plan": "harness.api",
    "precision": "harness.results.required_paths",
    "procedure": "harness.families.functions",
    "run": "harness.api",
    "status": "harness.monitor.state",
    "table": "harness.results.studies.tables",
    "verdicts": "harness.results.validity",
    "write_report": "harness.report.write",
}
__getattr__, __dir__ = _attach(__name__, _HOMES)
