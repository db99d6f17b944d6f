"""Say in words what verdicts of the fixed and of the anytime design hold for, and which reserves they need.

`harness.results.validity` chooses the design, and `harness.statistics.betting` says what verdicts can't see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from harness.core.labels import list_axis_values
from harness.core.schema.axes import CELL
from harness.core.text import format_count
from harness.cube.anytime import ANYTIME, FIXED, allocate_cells
from harness.statistics.betting import bound_unseen
from harness.statistics.verdicts import CONSERVATIVE, EMPTY, VALID
from harness.store.manifest import Manifest
from harness.store.rounds import get_target

DESIGNS = (FIXED, ANYTIME)
"""Designs that may be requested."""


@dataclass(frozen=True)
class Reserve:
    """Part of all paths that the paths behind a valid cell may have failed to show, in the worst such cell."""

    part: float
    """u = ln(1/δ_c)/P."""
    paths: int
    """Number of paths P at which the cell was decided."""
    wrong: float
    """Probability δ_c of a wrong verdict on the cell."""


def describe_design(found: xr.Dataset, requested: str | None = None) -> str:
    """Describe what the probability of a wrong verdict holds for, as the end of a sentence.

    Parameters
    ----------
    found : xarray.Dataset
        Verdicts.
    requested : {"fixed", "anytime"}, optional
        Design that the reader requested, if any.
    """
    named = f"({found.attrs['design']} design{', as requested' * bool(requested)})"
    fixed = ~found["anytime"]
    if not bool(fixed.any()):
        return f"holds however often somebody looks {named}"
    paths = int(found["paths"].where(fixed, 0).max())
    were = "was" if paths == 1 else "were"
    look = (
        f"for one look at {format_count(paths, 'path')}, {'if these' if requested else 'which'} {were} given in advance"
    )
    if bool(fixed.all()):
        return f"holds {look} {named}"
    at_once = fixed.all([axis for axis in fixed.dims if axis != "n"])
    once, often = (", ".join(map(str, found["n"].values[mask].tolist())) for mask in (at_once.values, ~at_once.values))
    return f"holds {look}, at n = {once}, and however often somebody looks at n = {often} {named}"


def list_reserves(found: xr.Dataset) -> list[str]:
    """List what readers should know of some verdicts: cells that were added later, and contradictions."""
    has_result = (found["verdict"] != EMPTY) & found["distinct"]
    later = int((found["added_later"] & found["anytime"] & has_result).sum())
    against = int((found["contradicted"] & has_result).sum())
    added = (
        f"{format_count(later, 'cell')} {'was' if later == 1 else 'were'} added to a store that had results: verdicts "
        "on such cells hold only if they weren't chosen by looking at the results of these paths"
    )
    contradicted = (
        f"later paths contradict {format_count(against, 'verdict')}, which {'stands' if against == 1 else 'stand'} all "
        "the same: a verdict is given once"
    )
    return [text for text, count in ((added, later), (contradicted, against)) if count]


def find_reserve(manifest: Manifest, found: xr.Dataset) -> Reserve | None:
    """Find the largest part of all paths that the paths behind a valid cell may have failed to show.

    Left out are cells that are the whole line by arithmetic, and those that were decided by betting: their verdicts
    hold whatever the paths are that weren't seen.

    Returns
    -------
    Reserve or None
        None if no cell is valid, but for those.
    """
    by_betting = found["anytime"] & is_by_betting(manifest)
    certain = found["promised"] & (found["target"] == 1)
    is_valid = found["verdict"].isin((VALID, CONSERVATIVE)) & ~certain & ~by_betting
    if not bool(is_valid.any()):
        return None
    paths, wrong = xr.broadcast(found["decided_at"].where(is_valid), _tabulate_errors(manifest, found))
    parts = bound_unseen(paths.values, wrong.values)
    worst = np.unravel_index(int(np.nanargmax(parts)), parts.shape)
    return Reserve(float(parts[worst]), int(paths.values[worst]), float(wrong.values[worst]))


def is_by_betting(manifest: Manifest) -> bool:
    """Return whether verdicts of the anytime design are decided by betting."""
    target = get_target(manifest)
    return bool(target and target["until"].get("exact"))


def _tabulate_errors(manifest: Manifest, found: xr.Dataset) -> xr.DataArray:
    """Return the probability of a wrong verdict on each cell."""
    grid, wrong = manifest.extent.grid, 1 - float(found.attrs["level"])
    axes = (*CELL, "alpha")
    each = xr.DataArray(
        np.array([allocate_cells(manifest, n, wrong) for n in grid.n]),
        dims=("n", *axes),
        coords={axis: np.array(list_axis_values(grid, axis), dtype=found[axis].dtype) for axis in ("n", *axes)},
    ).sel({axis: found[axis] for axis in ("n", *axes)})
    return each.where(found["anytime"], wrong / found.attrs["cells"])
