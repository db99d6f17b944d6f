"""Following a study from anywhere that sees its store: a line that changes on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from harness.core.text import escape_line
from harness.monitor.state import status
from harness.monitor.text import format_status_line

_LOOK, _LINE = 2.0, 15.0
"""Seconds between two looks, and between two lines where there is no terminal."""


def watch(store: str, say: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Until nobody is at work on it any more; its state then."""
    tell, due = say or _print_line, 0.0
    while (facts := status(store))["at_work"]:
        if monotonic() >= due:
            tell(format_status_line(facts))
            due = monotonic() + (_LOOK if sys.stderr.isatty() else _LINE)
        sleep(_LOOK)
    if say is None and sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # whoever asked says how it ended
    return facts


def _print_line(text: str) -> None:
    """On a terminal the line is written anew."""
    text = escape_line(text)
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
