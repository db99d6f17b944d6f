"""Describe the status of a study in lines and tables, as text and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.labels import format_values
from harness.core.text import escape_line, format_duration, format_rate
from harness.display.parts import Displayed, Part, format_text
from harness.store.heartbeat import SILENT

_ENDS = {"end": "ended {}", "stopped": "stopped by the user", "broke": "aborted {}"}
"""Texts for how a run ended, by the key in its history entry."""


class StatusFacts(Displayed, dict[str, Any]):
    """The status of a store as plain values; its text is that of `ckrr status`."""

    def list_parts(self) -> list[Part]:
        """Return the lines and tables to show."""
        return list_status_parts(self)


def format_status(facts: Mapping[str, Any]) -> str:
    """Format the status of a store as text, with one row per n."""
    return format_text(list_status_parts(facts))


def list_status_parts(facts: Mapping[str, Any]) -> list[Part]:
    """Describe the status of a store, with one row per n."""
    rows = _list_round_rows(facts) if facts["until"] else _list_unit_rows(facts)
    failed = [f"{facts['failed']} cells of replications failed: `ckrr errors` says why"] if facts["failed"] else []
    last = facts["last_run"]
    ended = next((text.format(last[key]) for key, text in _ENDS.items() if last.get(key)), "not ended")
    history = [f"last run: started {last['start']} on {last.get('host', '?')}, {ended}"] if last else []
    sizes = [rows] if facts["sizes"] else []
    edited = [
        "the scenario file isn't what the last run was asked for (it was edited, or the run had --set or --until)"
    ]
    told = [*list_unrequested(facts), *failed, *history, *_format_submission(facts), *edited * facts["edited"]]
    damaged = ["its zarr.json is lost or damaged: `ckrr status --verify` rebuilds it"] * facts["root_is_lost"]
    lines = [escape_line(line) for line in (*told, *damaged)]
    return [escape_line(format_status_line(facts)), *sizes, *lines]


def list_unrequested(facts: Mapping[str, Any]) -> list[str]:
    """Say what a store has besides what was last asked for, in a list of one text; empty if there is nothing more.

    Examples
    --------
    >>> list_unrequested({"also_stored": {"n": [20], "theta": [1.0, "ml"], "paths": 12}})
    ['the store has more than was last asked for, and results show all of it: n 20; theta 1, ml; 12 paths']
    """
    more = dict(facts["also_stored"])
    counts = [f"{more.pop(noun)} {noun}" for noun in ("paths", "draws") if noun in more]
    parts = [*(format_values(axis, values) for axis, values in more.items()), *counts]
    head = "the store has more than was last asked for, and results show all of it"
    return [f"{head}: {'; '.join(parts)}"] if parts else []


def _list_unit_rows(facts: Mapping[str, Any]) -> list[list[str]]:
    rows = [["n", "units done", "of"]]
    return rows + [[str(one["n"]), str(one["done"]), str(one["units"])] for one in facts["sizes"]]


def _list_round_rows(facts: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of a study that runs until it is decided: what is open at each n, and what that may take."""
    rows = [["n", "units done", "of", "paths", "open cells", "borderline", "expected paths"]]
    for one in facts["sizes"]:
        known = [one.get(name) for name in ("paths", "open", "borderline", "expected_paths")]
        rows.append(
            [str(one["n"]), str(one["done"]), str(one["units"]), *("–" if x is None else str(x) for x in known)]
        )
    return rows


def format_status_line(facts: Mapping[str, Any]) -> str:
    """Format the progress of a study and its active driver as one line."""
    name = f"{facts['scenario']} in {facts['store']}" if facts["scenario"] else facts["store"]
    if facts["complete"]:
        return f"{name}: {_format_complete(facts)}"
    driver, told = facts["driver"], facts["submission"]
    far = f"{facts['share']:.0%} done" + " of the previous request" * facts["more_to_come"]
    if driver is not None and driver["alive"]:
        speed = f", {format_rate(driver['rate'], ' replications')}" if driver.get("rate") else ""
        left = f", about {format_duration(driver['left'])} left" if driver.get("left") is not None else ""
        silent = f", no heartbeat for {format_duration(driver['silent'])}" if driver["silent"] > SILENT else ""
        return f"{name}: {far}{speed}{left} ({driver['name']}{silent})"
    if told is not None and told["waits"]:
        return f"{name}: {far}, its driver has not started yet: {told['waits']}"
    if told is not None and told["code"] == 2:
        return f"{name}: {far}, {'' if told['starts'] == 0 else 'its driver gave up: '}{told['outcome']}"
    again = "submit" if told is not None and not _is_foreground_run(facts["last_run"]) else "run"
    dead = driver is not None and not (told and told["ended"])
    silent = (
        f" ({driver['name']} died: no heartbeat for {format_duration(driver['silent'])})" if driver and dead else ""
    )
    return f"{name}: {far}, no run is active{silent}{_format_unknown_queue(told)}; `ckrr {again}` resumes"


def _format_unknown_queue(told: Mapping[str, Any] | None) -> str:
    return "" if told is None or told["asked"] else " (Slurm's queue can't be queried from here)"


def _is_foreground_run(last: Mapping[str, Any]) -> bool:
    """Return whether the last run of a store was started by `ckrr run`, not submitted."""
    return str(last.get("command", "")).split()[1:2] == ["run"]


def _format_complete(facts: Mapping[str, Any]) -> str:
    """Format the status of a study in which the latest request is complete."""
    driver, share = facts["driver"], facts["share_of_everything"]
    busy = f" ({driver['name']} is running)" if driver is not None and driver["alive"] else ""
    if share < 1:
        return f"complete as last requested; of everything ever requested, {share:.0%} is done{busy}"
    behind = (
        "" if facts["settled"] or facts["at_work"] else ", but its cube may be out of date: `ckrr run` refreshes it"
    )
    return f"complete{behind}{busy}"


def _format_submission(facts: Mapping[str, Any]) -> list[str]:
    """Format the submission of a study and how it ended; empty without one."""
    told = facts["submission"]
    if told is None:
        return []
    starts = f", started {told['starts']} times" if told["starts"] > 1 else ""
    above = told["code"] == 2 and not facts["complete"]  # the status line has it already
    said = "" if above else f": {told['outcome']}"
    end = f"; ended {told['ended']}{said}" if told["ended"] else ""
    return [f"submitted {told['submitted']} from {told['host']} as {told['id']}{starts}{end}"]
