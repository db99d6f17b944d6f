"""Whether a cluster is mute: its scheduler has given units to workers that live and don't hear of them.

That can come of a clock that was set back where the scheduler runs: a stream to a worker that was just used waits until
it has caught up, be it an hour, while everything else looks well. Whoever asked for the units would wait as long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_DEAF = frozenset(("memory", "released", "forgotten", "long-running", "error"))
"""States of a worker's tasks that aren't about to be computed."""


class Muteness:
    """Two looks at a cluster: a worker that has said in between that it lives, and that it has nothing to do."""

    def __init__(self) -> None:
        self._before: dict[str, float] = {}

    def look(
        self, workers: Mapping[str, Mapping[str, Any]], given: Mapping[str, Collection[str]], ours: Collection[str]
    ) -> bool:
        """From what a scheduler says of its workers, and of the tasks that it gave to each; `ours` are those we want.

        Examples
        --------
        >>> def told(beat, **counts):
        ...     return {"tcp://a": {"last_seen": beat, "metrics": {"task_counts": counts}}}
        >>> muteness, given = Muteness(), {"tcp://a": ["one"]}
        >>> [muteness.look(told(beat, memory=3), given, {"one"}) for beat in (1.0, 1.0, 2.0)]
        [False, False, True]
        >>> muteness.look(told(3.0, executing=1), given, {"one"})
        False
        """
        at = {name for name, keys in given.items() if name in workers and not set(keys).isdisjoint(ours)}
        idle = {name: float(workers[name]["last_seen"]) for name in at if _is_idle(workers[name])}
        mute = bool(idle) and idle.keys() == at and all(self._is_new(name, beat) for name, beat in idle.items())
        self._before = idle
        return mute

    def _is_new(self, name: str, beat: float) -> bool:
        return self._before.get(name, beat) != beat


def _is_idle(worker: Mapping[str, Any]) -> bool:
    counts = worker.get("metrics", {}).get("task_counts", {})
    return not any(count for state, count in counts.items() if state not in _DEAF)
