"""Draw the seconds of a replication against n, from the receipts, with the fitted exponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.backends.base import open_backend
from harness.compute.block import PROCEDURE_TIME_PREFIX
from harness.core.errors import UserError
from harness.core.procedures import assign_strokes, format_procedure
from harness.core.types import Array
from harness.figures.canvas.axes import N_LABEL, set_log_ticks, set_size_axis
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import Panel, open_with_sizes
from harness.figures.canvas.style import INK
from harness.results.replications import ReplicationReader, Where
from harness.store.manifest import Manifest
from harness.store.receipts import Receipt, list_receipts, read_all

TOTAL = "compute"
"""Name of the total time in receipts."""
_PARTS: Mapping[str, tuple[str, str, Any]] = {
    "data": ("drawing data", "#d98e04", ("s", (0, (4, 1.5)))),
    "factor": ("factorising", "#0b6fb5", ("^", "solid")),
    "search": ("searching for θ", "#b5420b", ("P", "solid")),
    "score": ("regions and scores", "#117a55", ("D", (0, (4, 1.5)))),
    "measure": ("measures", "#7b4ea3", ("v", (0, (1.2, 1.2)))),
}
"""Parts that a worker times: text, colour, marker and line style."""
_FITTED = 3
"""Number of the largest n that the exponent is fitted to: at small n, fixed costs dominate."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw seconds against n for a store; of `where` only n matters."""
    chosen, done = open_with_sizes(url, where)
    signed = list(list_receipts(open_backend(chosen.url), done).values())
    times = _read_times(chosen.url, done, signed)
    if not (medians(times, TOTAL)[1] > 0).any():
        raise UserError(f"{url}: the receipts have no timings above 0 s; `ckrr run` writes them")
    panel = [Panel(0, 0, {})]
    made = make_panel_grid(panel, 1, 1)
    ax = made.axes[0]
    ax.set_yscale("log")
    handles = [_draw_total(ax, times)]
    handles += [_draw_part(ax, times, name) for name in _PARTS if any(name in each for each in times.values())]
    handles += [
        _draw_line(ax, times, f"{PROCEDURE_TIME_PREFIX}{name}", *look)
        for name, *look in _list_procedures(chosen.manifest, times)
    ]
    set_size_axis(ax, done, inches=3.5)
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.lines] + _compute_bounds(times))
    drawn = drawn[np.isfinite(drawn) & (drawn > 0)]
    low, high = float(drawn.min()) / 1.3, float(drawn.max()) * 1.3
    ax.set_ylim(low, high)
    set_log_ticks(ax.yaxis, low, high)
    label_axes(made, panel, N_LABEL, "seconds of a replication")
    name = chosen.manifest.scenario.get("name", "")
    notes = _make_notes(chosen, done, where, any(each.attempt for each in signed))
    return finish(made, f"Seconds against n: {name}", _describe_cells(chosen.manifest), handles, notes)


def _read_times(url: str, done: Sequence[int], signed: Sequence[Receipt]) -> dict[int, dict[str, Array]]:
    """Read the seconds per replication of every unit, by n and timed part."""
    found: dict[int, dict[str, list[float]]] = {n: {} for n in done}
    for receipt, content in zip(signed, read_all(open_backend(url), signed), strict=True):
        n = int(receipt.unit.partition("/")[0].removeprefix("n="))
        count = np.prod([end - start for start, end in (content["paths"], content["draws"])])
        for name, seconds in content["seconds"].items():
            found[n].setdefault(name, []).append(seconds / float(count))
    return {n: {name: np.array(values) for name, values in one.items()} for n, one in found.items()}


def medians(times: Mapping[int, Mapping[str, Array]], name: str) -> tuple[Array, Array]:
    """Return the n at which a part was timed, and the median over units at each."""
    n = [each for each, one in times.items() if name in one]
    return np.array(n, dtype=float), np.array([np.median(times[int(each)][name]) for each in n])


def fit_exponent(n: Array, seconds: Array) -> tuple[float, int] | None:
    """Fit the slope of log seconds over log n at the largest n.

    Returns the slope and the smallest n used, or None with fewer than three n.

    Examples
    --------
    >>> slope, start = fit_exponent(np.array([10.0, 100.0, 200.0, 400.0]), np.array([5.0, 1.0, 8.0, 64.0]))
    >>> round(slope, 3), start
    (3.0, 100)
    """
    some = seconds > 0
    n, seconds = n[some][-_FITTED:], seconds[some][-_FITTED:]
    if len(n) < _FITTED:
        return None
    x, y = np.log(n) - np.log(n).mean(), np.log(seconds)
    return float((x * y).sum() / (x * x).sum()), int(n[0])


def _compute_bounds(times: Mapping[int, Mapping[str, Array]]) -> list[Array]:
    """Compute the 5 % and 95 % quantiles of total seconds over units."""
    return [np.array([np.quantile(one[TOTAL], q) for one in times.values() if TOTAL in one]) for q in (0.05, 0.95)]


def _draw_total(ax: Any, times: Mapping[int, Mapping[str, Array]]) -> Any:
    n, middle = medians(times, TOTAL)
    ends = _compute_bounds(times)
    if len(n) > 1:
        ax.fill_between(n, *ends, color=INK, alpha=0.12, linewidth=0)
    else:
        ax.vlines(n, *ends, color=INK, linewidth=1.2)
    (line,) = ax.plot(n, middle, color=INK, marker="o", linewidth=1.8, label=f"total{_format_slope(n, middle)}")
    return line


def _draw_part(ax: Any, times: Mapping[int, Mapping[str, Array]], name: str) -> Any:
    text, colour, (marker, style) = _PARTS[name]
    return _draw_line(ax, times, name, text, colour, marker, style)


def _list_procedures(
    manifest: Manifest, times: Mapping[int, Mapping[str, Array]]
) -> list[tuple[str, str, str, str, Any]]:
    """List procedures that were timed separately: name, legend text, colour, marker and line style."""
    looks = assign_strokes(manifest.extent.grid.procedure)
    timed = [name for name in looks if any(f"{PROCEDURE_TIME_PREFIX}{name}" in one for one in times.values())]
    return [(name, format_procedure(name), looks[name].colour, looks[name].marker, looks[name].line) for name in timed]


def _draw_line(
    ax: Any, times: Mapping[int, Mapping[str, Array]], name: str, text: str, colour: str, marker: str, style: Any
) -> Any:
    n, middle = medians(times, name)
    look = {"color": colour, "marker": marker, "linestyle": style, "linewidth": 1.1, "markersize": 3.8}
    (line,) = ax.plot(n, np.where(middle > 0, middle, np.nan), label=f"{text}{_format_slope(n, middle)}", **look)
    return line


def _format_slope(n: Array, seconds: Array) -> str:
    found = fit_exponent(n, seconds)
    if found is None:
        return ""
    slope = f"{found[0]:.1f}".replace("-", "−")
    return f" ∝ n^{slope}"


def _describe_cells(manifest: Manifest) -> str:
    grid = manifest.extent.grid
    inner = len(grid.gamma) * len(grid.theta) * len(grid.lam)
    return f"a replication computes {len(grid.procedure)} procedures at {inner} combinations of γ, θ, λ"


def _make_notes(chosen: ReplicationReader, done: Sequence[int], where: Where | None, has_retries: bool) -> list[str]:
    largest = done[-_FITTED:]
    notes = ["Medians over units, each divided by its replications; band: 5 % to 95 % of units."]
    if len(largest) == _FITTED:
        notes.append(f"Exponents are fitted to n = {', '.join(map(str, largest))}.")
    if set(where or {}) - {"n"}:
        notes.append("All cells of a replication are computed together: of --where only n matters here.")
    if chosen.manifest.generation or has_retries:
        notes.append("The store was extended, or units were retried: seconds are those of a unit's last run.")
    return notes
