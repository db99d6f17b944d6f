"""A real Jupyter kernel, as a notebook has one, and what it displays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.house import ROOT

SECONDS = 120


@dataclass
class Cell:
    """What a cell of a notebook has shown."""

    states: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """Contents of each output that is updated in place, from the first to the last."""
    results: list[dict[str, str]] = field(default_factory=list)
    """Other outputs: text and HTML of the cell's last expression."""
    printed: str = ""
    error: str = ""

    def hear(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind in ("display_data", "update_display_data"):
            name = content["transient"]["display_id"]
            assert (name in self.states) == (kind == "update_display_data")
            self.states.setdefault(name, []).append(content["data"])
        elif kind == "execute_result":
            self.results.append(content["data"])
        elif kind == "stream":
            self.printed += content["text"]
        elif kind == "error":
            self.error = f"{content['ename']}: {content['evalue']}"


@dataclass(frozen=True)
class Notebook:
    """A kernel that runs cells one after the other."""

    manager: KernelManager
    client: BlockingKernelClient

    def run(self, code: str, is_enough: Callable[[Cell], bool] = lambda cell: False) -> Cell:
        """Run a cell, which may fail. The kernel is interrupted once what it has shown is enough."""
        cell, interrupted = Cell(), list[bool]()

        def hear(message: dict[str, Any]) -> None:
            cell.hear(message)
            if not interrupted and is_enough(cell):
                interrupted.append(True)
                self.manager.interrupt_kernel()

        self.client.execute_interactive(code, output_hook=hear, timeout=SECONDS)
        return cell


@contextmanager
def open_notebook(folder: Path) -> Iterator[Notebook]:
    """Start a kernel in a folder, without the user's settings, and end it."""
    manager = KernelManager()
    variables = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "IPYTHONDIR": str(folder / "ipython")}
    manager.start_kernel(cwd=str(folder), env={**os.environ, **variables})
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=SECONDS)
        yield Notebook(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
