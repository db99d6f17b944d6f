"""Run studies from Python: the public functions of the harness, in one namespace.

>>> from ckrr import study
>>> study.plan("quickstart")["scenario"]
'quickstart'

`study.run` computes what is missing of a scenario and returns the cube; `study.graph` is the same work as a Dask graph.
`study.estimate`, `study.verdicts` and `study.table` summarise the results, and `study.check` says whether coverage is
kept. This is the only module of `ckrr` that imports the harness, and it does so on first use.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness import (
        ClusterError,
        UserError,
        check,
        difference,
        estimate,
        export,
        graph,
        open_cube,
        open_replications,
        plan,
        precision,
        procedure,
        run,
        status,
        table,
        verdicts,
        write_report,
    )

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


def __getattr__(name: str) -> Any:
    """Import a public name of the harness on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'ckrr.study' has no attribute {name!r}")
    import harness

    if Path(str(harness.__file__)).parents[1] != Path(__file__).parents[1]:
        raise ImportError(f"the package 'harness' that Python finds is not a part of ckrr: {harness.__file__} hides it")
    return getattr(harness, name)


def __dir__() -> list[str]:
    return __all__
