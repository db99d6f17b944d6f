"""Format what commands print: submissions, errors, replays, and the table at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.core.labels import format_label, format_theta
from harness.core.procedures import format_procedure
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.text import escape_line, format_count, format_duration, format_table
from harness.core.types import Extent
from harness.results.rounding import format_estimate

if TYPE_CHECKING:
    import xarray as xr

    from harness.execution.prepare import Prepared
    from harness.maintenance.replay import ReplayResult
    from harness.results.required_paths import Need
    from harness.submit.launch import SubmissionResult


def format_submission(prepared: Prepared, done: SubmissionResult, store: str) -> str:
    """Format the result of `ckrr submit`, and how to follow the study."""
    follow = f"follow it: ckrr status {store} --watch"
    if done.running is not None:
        return f"{done.running} is already running on it: nothing was submitted\n{follow}"
    if done.submission is None:
        return f"{prepared.loaded.scenario.name}: complete, nothing to do"
    plan = prepared.plan
    long = f"about {format_duration(plan.duration)}" if plan.duration > 5 else "a few seconds"
    most = "at most " * (prepared.loaded.scenario.replications.until is not None)
    count = f"{most}{format_count(sum(plan.replications_of.values()), 'replication')}"
    silent = "" if done.is_alive else "\nno heartbeat of its driver yet: `ckrr status` may say why"
    rest = f"its logs: ckrr logs {store}\nto end it: ckrr cancel {store}"
    return f"submitted as {done.submission.id}: {count}, {long} of computing{silent}\n{follow}\n{rest}"


def format_precision(needs: Sequence[Need], target: float) -> str:
    """Format the paths or draws that a target standard error of coverage needs, by n."""
    rows = [["n", "error now", "paths in all", "or draws per path"]]
    for one in needs:
        known = one.paths is not None
        rows.append(
            [str(one.n), f"{one.se:.2g}" if known else "–", one.paths_text, str(one.draws or "–")],
        )
    unknown = "\nwith one path the error between paths can't be estimated: run a few more" if _is_unknown(needs) else ""
    note = (
        "\n(–: more draws are not enough, or one draw per path allows no estimate)"
        if not all(one.draws for one in needs)
        else ""
    )
    return f"for a standard error of coverage of {target:g} in every cell:\n{format_table(rows)}{unknown or note}"


def _is_unknown(needs: Sequence[Need]) -> bool:
    return all(one.paths is None for one in needs)


def format_errors(groups: Sequence[Mapping[str, Any]], store: str) -> str:
    """Format groups of failures, each with the command that replays an example."""
    if not groups:
        return "nothing failed"
    lines = []
    for one in groups:
        example = one["example"]
        cell = " ".join(
            f"--{key} {format_label(example[key])}" for key in ("n", "path", "draw", "theta", "lam", "gamma")
        )
        what = escape_line(f"{one['count']} × {one['kind'].lower()}: {one['message']}")
        lines += [what, f"    ckrr replay {escape_line(f'{store} {cell}')}"]
    return "\n".join(lines)


def format_replay(found: ReplayResult) -> str:
    """Format how a replayed replication compares with the stored one."""
    what = f"{format_count(found.numbers, 'number')} in {format_count(found.cells, 'cell')}"
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


def format_coverage(cube: xr.Dataset, asked: Extent) -> str:
    """Format coverage with its error and the median width by procedure and n: for every γ, at one θ, λ and α."""
    alpha, lam = min(asked.grid.alpha, key=lambda each: (abs(each - 0.1), each)), max(asked.grid.lam)
    theta = format_theta(asked.grid.theta[0])
    part = cube.sel(theta=theta, lam=lam, alpha=alpha, n=sorted(asked.grid.n)).sel(quantile=0.5)
    error = "" if asked.paths > 1 else " (its Monte-Carlo error needs more than one path)"
    shown = {"α": format_label(alpha), "θ": theta, "λ": format_label(lam)}
    place = ", ".join(f"{name} = {value}" for name, value in shown.items())
    judged = COVERAGE_EXPECTED if COVERAGE_EXPECTED in cube else "coverage"
    what = f"{'expected ' * (judged == COVERAGE_EXPECTED)}coverage of y*"
    lines = [f"{what} ± its Monte-Carlo error, and median width, at {place}{error}"]
    rows: list[list[str]] = []  # of every γ together, so that their columns are aligned
    for gamma in asked.grid.gamma:
        rows.append(
            [f"γ = {format_label(gamma)}", *(text for n in sorted(asked.grid.n) for text in (f"n = {n}", "width"))]
        )
        for name in asked.grid.procedure:
            cells = part.sel(gamma=gamma, procedure=name)
            names, row = (judged, f"{judged}_se", "coverage_low", "coverage_high", "width"), [format_procedure(name)]
            parts = (cells[each].to_numpy().tolist() for each in names)
            for value, se, low, high, width in zip(*parts, strict=True):
                row += [format_estimate(value, se, low, high, 0.001), f"{width:#.3g}"]
            rows.append(row)
    lines.append(format_table(rows))
    grid = {"α": asked.grid.alpha, "θ": asked.grid.theta, "λ": asked.grid.lam}
    others = {name: [text for text in map(format_label, axis) if text != shown[name]] for name, axis in grid.items()}
    more = [f"{name} = {', '.join(texts)}" for name, texts in others.items() if texts]
    return "\n".join([*lines, *([f"`ckrr table` has {'; '.join(more)}, too"] if more else [])])
