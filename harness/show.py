"""What the commands print: plans, states, and the short table at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.labels import label
from harness.progress import duration

if TYPE_CHECKING:
    import xarray as xr

    from harness.driver import Prepared
    from harness.replay import Replayed


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns that stand under each other, the first to the left and the others to the right.

    Examples
    --------
    >>> print(table([["n", "units"], ["25", "7"], ["1000", "12"]]))
    n     units
    25        7
    1000     12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))]
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


def plan_facts(prepared: Prepared) -> dict[str, Any]:
    """A plan as plain values."""
    plan, record = prepared.plan, prepared.record
    return {
        "scenario": prepared.loaded.scenario.name,
        "store": prepared.there.url,
        "new": prepared.is_new,
        "workers": prepared.machine.workers,
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
        "replications": len(record.extent.grid.n) * record.extent.paths * record.extent.draws,
        "replications_left": sum(len(unit) for unit in plan.units),
        "seconds": round(plan.duration, 1),
        "core_seconds": round(plan.seconds, 1),
        "bytes_per_replication": max(plan.bytes_per_replication.values()),
        "bytes": plan.bytes,
        "files": plan.files,
        "memory_per_worker": int(plan.memory),
    }


def plan_text(facts: Mapping[str, Any]) -> str:
    """A plan in words."""
    rows = [["n", "units", "left", "paths × draws", "seconds a unit"]]
    for one in facts["sizes"]:
        block = f"{one['paths_per_unit']} × {one['draws_per_unit']}"
        rows.append([str(one["n"]), str(one["units"]), str(one["units_left"]), block, f"{one['seconds_per_unit']:.3g}"])
    workers = f"{facts['workers']} worker{'s' * (facts['workers'] != 1)}"
    return "\n".join(
        [
            f"{facts['scenario']} → {facts['store']}{' (new)' * facts['new']}",
            table(rows),
            f"{facts['replications_left']} of {facts['replications']} replications left: "
            f"about {duration(facts['seconds'])} on {workers}",
            f"{size(facts['bytes_per_replication'])} a replication before compression, {size(facts['bytes'])} and "
            f"{facts['files']} files in all; {size(facts['memory_per_worker'])} of memory a worker",
        ]
    )


def status_text(facts: Mapping[str, Any]) -> str:
    """The state of a store in words."""
    rows = [["n", "units done", "of"]]
    rows += [[str(one["n"]), str(one["done"]), str(one["units"])] for one in facts["sizes"]]
    state = "complete" if facts["complete"] else f"{facts['share']:.0%} done, `ckrr run` goes on"
    failed = f"\n{facts['failed']} replications of cells failed" if facts["failed"] else ""
    last = facts["last_run"]
    ended = f", ended {last['end']}" if last.get("end") else ", not ended in order"
    history = f"\nlast run: started {last['start']} on {last['host']}{ended}" if last else ""
    return f"{facts['scenario']} in {facts['store']}: {state}\n{table(rows)}{failed}{history}"


def errors_text(groups: Sequence[Mapping[str, Any]], store: str) -> str:
    """Failures in words."""
    if not groups:
        return "nothing failed"
    lines = []
    for one in groups:
        example = one["example"]
        cell = " ".join(f"--{key} {label(example[key])}" for key in ("n", "path", "draw", "theta", "lam", "gamma"))
        lines += [f"{one['count']} × {one['kind'].lower()}: {one['message']}", f"    ckrr replay {store} {cell}"]
    return "\n".join(lines)


def replay_text(found: Replayed) -> str:
    """How a replay compares, in words."""
    what = f"{found.numbers} numbers in {found.cells} cells"
    failed = "".join(f"\nfailed here: {one.kind.lower()}: {one.message}" for one in found.failures[:3])
    if not found.written:
        return f"computed {what}; the store doesn't have this replication yet{failed}"
    if found.equal:
        return f"equal bit for bit to what the store has: {what}{failed}"
    names = ", ".join(f"{count} of {name}" for name, count in found.differing.items())
    cause = (
        "" if found.same_machine else "; the store's were computed on another type of CPU, which changes last digits"
    )
    return f"different from what the store has: {names}; by up to {found.largest:.1e} of the value{cause}{failed}"


def coverage_text(cube: xr.Dataset) -> str:
    """Coverage by procedure and n with its error, at one θ, λ and α, for every γ."""
    alpha = min(cube["alpha"].to_numpy().tolist(), key=lambda each: (abs(each - 0.1), each))
    here = {"theta": str(cube["theta"].to_numpy()[0]), "lam": float(cube["lam"].to_numpy()[0]), "alpha": alpha}
    part = cube.sel(here)
    lines = [
        f"coverage of y* at α = {alpha:g}, θ = {here['theta']}, λ = {label(here['lam'])} (± its Monte-Carlo error)"
    ]
    for gamma in part["gamma"].to_numpy().tolist():
        rows = [[f"γ = {label(gamma)}", *(f"n = {n}" for n in part["n"].to_numpy().tolist())]]
        for name in part["procedure"].to_numpy().tolist():
            cells = part.sel(gamma=gamma, procedure=name)
            both = zip(cells["coverage"].to_numpy().tolist(), cells["coverage_se"].to_numpy().tolist(), strict=True)
            rows.append([str(name), *(estimate(*each) for each in both)])
        lines.append(table(rows))
    return "\n".join(lines)


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
