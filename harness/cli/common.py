"""Options, error reporting and exit codes shared by all commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from harness.core.text import escape
from harness.execution.interrupts import exit_immediately

Item = TypeVar("Item")
EXIT_FAILED, EXIT_USER_ERROR, EXIT_CLUSTER, EXIT_UNDECIDED = 1, 2, 3, 4

scenarios_argument = click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
store_option = click.option("--store", metavar="URL", help="Store for the results. [default: results/NAME.zarr]")
settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a scenario key, e.g. grid.n=[25,50]."
)
workers_option = click.option("--workers", type=click.IntRange(min=1), help="Worker processes. [default: one per core]")
cluster_option = click.option("--cluster", metavar="FILE", help="Cluster file, e.g. local.toml or slurm.toml.")
where_option = click.option(
    "--where", multiple=True, metavar="AXIS=VALUES", help="Select values, e.g. n=100,400,alpha=0.05."
)
accept_changed_option = click.option(
    "--accept-changed-source",
    "accept_changed",
    is_flag=True,
    help="Accept an edited file of the source: you vouch that it gives the same numbers.",
)
retry_option = click.option("--retry-failed", "retry", is_flag=True, help="Recompute what failed in earlier runs.")
until_option = click.option(
    "--until",
    multiple=True,
    metavar="AIM",
    help="Add paths until every cell is decided (verdict), or se=0.002 or width=0.02 is reached; may be repeated.",
    callback=lambda context, option, values: ",".join(values) or None,
)
budget_option = click.option("--budget", type=click.IntRange(min=1), metavar="PATHS", help="Most paths, with --until.")
design_option = click.option(
    "--design",
    type=click.Choice(["fixed", "anytime"]),
    help="Judge once, or so that verdicts hold however often somebody looks. [default: as the study was run]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Print text with control characters escaped, since it may come from an untrusted store."""
    click.echo(escape(text), err=err, nl=nl)


def discard_output() -> None:
    """Discard further output, after its reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(click.Group):
    """Click group that reports usage errors in one line, like all other errors."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the options before the command."""
        with _report_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse the command's own options, and run it."""
        with _report_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _report_usage_errors() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = "ckrr" if error.ctx is None else error.ctx.command_path
        echo(f"error: {error.format_message()} See `{command} --help`", err=True)
        sys.exit(EXIT_USER_ERROR)


def user_errors(command: Callable[..., int | None]) -> Callable[..., NoReturn]:
    """Decorate a command: print errors of the user without a traceback, and exit with the code that it returns."""

    @wraps(command)
    def outer(*args: Any, **kwargs: Any) -> NoReturn:
        from harness.core.errors import UserError
        from harness.core.packaged import check_packages

        try:
            check_packages()
            sys.exit(command(*args, **kwargs) or 0)
        except UserError as mistake:
            _report_mistake(mistake)
            sys.exit(EXIT_USER_ERROR)
        except BrokenPipeError:  # the reader of our output has closed the pipe
            discard_output()
            sys.exit(0)
        except KeyboardInterrupt as interrupt:
            echo(str(interrupt) or "stopped", err=True)
            exit_immediately()
        except OSError as error:
            if error.filename is None and error.errno is None:
                raise
            echo(f"error: {error.filename or 'the store'}: {error.strerror}", err=True)
            sys.exit(EXIT_USER_ERROR)
        except MemoryError:
            echo(
                "error: out of memory: select less with --where, or use a machine with more memory",
                err=True,
            )
            sys.exit(EXIT_USER_ERROR)

    return outer


def _report_mistake(mistake: Exception) -> None:
    for line in str(mistake).splitlines():
        echo(f"error: {line}", err=True)


def try_each(items: Iterable[Item], action: Callable[[Item], int | None], goes_on: bool) -> int:
    """Call a function for each item, and return the worst exit code.

    Parameters
    ----------
    items : iterable
        Arguments of the calls.
    action : callable
        Returns an exit code, or None for 0.
    goes_on : bool
        Whether to print an error of the user and to go on with the next item, as for the scenarios of a suite.
    """
    from harness.core.errors import UserError

    worst = 0
    for each in items:
        try:
            worst = max(worst, action(each) or 0)
        except UserError as mistake:
            if not goes_on:
                raise
            _report_mistake(mistake)
            worst = max(worst, EXIT_USER_ERROR)
    return worst


def shorten_path(url: str) -> str:
    """Return a path relative to the current directory if it is inside it, else unchanged."""
    path = Path(url)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else url
