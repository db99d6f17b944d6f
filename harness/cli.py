"""The command line. What a command needs is loaded when it runs, so that `ckrr status` starts at once."""

from __future__ import annotations

import click

from harness.brief import brief
from harness.commands import beginning, following, looking, paper, running
from harness.commands.common import Commands


@click.group("ckrr", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ckrr")
def main() -> None:
    """Simulation studies of prediction intervals: scenario files in, an xarray cube of coverage and widths out."""
    brief()


for command in (
    running.run,
    running.plan,
    following.status,
    following.submit,
    following.logs,
    following.cancel,
    looking.table,
    looking.figure,
    looking.report,
    looking.errors,
    looking.replay,
    looking.merge,
    paper.paper,
    beginning.list_,
    beginning.new,
):
    main.add_command(command)


if __name__ == "__main__":
    main()
