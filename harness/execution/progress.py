"""Report the progress of a run: a bar on a terminal or in a notebook, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from harness.core.text import format_duration, format_rate
from harness.display.notebook import LiveOutput, is_notebook
from harness.display.parts import Displayed, Part, format_html, format_text

if TYPE_CHECKING:
    from harness.core.types import Unit
    from harness.planning.plan import Plan


_MOST_NOTES = 50
"""Number of notes that a notebook shows: each update sends all of them again."""


class Progress(Protocol):
    """Interface through which a run reports its progress."""

    def start(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        """Start reporting on a plan, or on some of its units if more may be wanted later."""
        ...

    def extend(self, units: Sequence[Unit]) -> None:
        """Report on more units of the plan."""
        ...

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """Report a completed unit, its failed cells and the seconds that it took."""
        ...

    def note(self, text: str) -> None:
        """Show a message to the user."""
        ...

    def finish(self) -> None:
        """Stop reporting."""
        ...


class SilentProgress:
    """Report nothing."""

    def start(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        """Start reporting on a plan, or on some of its units."""

    def extend(self, units: Sequence[Unit]) -> None:
        """Report on more units of the plan."""

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """Report a completed unit, its failed cells and the seconds that it took."""

    def note(self, text: str) -> None:
        """Show a message to the user."""

    def finish(self) -> None:
        """Stop reporting."""


class ProgressCounter:
    """Count completed work, with units weighted by their planned seconds."""

    def __init__(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        self._cost, self._replications = plan.seconds_of, plan.replications_of
        self._known: set[str] = set()
        self._planned, self.replications = 0.0, 0
        self.extend(plan.units if units is None else units)
        self.done = 0.0
        self.count = 0
        self.failed = 0
        self._start: float | None = None

    @property
    def total(self) -> float:
        """Planned seconds of all units."""
        return self._planned or 1.0

    def extend(self, units: Iterable[Unit]) -> None:
        """Count more units; those that are counted already aren't counted again."""
        for unit in units:
            if unit.name not in self._known:
                self._known.add(unit.name)
                self._planned += self.get_cost(unit)
                self.replications += self._replications[unit.name]

    def get_cost(self, unit: Unit) -> float:
        """Return the planned seconds of a unit."""
        return self._cost[unit.name]

    def add(self, unit: Unit, failed: int, seconds: float) -> None:
        """Count a completed unit that took `seconds`.

        The clock starts when the first unit started, to leave out the start-up of workers.
        """
        if self._start is None:
            self._start = monotonic() - seconds
        self.extend([unit])  # it may have been computed in advance
        self.done += self.get_cost(unit)
        self.count += self._replications[unit.name]
        self.failed += failed

    @property
    def rate(self) -> float:
        """Replications per second."""
        return self.count / max(self._elapsed, 1e-9)

    @property
    def left(self) -> float:
        """Estimated seconds until the end, from the speed so far; NaN before the first unit."""
        return self._elapsed * (self.total - self.done) / self.done if self.done else float("nan")

    @property
    def _elapsed(self) -> float:
        return 0.0 if self._start is None else monotonic() - self._start

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, the rate and the time left as plain values."""
        return {
            "replications": self.count,
            "of": self.replications,
            "share": self.done / self.total,
            "rate": round(self.rate, 3),
            "left": round(self.left, 1) if self.done else None,
            "failed": self.failed,
        }

    def format_line(self) -> str:
        """Format the counts, the rate and the time left as one line."""
        failed = f", {self.failed} cells failed" if self.failed else ""
        return (
            f"{self.done / self.total:4.0%}  {self.count} of {self.replications} replications, "
            f"{format_rate(self.rate)}, {format_duration(self.left)} left{failed}"
        )


class Lines:
    """Print a plain line from time to time, for output to a file or a pipe."""

    def __init__(self, every: float = 5.0) -> None:
        self._every, self._next, self._printed = every, 0.0, 0
        self._counter: ProgressCounter | None = None

    def start(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        """Start reporting on a plan, or on some of its units."""
        self._counter, self._next = ProgressCounter(plan, units), monotonic() + self._every

    def extend(self, units: Sequence[Unit]) -> None:
        """Report on more units of the plan."""
        assert self._counter is not None
        self._counter.extend(units)

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """Report a completed unit, its failed cells and the seconds that it took."""
        assert self._counter is not None
        self._counter.add(unit, failed, seconds)
        if monotonic() >= self._next:
            self._print()
            self._next = monotonic() + self._every

    def note(self, text: str) -> None:
        """Show a message to the user."""
        print(text, file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Stop reporting."""
        if self._counter is not None and self._counter.count != self._printed:
            self._print()

    def _print(self) -> None:
        assert self._counter is not None
        print(self._counter.format_line(), file=sys.stderr, flush=True)
        self._printed = self._counter.count


class Bar:
    """Show a progress bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Rich, TextColumn

        columns = (BarColumn(40), TextColumn("{task.description}"))
        self._rich = Rich(*columns, console=Console(stderr=True), transient=False)
        self._counter: ProgressCounter | None = None

    def start(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        """Start reporting on a plan, or on some of its units."""
        self._counter = ProgressCounter(plan, units)
        self._task = self._rich.add_task("starting workers …", total=self._counter.total)
        if plan.units:
            self._rich.start()

    def extend(self, units: Sequence[Unit]) -> None:
        """Report on more units of the plan."""
        assert self._counter is not None
        self._counter.extend(units)
        self._rich.update(self._task, total=self._counter.total)

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """Report a completed unit, its failed cells and the seconds that it took."""
        assert self._counter is not None
        self._counter.add(unit, failed, seconds)
        self._rich.update(self._task, completed=self._counter.done, description=self._counter.format_line())

    def note(self, text: str) -> None:
        """Show a message to the user."""
        self._rich.console.print(text)

    def finish(self) -> None:
        """Stop reporting."""
        self._rich.stop()


class NotebookBar(Lines):
    """Show a progress bar in a notebook, in one output that is updated in place.

    Parameters
    ----------
    every : float
        Least seconds between two updates after completed units: a front end redraws each of them.
    """

    def __init__(self, every: float = 0.5) -> None:
        super().__init__(every)
        self._output, self._notes = LiveOutput(), deque[str](maxlen=_MOST_NOTES)

    def start(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        """Start reporting on a plan, or on some of its units."""
        super().start(plan, units)
        if plan.units:
            self._print()

    def note(self, text: str) -> None:
        """Show a message to the user, below the bar."""
        self._notes.append(text)
        self._print()

    def show_outcome(self, outcome: Displayed) -> None:
        """Show the outcome of the run in place of the bar."""
        self._show(outcome.list_parts())

    def _print(self) -> None:
        counter = self._counter
        if counter is None:  # a note before the start
            self._show([])
            return
        share = counter.done / counter.total
        bar = f'<progress value="{share:.4f}" max="1" aria-label="share of the run that is done"></progress>'
        self._show([counter.format_line() if counter.count else "starting workers …"], bar)
        self._printed = counter.count

    def _show(self, parts: Sequence[Part], above: str = "") -> None:
        shown = [*parts, *self._notes]
        self._output.show(format_text(shown), format_html(shown, above))


def choose_progress() -> Progress:
    """Return a progress bar in a notebook or if stderr is a terminal, plain lines otherwise."""
    if is_notebook():
        return NotebookBar()
    return Bar() if sys.stderr.isatty() else Lines()
