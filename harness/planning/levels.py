"""Compute the exact levels of the procedures of a grid, which a store keeps in its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from harness.core.errors import UserError
from harness.core.families import StudyFamily
from harness.core.protocols import SupportsHoldout
from harness.core.text import format_error
from harness.core.types import Grid
from harness.store.manifest import Levels


def compute_holdout_levels(families: Sequence[StudyFamily], grid: Grid) -> Mapping[str, Levels]:
    """Compute the exact levels for searches for θ that hold out training points.

    They depend on the number of points that are left. Keyed by the name of the search.
    """
    searches = [theta for theta in grid.theta if isinstance(theta, str)]
    able = [(one, one.family) for one in families if isinstance(one.family, SupportsHoldout)]
    found = {theta: [one for one, each in able if each.left(theta, grid.n[0]) is not None] for theta in searches}
    return {theta: compute_exact_levels(some, grid, theta) for theta, some in found.items() if some}


def compute_exact_levels(families: Sequence[StudyFamily], grid: Grid, theta: str | None = None) -> Levels:
    """Compute the exact finite-sample levels of the procedures that have one, by procedure, n and α.

    With the name of a search for θ, the levels for the training points that the search does not hold out.
    """
    found: dict[str, dict[int, dict[float, float]]] = {}
    for one in families:
        family, labels = one.family, [grid.procedure[place] for place in one.find_places(grid)]
        for label, n, alpha in product(labels, grid.n, grid.alpha):
            left = family.left(theta, n) if theta is not None and isinstance(family, SupportsHoldout) else n
            level = None if left is None else _get_level(one, label, left, alpha)
            if level is not None:
                found.setdefault(label, {}).setdefault(n, {})[alpha] = level
    return found


def _get_level(one: StudyFamily, label: str, n: int, alpha: float) -> float | None:
    """Return the exact level that a family states; raise UserError if it isn't a probability."""
    try:
        level = one.family.level(one.get_own_name(label), n, alpha)
        if level is None or level != level:
            return None
        if 0 <= float(level) <= 1:
            return float(level)
        said = f"returned {level!r}"
    except Exception as error:
        said = f"raised {format_error(error)}"
    how = "it must return the coverage for exchangeable points, from 0 to 1, or None"
    raise UserError(f"family {one.name!r}: level of {label} at n = {n}, alpha = {alpha:g} {said}: {how}")
