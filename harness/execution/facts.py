"""State facts of plans and outcomes of runs: as plain values, for --json, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from harness.core.text import format_count, format_duration
from harness.cube.predictions import predict_decisions
from harness.cube.rounds import Answer
from harness.display.parts import Displayed, Part
from harness.planning.diff import diff
from harness.planning.plan_text import PlanFacts
from harness.store.rounds import Round, count_wanted_paths, get_target, list_rounds

if TYPE_CHECKING:
    from harness.execution.prepare import Prepared


@dataclass(frozen=True, repr=False)
class Outcome(Displayed):
    """Summary of a completed run."""

    url: str
    units: int
    failed: int
    seconds: float
    efficiency: float
    """Seconds of pure computing, divided by the workers' seconds from the first unit's start to the last one's end."""
    replications: int = 0
    """Number of replications that were computed."""
    answers: tuple[Answer, ...] = ()
    """What a study with `until` found at each n; empty without."""
    rounds: Mapping[int, Round] = field(default_factory=dict)
    """Latest round at each n of such a study."""
    is_complete: bool = True
    """Whether nothing more is wanted; False if the hours of a budget ended the run."""

    def list_parts(self) -> list[Part]:
        """Return the lines to show."""
        count = format_count(self.replications, "replication")
        done = f"{count} in {format_duration(self.seconds)}" if self.units else "nothing to do"
        lines = [f"{self.url}: {'complete' if self.is_complete else 'not complete'}, {done}"]
        if self.units:
            lines.append(f"workers computed during {self.efficiency:.0%} of their time")
        if self.failed:
            lines.append(f"{self.failed} replications of cells failed: `ckrr errors {self.url}` says why")
        return [*lines, *format_answers(self.answers, self.rounds)]


def format_answers(answers: Sequence[Answer], rounds: Mapping[int, Round]) -> list[str]:
    """Format what a study that ran until it was decided has found, and what a fixed design would have needed."""
    if not answers:
        return []
    counts = Counter[str]()
    for one in answers:
        counts.update(one.counts)
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    sizes = ", ".join(str(one.n) for one in answers)
    lines = [f"verdicts after {_format_sum([one.paths for one in answers])} paths at n = {sizes}: {words}"]
    for n, last in sorted(rounds.items()):
        about = "" if last.expected is None else f"; half of them should be decided by {last.expected} paths"
        if last.wanted is None and last.open:
            lines.append(f"n = {n}: the budget is spent, {format_count(last.open, 'cell')} open{about}")
        elif last.wanted is not None:
            lines.append(f"n = {n}: not finished, {format_count(last.open, 'cell')} open: the same command goes on")
    if any(one.fixed_paths for one in answers):
        fixed = _format_sum([one.fixed_paths for one in answers])
        lines.append(f"a fixed design takes {fixed} paths to decide the same cells with probability 0.9")
    return lines


def _format_sum(numbers: Sequence[int]) -> str:
    """Format numbers with their sum, if there are several.

    Examples
    --------
    >>> _format_sum([450, 375]), _format_sum([450])
    ('450 + 375 = 825', '450')
    """
    each = " + ".join(map(str, numbers))
    return f"{each} = {sum(numbers)}" if len(numbers) > 1 else each


def outcome_to_dict(prepared: Prepared, outcome: Outcome) -> dict[str, Any]:
    """Return the outcome of a run as plain values."""
    return {
        "scenario": prepared.loaded.scenario.name,
        "store": outcome.url,
        "complete": outcome.is_complete,
        "units": outcome.units,
        "replications": outcome.replications,
        "failed": outcome.failed,
        "seconds": round(outcome.seconds, 3),
        "efficiency": round(outcome.efficiency, 4) if outcome.units else None,
        **({"answers": [asdict(one) for one in outcome.answers]} if outcome.answers else {}),
    }


def plan_to_dict(prepared: Prepared) -> PlanFacts:
    """Return the plan of a run as plain values."""
    plan, asked = prepared.plan, prepared.loaded.extent
    facts = {
        "scenario": prepared.loaded.scenario.name,
        "store": prepared.backend.url,
        "new": prepared.is_new,
        "workers": prepared.machine.workers,
        "cluster": _cluster_to_dict(prepared),
        "sizes": [
            {
                "n": one.n,
                "units": len(one.todo) + one.done,
                "units_left": len(one.todo),
                "paths_per_unit": min(one.block[0], prepared.manifest.extent.paths),
                "draws_per_unit": one.block[1],
                "seconds_per_unit": round(one.seconds, 3),
            }
            for one in sorted(plan.sizes, key=lambda one: one.n)
        ],
        "replications": len(asked.grid.n) * asked.paths * asked.draws,
        "replications_left": sum(plan.replications_of.values()),
        "until": _until_to_dict(prepared),
        **_diff_to_dict(prepared),
        "seconds": round(plan.duration, 1),
        "core_seconds": round(plan.seconds, 1),
        "bytes_per_replication": max(plan.bytes_per_replication.values()),
        "bytes": plan.bytes,
        "files": plan.files,
        "disk": plan.disk,
        "memory_per_worker": int(plan.memory),
        "preparations": [
            {"name": one.name, "seconds": round(seconds, 1), "memory": int(one.memory)}
            for one, seconds in plan.preparations
        ],
        "decisions": predict_decisions(prepared.manifest, asked),
    }
    return PlanFacts(facts)


def _until_to_dict(prepared: Prepared) -> dict[str, Any] | None:
    """Return what a study runs until, and the cost of its next round; None if its number of paths is given."""
    target, plan = get_target(prepared.manifest), prepared.plan
    if target is None:
        return None
    rounds = list_rounds(prepared.backend, prepared.manifest, prepared.loaded.extent.grid.n)
    wanted = {n: count_wanted_paths(prepared.manifest, rounds, n) for n in prepared.loaded.extent.grid.n}
    if not prepared.is_new and not rounds:  # only its paths can tell, and a plan doesn't read them
        return {**target, "next_round": None}
    units = [unit for unit in plan.units if unit.paths.start < wanted[unit.n]]
    seconds = [plan.seconds_of[unit.name] for unit in units]
    return {
        **target,
        "next_round": {
            "paths": {str(n): paths for n, paths in sorted(wanted.items())},
            "replications": sum(plan.replications_of[unit.name] for unit in units),
            "seconds": round(max([sum(seconds) / prepared.machine.workers, *seconds]), 1),
        },
    }


def _cluster_to_dict(prepared: Prepared) -> dict[str, Any] | None:
    """Return what the cluster file offers; None without one."""
    file, machine = prepared.cluster, prepared.machine
    if file is None:
        return None
    return {
        "file": file.where,
        "kind": file.kind,
        "threads": file.threads,
        "memory": int(machine.memory) if machine.memory < inf else None,
        "lifetime": machine.lifetime if machine.lifetime < inf else None,
    }


def _diff_to_dict(prepared: Prepared) -> dict[str, Any]:
    """Return what the scenario asks for beyond what the store has, and the work that this takes."""
    manifest, plan = prepared.manifest, prepared.plan
    present = manifest.extents[-2 if prepared.grows else -1]
    older = (manifest.extents[generation] for generation in sorted(plan.generations))
    found = diff([present, *older], prepared.loaded.extent)
    return {
        "new_values": {axis: list(values) for axis, values in found.values.items()},
        "more_paths": found.paths,
        "more_draws": found.draws,
        "cells_let_in": found.cells,
        "unasked_values": {axis: list(values) for axis, values in found.unasked.items()},
        "work": {
            kind: {"units": share.units, "replications": share.replications, "seconds": round(share.seconds, 3)}
            for kind, share in (("new", plan.work.new), ("extended", plan.work.extended), ("again", plan.work.again))
        },
    }
