"""Follow a run from any machine that can read the store: one updating line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic, sleep

from harness.core.text import escape_line
from harness.monitor.state import status
from harness.monitor.text import StatusFacts, format_status_line

_LOOK, _LINE = 2.0, 15.0
"""Seconds between two status checks, and between two lines if stderr is not a terminal."""


def watch(store: str, say: Callable[[str], None] | None = None) -> StatusFacts:
    """Report the progress of a store until no run is active, and return its final status.

    Parameters
    ----------
    store : str
        URL of the store, or a scenario.
    say : callable, optional
        Receives the status lines. Default: print them to stderr.
    """
    tell, due = say or _print_line, 0.0
    while (facts := status(store))["at_work"]:
        if monotonic() >= due:
            tell(format_status_line(facts))
            due = monotonic() + (_LOOK if sys.stderr.isatty() else _LINE)
        sleep(_LOOK)
    if say is None and sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the caller prints the final status
    return facts


def _print_line(text: str) -> None:
    """Print a status line; on a terminal it replaces the previous one."""
    text = escape_line(text)
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
