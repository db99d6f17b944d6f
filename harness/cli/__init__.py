"""The command `ckrr`. Commands import what they need when they run, so that `ckrr status` starts quickly."""

from __future__ import annotations

import click

from harness.cli import check, export, follow, inspect, paper, run, start
from harness.cli.common import Commands
from harness.core.processes import limit_garbage_collection


@click.group("ckrr", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ckrr")
def main() -> None:
    """Run simulation studies of prediction intervals: from a scenario file to an xarray cube of coverage and width."""
    limit_garbage_collection()


for command in (
    run.run,
    run.plan,
    follow.status,
    follow.submit,
    follow.logs,
    follow.cancel,
    inspect.table,
    inspect.figure,
    inspect.report,
    check.check,
    export.export,
    inspect.errors,
    inspect.replay,
    inspect.merge,
    paper.paper,
    start.list_,
    start.new,
):
    main.add_command(command)
