"""What the commands print: states, errors, and the short table at the end of a run. (Plans: `show_plan.py`.)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.core.labels import label, theta_label
from harness.core.text import escape_line
from harness.core.types import Extent
from harness.execution.progress import duration, pace
from harness.store.heartbeat import SILENT

if TYPE_CHECKING:
    import xarray as xr

    from harness.execution.driver import Outcome
    from harness.execution.prepare import Prepared
    from harness.maintenance.replay import Replayed
    from harness.results.required_paths import Need
    from harness.submit.launch import Submitted


def table(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns that stand under each other, the first ones to the left and the others to the right.

    Examples
    --------
    >>> print(table([["n", "units"], ["25", "7"], ["1000", "12"]]))
    n     units
    25        7
    1000     12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        pairs = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in pairs]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def size(count: float) -> str:
    """Bytes as people say them.

    Examples
    --------
    >>> size(512), size(20_000), size(3.2e9)
    ('512 B', '20 kB', '3.2 GB')
    """
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= power:
            scaled = count / power
            return f"{scaled:.1f} {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"
    return f"{count:.0f} B"


def counted(count: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "unit"), counted(12, "unit")
    ('1 unit', '12 units')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def outcome_facts(prepared: Prepared, outcome: Outcome) -> dict[str, Any]:
    """How a run ended, as plain values."""
    return {
        "scenario": prepared.loaded.scenario.name,
        "store": outcome.url,
        "complete": True,
        "units": outcome.units,
        "replications": sum(prepared.plan.replications_of.values()),
        "failed": outcome.failed,
        "seconds": round(outcome.seconds, 3),
        "efficiency": round(outcome.efficiency, 4) if outcome.units else None,
    }


_ENDS = {"end": "ended {}", "stopped": "stopped by hand", "broke": "broke off {}"}
"""How a run ended, in words, by what its entry in the history has."""


def status_text(facts: Mapping[str, Any]) -> str:
    """The state of a store in words."""
    rows = [["n", "units done", "of"]]
    rows += [[str(one["n"]), str(one["done"]), str(one["units"])] for one in facts["sizes"]]
    failed = [f"{facts['failed']} cells of replications failed: `ckrr errors` says why"] if facts["failed"] else []
    last = facts["last_run"]
    ended = next((text.format(last[key]) for key, text in _ENDS.items() if last.get(key)), "not ended")
    history = [f"last run: started {last['start']} on {last.get('host', '?')}, {ended}"] if last else []
    sizes = [table(rows)] if facts["sizes"] else []
    edited = ["the scenario's file asks for something else than the last run did: `ckrr plan` says what"]
    told = [*failed, *history, *_handed_over_text(facts), *edited * facts["edited"]]
    damaged = ["its zarr.json is lost or damaged: `ckrr status --verify` rebuilds it"] * facts["root_is_lost"]
    lines = [escape_line(line) for line in (*told, *damaged)]
    return "\n".join([escape_line(state_line(facts)), *sizes, *lines])


def state_line(facts: Mapping[str, Any]) -> str:
    """How far a study is, and who is at work on it, in one line."""
    name = f"{facts['scenario']} in {facts['store']}" if facts["scenario"] else facts["store"]
    if facts["complete"]:
        return f"{name}: {_complete(facts)}"
    driver, told = facts["driver"], facts["submission"]
    far = f"{facts['share']:.0%} done" + " of what was asked before" * facts["more_to_come"]
    if driver is not None and driver["alive"]:
        speed = f", {pace(driver['rate'], ' replications')}" if driver.get("rate") else ""
        left = f", about {duration(driver['left'])} left" if driver.get("left") is not None else ""
        silent = f", silent for {duration(driver['silent'])}" if driver["silent"] > SILENT else ""
        return f"{name}: {far}{speed}{left} ({driver['name']}{silent})"
    if told is not None and told["waits"]:
        return f"{name}: {far}, its driver is yet to begin: {told['waits']}"
    if told is not None and told["code"] == 2:
        return f"{name}: {far}, {'' if told['starts'] == 0 else 'its driver gave up: '}{told['outcome']}"
    again = "submit" if told is not None and not _was_run(facts["last_run"]) else "run"
    dead = driver is not None and not (told and told["ended"])
    silent = f" ({driver['name']} died: silent for {duration(driver['silent'])})" if driver and dead else ""
    return f"{name}: {far}, nobody is at work on it{silent}{_unasked(told)}; `ckrr {again}` goes on"


def _unasked(told: Mapping[str, Any] | None) -> str:
    return "" if told is None or told["asked"] else " (whether a job of Slurm waits can't be asked from here)"


def _was_run(last: Mapping[str, Any]) -> bool:
    """Whether the last run of a store was one that somebody waited for (`ckrr run`)."""
    return str(last.get("command", "")).split()[1:2] == ["run"]


def _complete(facts: Mapping[str, Any]) -> str:
    """Of a study that has what was asked for last."""
    driver, share = facts["driver"], facts["share_of_everything"]
    busy = f" ({driver['name']} is at work on it)" if driver is not None and driver["alive"] else ""
    if share < 1:
        return f"complete as asked for last; of all that was ever asked for, {share:.0%} is done{busy}"
    behind = "" if facts["settled"] or facts["at_work"] else ", but its cube may be behind: `ckrr run` refreshes it"
    return f"complete{behind}{busy}"


def _handed_over_text(facts: Mapping[str, Any]) -> list[str]:
    """What was handed over, and what became of it."""
    told = facts["submission"]
    if told is None:
        return []
    starts = f", started {told['starts']} times" if told["starts"] > 1 else ""
    above = told["code"] == 2 and not facts["complete"]  # the line of the state has it
    said = "" if above else f": {told['outcome']}"
    end = f"; ended {told['ended']}{said}" if told["ended"] else ""
    return [f"submitted {told['submitted']} from {told['host']} as {told['id']}{starts}{end}"]


def submitted_text(prepared: Prepared, done: Submitted, store: str) -> str:
    """What became of a study that was to be handed over, and how to follow it."""
    follow = f"follow it: ckrr status {store} --watch"
    if done.running is not None:
        return f"{done.running} is at work on it already: nothing was handed over\n{follow}"
    if done.submission is None:
        return f"{prepared.loaded.scenario.name}: complete, nothing to do"
    plan = prepared.plan
    long = f"about {duration(plan.duration)}" if plan.duration > 5 else "a few seconds"
    count = counted(sum(plan.replications_of.values()), "replication")
    silent = "" if done.lives else "\nits driver hasn't been heard of yet: `ckrr status` may say why"
    rest = f"its logs: ckrr logs {store}\nto end it: ckrr cancel {store}"
    return f"submitted as {done.submission.id}: {count}, {long} of computing{silent}\n{follow}\n{rest}"


def precision_text(needs: Sequence[Need], target: float) -> str:
    """What a target error needs, in words."""
    rows = [["n", "error now", "paths in all", "or draws a path"]]
    for one in needs:
        known = one.paths is not None
        rows.append(
            [str(one.n), f"{one.se:.2g}" if known else "–", str(one.paths or "–"), str(one.draws or "–")],
        )
    unknown = "\nwith one path the error between paths can't be told: run a few more" if _none(needs) else ""
    note = (
        "\n(–: more draws won't do, or with one draw a path it can't be told)"
        if not all(one.draws for one in needs)
        else ""
    )
    return f"for a standard error of coverage of {target:g} in every cell:\n{table(rows)}{unknown or note}"


def _none(needs: Sequence[Need]) -> bool:
    return all(one.paths is None for one in needs)


def errors_text(groups: Sequence[Mapping[str, Any]], store: str) -> str:
    """Failures in words."""
    if not groups:
        return "nothing failed"
    lines = []
    for one in groups:
        example = one["example"]
        cell = " ".join(f"--{key} {label(example[key])}" for key in ("n", "path", "draw", "theta", "lam", "gamma"))
        what = escape_line(f"{one['count']} × {one['kind'].lower()}: {one['message']}")
        lines += [what, f"    ckrr replay {escape_line(f'{store} {cell}')}"]
    return "\n".join(lines)


def replay_text(found: Replayed) -> str:
    """How a replay compares, in words."""
    what = f"{counted(found.numbers, 'number')} in {counted(found.cells, 'cell')}"
    failed = "".join(f"\nfailed here: {one.kind.lower()}: {escape_line(one.message)}" for one in found.failures[:3])
    if not found.written:
        return f"computed {what}; the store doesn't have this replication yet{failed}"
    if found.equal:
        return f"equal bit for bit to what the store has: {what}{failed}"
    names = ", ".join(f"{count} of {name}" for name, count in found.differing.items())
    cause = (
        "" if found.same_machine else "; the store's were computed on another type of CPU, which changes last digits"
    )
    return f"different from what the store has: {names}; by up to {found.largest:.1e} of the value{cause}{failed}"


def coverage_text(cube: xr.Dataset, asked: Extent) -> str:
    """Coverage with its error and the median width, by procedure and n: for every γ, at one θ, λ and α."""
    alpha, lam = min(asked.grid.alpha, key=lambda each: (abs(each - 0.1), each)), max(asked.grid.lam)
    theta = theta_label(asked.grid.theta[0])
    part = cube.sel(theta=theta, lam=lam, alpha=alpha, n=sorted(asked.grid.n)).sel(quantile=0.5)
    error = "" if asked.paths > 1 else " (its Monte-Carlo error needs more than one path)"
    shown = {"α": label(alpha), "θ": theta, "λ": label(lam)}
    place = ", ".join(f"{name} = {value}" for name, value in shown.items())
    lines = [f"coverage of y* ± its Monte-Carlo error, and median width, at {place}{error}"]
    for gamma in asked.grid.gamma:
        rows = [[f"γ = {label(gamma)}", *(f"n = {n}" for n in sorted(asked.grid.n))]]
        for name in asked.grid.procedure:
            cells = part.sel(gamma=gamma, procedure=name)
            parts = (cells[each].to_numpy().tolist() for each in ("coverage", "coverage_se", "width"))
            rows.append([name, *(f"{estimate(c, e)}  {w:#.3g}" for c, e, w in zip(*parts, strict=True))])
        lines.append(table(rows))
    grid = {"α": asked.grid.alpha, "θ": asked.grid.theta, "λ": asked.grid.lam}
    others = {name: [text for text in map(label, axis) if text != shown[name]] for name, axis in grid.items()}
    more = [f"{name} = {', '.join(texts)}" for name, texts in others.items() if texts]
    return "\n".join([*lines, *([f"`ckrr table` has {'; '.join(more)}, too"] if more else [])])


def estimate(value: float, error: float) -> str:
    """A number with its error; without one where it can't be known.

    Examples
    --------
    >>> estimate(0.9012, 0.0034), estimate(0.9, float("nan")), estimate(float("nan"), float("nan"))
    ('0.901 ± 0.003', '0.900', '-')
    """
    if value != value:
        return "-"
    return f"{value:.3f}" if error != error else f"{value:.3f} ± {error:.3f}"
