"""Progress that keeps its notes."""

from __future__ import annotations

from harness.execution.progress import SilentProgress


class Noted(SilentProgress):
    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def note(self, text: str) -> None:
        self._notes.append(text)
