"""Convert plans and outcomes of runs to plain values, for --json."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any

from harness.cube.predictions import predict_decisions
from harness.planning.diff import diff
from harness.store.rounds import count_wanted_paths, get_target, list_rounds

if TYPE_CHECKING:
    from harness.execution.driver import Outcome
    from harness.execution.prepare import Prepared


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


def plan_to_dict(prepared: Prepared) -> dict[str, Any]:
    """Return the plan of a run as plain values."""
    plan, asked = prepared.plan, prepared.loaded.extent
    return {
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
                "paths_per_unit": one.block[0],
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
