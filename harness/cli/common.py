"""What commands share: their options, how mistakes are told, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click

from harness.core.text import escape
from harness.execution.interrupts import exit_immediately

EXIT_FAILED, EXIT_USER_ERROR, EXIT_CLUSTER = 1, 2, 3

scenarios_argument = click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
store_option = click.option("--store", metavar="URL", help="Where results go. [default: results/NAME.zarr]")
settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override, as grid.n=[25,50]."
)
workers_option = click.option("--workers", type=click.IntRange(min=1), help="Processes. [default: one a core]")
cluster_option = click.option("--cluster", metavar="FILE", help="A cluster file, as local.toml or slurm.toml.")
where_option = click.option(
    "--where", multiple=True, metavar="AXIS=VALUES", help="Only these, as n=100,400,alpha=0.05."
)
accept_changed_option = click.option(
    "--accept-changed-source",
    "accept_changed",
    is_flag=True,
    help="Go on although a file of the source was edited: you vouch that it gives the same numbers.",
)
retry_option = click.option("--retry-failed", "retry", is_flag=True, help="Do again what failed in earlier runs.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Print text, with control characters escaped: it may come from a stranger's store."""
    click.echo(escape(text), err=err, nl=nl)


class Commands(click.Group):
    """A group whose words, if they are mistaken, are told of in a line as all mistakes are."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """For what stands before the command."""
        with _report_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """For the command's own."""
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
        echo(f"error: {error.format_message()} `{command} --help` says more", err=True)
        sys.exit(EXIT_USER_ERROR)


def user_errors(command: Callable[..., int | None]) -> Callable[..., NoReturn]:
    """A user's mistake is told in a line, never with a traceback; what a command returns is its exit code."""

    @wraps(command)
    def outer(*args: Any, **kwargs: Any) -> NoReturn:
        from harness.core.errors import UserError
        from harness.core.packaged import check_packages

        try:
            check_packages()
            sys.exit(command(*args, **kwargs) or 0)
        except UserError as mistake:
            for line in str(mistake).splitlines():
                echo(f"error: {line}", err=True)
            sys.exit(EXIT_USER_ERROR)
        except BrokenPipeError:  # whoever read our output has enough of it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
                "error: this needs more memory than there is: choose less with --where, or use a larger machine",
                err=True,
            )
            sys.exit(EXIT_USER_ERROR)

    return outer


def shorten_path(url: str) -> str:
    """As short as it can be typed here."""
    path = Path(url)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else url
