"""Hand out the units of a study that adds paths until it is decided.

What is wanted at each n follows from its complete prefix of paths (`harness.cube.rounds`). Each n goes on by itself, as
soon as its round is complete. While workers would idle, they get units of the next round in advance, of the n that is
expected to need the most paths: that changes no verdict, because verdicts depend on the prefix alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from time import monotonic
from typing import Any

from harness.backends.base import Backend
from harness.core.text import format_count
from harness.core.types import Limits, Unit, Values
from harness.cube.rounds import Answer, iter_rounds, summarise_size
from harness.execution.tasks import Task
from harness.store import arrays
from harness.store.manifest import Manifest
from harness.store.receipts import list_receipts
from harness.store.rounds import Round, count_shown_paths, count_wanted_paths, get_target, is_over, write_round

_RELIST = 5.0
"""Seconds between two listings of receipts, to see what other drivers have done."""


class RoundQueue:
    """The units of a study with `until`: a queue for executors.

    Parameters
    ----------
    backend : Backend
        The store.
    manifest : Manifest
        Its manifest.
    units : sequence of Unit
        All units within the budget that have no receipt.
    limits : mapping
        Limits of a unit, by n.
    workers : int
        Number of workers: as many units are handed out in advance.
    from_the_end : bool
        Whether to start with the last unit of a round, because another driver starts with the first.
    """

    def __init__(
        self,
        backend: Backend,
        manifest: Manifest,
        units: Sequence[Unit],
        limits: Mapping[int, Limits],
        workers: int,
        from_the_end: bool = False,
    ) -> None:
        self._backend, self._manifest, self._limits, self._workers = backend, manifest, limits, workers
        self._from_the_end = from_the_end
        self._left: dict[int, dict[str, Unit]] = {n: {} for n in limits}
        """Units without a receipt, in the order of paths, by n and name."""
        for unit in sorted(units, key=lambda one: (one.path_block, one.draw_block)):
            self._left[unit.n][unit.name] = unit
        self._waiting = {n: list(some) for n, some in self._left.items()}
        """Names of those that no worker has yet."""
        self.rounds: dict[int, Round] = {}
        """Latest round at each n."""
        self._relisted = monotonic()
        for n in limits:
            self._advance(n)

    @property
    def is_empty(self) -> bool:
        """Whether nothing more is wanted at any n."""
        return all(is_over(self._manifest, self.rounds, n) for n in self._limits)

    def list_wanted(self) -> list[Unit]:
        """Return the units that are wanted so far and have no receipt."""
        return [unit for n, some in self._left.items() for unit in some.values() if self._is_wanted(unit, n)]

    def note_done(self, unit: Unit) -> bool:
        """Note that a unit was written; return whether a round is complete by that, and more may be wanted."""
        self._left[unit.n].pop(unit.name, None)
        return self._advance(unit.n)

    def list_answers(self) -> Iterator[Answer]:
        """Yield what was found at each n that had a round."""
        for n in sorted(self.rounds):
            paths = count_shown_paths(self._backend, self._manifest, n)
            yield summarise_size(self._manifest, n, self._make_reader(n), paths)

    def count_failed(self) -> int:
        """Return the number of failed cells in units whose paths count: not in those that were computed in advance."""
        signed, total = list_receipts(self._backend, tuple(self._limits)), 0
        for n in self._limits:
            shown = count_shown_paths(self._backend, self._manifest, n)
            units = self._manifest.list_units(n, self._manifest.extent)
            names = [unit.name for unit in units if unit.paths.start < shown]
            total += sum(signed[name].failed for name in names if name in signed)
        return total

    def take(self, room: int, running: int) -> Sequence[Task]:
        """Return wanted units, the most expensive n first, and some in advance if workers would idle."""
        if running == 0 or monotonic() > self._relisted + _RELIST:
            self._relist()
        found: list[Task] = []
        for n in sorted(self._limits, key=lambda one: -self._limits[one].planned):
            while len(found) < room and (name := self._find_next(n)) is not None:
                found.append(self._hand_out(n, name))
        while len(found) < room and running + len(found) < self._workers:
            early = self._choose_in_advance()
            if early is None:
                break
            found.append(self._hand_out(early, self._waiting[early][0]))
        return found

    def _hand_out(self, n: int, name: str) -> Task:
        self._waiting[n].remove(name)
        return self._left[n][name], self._limits[n]

    def _find_next(self, n: int) -> str | None:
        wanted = takewhile(lambda name: self._is_wanted(self._left[n][name], n), self._waiting[n])
        if self._from_the_end:
            return next(iter(deque(wanted, maxlen=1)), None)
        return next(wanted, None)

    def _is_wanted(self, unit: Unit, n: int) -> bool:
        return unit.paths.start < count_wanted_paths(self._manifest, self.rounds, n)

    def _choose_in_advance(self) -> int | None:
        """Return the n that needs the most paths, among those that aren't over and have units."""
        some = [n for n in self._limits if self._waiting[n] and not is_over(self._manifest, self.rounds, n)]
        return max(some, key=self._get_expected, default=None)

    def _get_expected(self, n: int) -> int:
        return (self.rounds[n].expected or 0) if n in self.rounds else 0

    def _relist(self) -> None:
        """See which units other drivers have written."""
        self._relisted = monotonic()
        signed = list_receipts(self._backend, tuple(self._limits))
        for n, some in self._left.items():
            for name in [name for name in some if name in signed and not some[name].signed]:
                del some[name]
                self._waiting[n] = [each for each in self._waiting[n] if each != name]
            self._advance(n)

    def _count_prefix(self, n: int) -> int:
        first = next(iter(self._left[n].values()), None)
        return self._manifest.extent.paths if first is None else first.paths.start

    def _advance(self, n: int) -> bool:
        """Look at the replications of an n if its round is complete, and write down what follows."""
        prefix, before = self._count_prefix(n), self.rounds.get(n)
        if before is not None and (before.wanted is None or prefix < before.wanted):
            return False
        if prefix < count_wanted_paths(self._manifest, self.rounds, n):
            return False
        for one in iter_rounds(self._manifest, n, self._make_reader(n), prefix):
            if before is None or one.paths > before.paths:
                write_round(self._backend, one)
            self.rounds[n] = one
        return True

    def _make_reader(self, n: int) -> Any:
        def read(name: str, where: tuple[Any, ...]) -> Values:
            return arrays.read(self._backend.url, n, name, self._manifest.generation, where, bounded=False)

        return read


def describe_round(one: Round) -> str:
    """Describe the latest round at one n in a line."""
    if one.wanted is not None:
        about = "" if one.expected is None else f", about {one.expected} paths expected"
        return f"n = {one.n}: {format_count(one.open, 'cell')} open after {one.paths} paths{about}; next: {one.wanted}"
    left = f"the budget is spent, {format_count(one.open, 'cell')} open" if one.open else "decided"
    return f"n = {one.n}: {left} after {one.paths} paths"


def get_hours(manifest: Manifest) -> float | None:
    """Return the hours that one run may take, if the budget limits them."""
    target = get_target(manifest)
    return None if target is None else target["budget"].get("hours")
