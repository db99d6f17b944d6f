"""Describe the plan of a run in lines and tables, as text and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.labels import format_values
from harness.core.text import format_count, format_duration, format_size
from harness.display.parts import Displayed, Part, format_text
from harness.planning.decision_text import list_decisions


def _format_cluster(facts: Mapping[str, Any]) -> list[str]:
    """Format what the study needs of each worker, and what the cluster file offers; empty without a cluster file."""
    file, sizes = facts["cluster"], [one for one in facts["sizes"] if one["units_left"]]
    if file is None:
        return []
    memory = "an unknown amount" if file["memory"] is None else format_size(file["memory"])
    lines = [f"a worker of {file['file']} has {memory} of memory, {format_size(facts['memory_per_worker'])} are needed"]
    if file["lifetime"] is not None and sizes:
        longest = max(one["seconds_per_unit"] for one in sizes)
        lines.append(f"a worker lives for {format_duration(file['lifetime'])}, a unit takes up to {longest:.3g} s")
    if file["threads"] > 1:
        lines.append(f"each worker has {file['threads']} BLAS threads, which the store is tied to from now on")
    units = sum(one["units_left"] for one in facts["sizes"])
    if 0 < units < facts["workers"]:
        lines.append(f"{units} of {facts['workers']} workers are enough: there are no more units")
    return lines


def _format_preparations(facts: Mapping[str, Any]) -> list[str]:
    """Format what has to be prepared before the first unit."""
    return [
        f"first {one['name']} is prepared: about {format_duration(one['seconds'])} "
        f"and {format_size(one['memory'])} of memory"
        for one in facts["preparations"]
    ]


_KINDS = {
    "new": "new",
    "extended": "in the store, for new cells only",
    "again": "in the store, to be recomputed (a new α or procedure needs every factor)",
}


def _list_diff(facts: Mapping[str, Any]) -> list[Part]:
    """Describe what is new, what is recomputed and what is no longer asked for; empty without differences."""
    values = [format_values(axis, some) for axis, some in facts["new_values"].items()]
    more = [format_count(facts[f"more_{what}s"], f"more {what}") for what in ("path", "draw") if facts[f"more_{what}s"]]
    more += [f"{format_count(facts['cells_let_in'], 'cell')} that [[exclude]] left out"] * bool(facts["cells_let_in"])
    parts: list[Part] = [f"new in the scenario: {'; '.join([*values, *more])}"] if values or more else []
    work = facts["work"]
    if work["extended"]["units"] or work["again"]["units"]:
        rows = [[what, *_format_share(work[kind])] for kind, what in _KINDS.items() if work[kind]["units"]]
        parts += [[["to be computed", "replications", "units", "on one worker"], *rows]]
        parts += ["numbers that are in the store stay bitwise identical"]
    if facts["unasked_values"]:
        gone = "; ".join(format_values(axis, some) for axis, some in facts["unasked_values"].items())
        parts += [f"not in the scenario any more: {gone}; their numbers stay in the store"]
    return parts


def _format_share(share: Mapping[str, Any]) -> list[str]:
    return [str(share["replications"]), str(share["units"]), format_duration(share["seconds"])]


def format_until(facts: Mapping[str, Any]) -> list[str]:
    """Format what a study runs until, and the cost of its next round; nothing if its number of paths is given."""
    if facts["until"] is None:
        return []
    until, first = facts["until"]["until"], facts["until"]["next_round"]
    aims = {
        "verdict": "every cell is decided (with probability {:g} none wrongly)",
        "se": "standard errors are at most {:g}",
        "width": "widths are ± {:.0%}",
    }
    said = " and ".join(text.format(until[key]) for key, text in aims.items() if until.get(key))
    hours = facts["until"]["budget"].get("hours")
    most = f"at most {facts['until']['budget']['paths']} paths at each n" + (f" and {hours:g} hours" if hours else "")
    head = f"runs until {said}, with {most}"
    if first is None:
        return [head, "next round: as the paths in the store leave cells open"]
    paths = ", ".join(f"{format_count(count, 'path')} at n = {n}" for n, count in first["paths"].items())
    cost = f"{format_count(first['replications'], 'replication')}, about {format_duration(first['seconds'])}"
    return [head, f"next round: {paths}: {cost}"]


def list_plan_parts(facts: Mapping[str, Any]) -> list[Part]:
    """Describe a plan, with one row per n."""
    rows = [["n", "units", "left", "paths × draws per unit", "seconds per unit"]]
    for one in facts["sizes"]:
        block = f"{one['paths_per_unit']} × {one['draws_per_unit']}"
        rows.append([str(one["n"]), str(one["units"]), str(one["units_left"]), block, f"{one['seconds_per_unit']:.3g}"])
    head = [f"{facts['scenario']} → {facts['store']}{' (new)' * facts['new']}", rows, *_list_diff(facts)]
    if not (facts["replications_left"] or facts["preparations"]):
        return [*head, f"{format_count(facts['replications'], 'replication')}: complete, nothing to do"]
    return [
        *head,
        *_format_preparations(facts),
        *format_until(facts),
        f"asked for {'at most ' * bool(facts['until'])}{format_count(facts['replications'], 'replication')}, "
        f"{facts['replications_left']} left: about {format_duration(facts['seconds'])} on "
        f"{format_count(facts['workers'], 'worker')}",
        f"{format_size(facts['bytes_per_replication'])} per replication before compression, "
        f"{format_size(facts['bytes'])} in "
        f"{facts['files']} files, which take up to {format_size(facts['disk'])} on disk; "
        f"{format_size(facts['memory_per_worker'])} of memory per worker",
        *_format_cluster(facts),
        *list_decisions(facts["decisions"]),
    ]


def format_plan(facts: Mapping[str, Any]) -> str:
    """Format a plan as text, with one row per n."""
    return format_text(list_plan_parts(facts))


class PlanFacts(Displayed, dict[str, Any]):
    """What a run would do and cost, as plain values; its text is that of `ckrr plan`."""

    def list_parts(self) -> list[Part]:
        """Return the lines and tables to show."""
        return list_plan_parts(self)
