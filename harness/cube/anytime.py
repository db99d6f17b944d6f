"""Judge cells by a rule that allows looking again, however often, while a study adds paths.

A verdict is a function of the complete prefix of paths: of the first paths whose replications are all done. So kills,
blocks, drivers and their order can't change it, nor the number of paths at which it was reached.
`harness.statistics.sequential` has the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.core.extent import find_distinct, find_included
from harness.core.schema.axes import CELL
from harness.core.types import FAILED, Array, Bools, Extent, Status, Values
from harness.cube.levels import compute_targets, find_uncertain, get_judged_measure
from harness.statistics.betting import decide_by_betting
from harness.statistics.intervals import LEVEL
from harness.statistics.sequential import Decision, allocate_error, decide
from harness.statistics.verdicts import compute_tolerance
from harness.store.inventory import is_damaged
from harness.store.manifest import Manifest

FIXED, ANYTIME = "fixed", "anytime"
"""Designs: a number of paths that was given in advance, judged once; or one that may grow while somebody looks."""
_NEVER = -1
"""Generation of cells that were always excluded."""
Read = Callable[[str, tuple[Any, ...]], Values]
"""Function from the name of a variable and an index to its values at one n, over path, draw, procedure, γ, θ, λ, …"""


def choose_design(manifest: Manifest, is_complete: bool) -> str:
    """Return the design that the verdicts of a store need.

    Verdicts of the fixed design hold at one look: at all paths that were asked for from the beginning. A study that
    isn't complete, that grew in paths or draws, or that ever ran until it is decided, is looked at more than once.
    """
    now = manifest.extent
    grew = any((one.paths, one.draws) != (now.paths, now.draws) for one in manifest.extents)
    return FIXED if is_complete and not grew and not manifest.had_rounds else ANYTIME


@dataclass(frozen=True, eq=False)
class Cells:
    """Replications of some cells at one n, in the order of paths, and what their verdicts depend on."""

    values: Values
    """Coverage, over path, draw, procedure, γ, θ, λ and α."""
    ok: Bools
    failed: Bools
    done: Bools
    """Whether a replication has been run, over the same axes."""
    target: Array
    tolerance: Array
    exact: Bools
    wrong: Array
    """Probability of a wrong verdict on each cell."""
    points: int
    is_counted: bool

    def decide(self, by_betting: bool = False) -> Decision:
        """Judge each cell by its complete prefix of paths; cells that have prefixes of the same length at once."""
        shape = self.values.shape[2:]
        prefix = np.broadcast_to(count_complete_paths(self.done), shape)
        found = Decision(*(np.zeros(shape, kind) for kind in (np.uint8, np.int64, np.int64, bool)))
        for paths in np.unique(prefix):
            here = prefix == paths
            one = self._decide_prefix(int(paths), here, by_betting)
            for mine, whole in zip(vars(one).values(), vars(found).values(), strict=True):
                whole[here] = mine
        return found

    def _decide_prefix(self, paths: int, here: Bools, by_betting: bool) -> Decision:
        values, whole = self.values[:paths, :, here], self.values.shape
        ok, failed = (np.broadcast_to(each, whole)[:paths, :, here] for each in (self.ok, self.failed))
        target, tolerance, wrong = (
            np.broadcast_to(each, here.shape)[here] for each in (self.target, self.tolerance, self.wrong)
        )
        exact = np.broadcast_to(self.exact, here.shape)[here]
        if by_betting:
            return decide_by_betting(values, ok, failed, target, tolerance, wrong, exact)
        return decide(values, ok, failed, self.points, target, tolerance, wrong, exact, self.is_counted)


def count_complete_paths(done: Bools) -> Values:
    """Return the number of leading paths whose replications are all done, for each cell.

    Examples
    --------
    >>> int(count_complete_paths(np.array([[True], [True], [False], [True]])))
    2
    """
    return np.asarray(np.logical_and.accumulate(done.all(axis=1), axis=0).sum(axis=0))


def read_cells(
    manifest: Manifest,
    n: int,
    read: Read,
    paths: int,
    procedures: slice = slice(None),
    thetas: slice = slice(None),
    level: float = LEVEL,
) -> Cells:
    """Read the coverages of some cells at one n, of the first paths."""
    where = (slice(0, paths), slice(None), procedures, slice(None), thetas)
    name = get_judged_measure(manifest)
    status, coverage = read("status", where), read("coverage", where)
    values = coverage if name == "coverage" else read(name, where)
    ok = (status == Status.OK) & ~is_damaged(status, coverage, manifest.extents)
    return make_cells(manifest, n, values, status, ok, name == "coverage", procedures, thetas, level)


def make_cells(
    manifest: Manifest,
    n: int,
    values: Values,
    status: Values,
    ok: Bools,
    is_counted: bool,
    procedures: slice,
    thetas: slice,
    level: float,
    tolerance: float | None = None,
) -> Cells:
    """Combine the coverages of some cells at one n with what their verdicts depend on.

    Parameters
    ----------
    manifest : Manifest
        The store's manifest.
    n : int
        Size of the training sample.
    values, status, ok : array
        Coverages, over path, draw, procedure, γ, θ, λ and α; and without α how each replication ended, and whether it
        has an undamaged result.
    is_counted : bool
        Whether coverages are shares of counted points.
    procedures, thetas : slice
        Places of the cells on these axes.
    level : float
        Probability that no verdict of the whole grid is wrong.
    tolerance : float, optional
        The tolerance τ. Default: 0.02, or α/5 if that is less.
    """
    target, exact = compute_targets(manifest, n)
    alpha = np.array(manifest.extent.grid.alpha)
    mask = ok[..., None]
    done = (ok | ((status != Status.OK) & (status != Status.NOT_RUN)))[..., None]
    return Cells(
        values,
        mask,
        np.isin(status, FAILED)[..., None],
        done & _has_alpha(values, mask),
        target[procedures, :, thetas],
        compute_tolerance(alpha) if tolerance is None else np.full(len(alpha), tolerance),
        exact[procedures, :, thetas],
        allocate_cells(manifest, n, 1 - level)[procedures, :, thetas],
        manifest.test_points,
        is_counted,
    )


def _has_alpha(values: Values, ok: Bools) -> Bools:
    """Return whether a replication has a result at each α: values of α that were added later are missing at first."""
    return ~(ok & np.isnan(values))


def allocate_cells(manifest: Manifest, n: int, wrong: float) -> Array:
    """Return the probability of a wrong verdict on each cell at one n, over procedure, γ, θ, λ and α.

    Cells that were added later have a share of their own, so that they change no older verdict.
    """
    each = allocate_error(np.cumsum(count_new_cells(manifest)).tolist(), wrong)
    generations = find_generations(manifest, n)
    return np.asarray(np.nan_to_num(np.array(each), nan=wrong)[generations])


def count_new_cells(manifest: Manifest) -> Values:
    """Return the number of cells that are new in each extent of a store, but for those whose exact level is 1.

    An extent may also exclude cells that older ones had, so the sizes of extents don't tell.
    """
    found = np.zeros(len(manifest.extents), dtype=np.int64)
    for n in manifest.extent.grid.n:
        generations = find_generations(manifest, n)
        here = find_uncertain(manifest, manifest.extent, n) & (generations != _NEVER)
        distinct = find_distinct(here, manifest.uses, manifest.extent.grid)
        found += np.bincount(generations[distinct], minlength=len(found))
    return found


def find_generations(manifest: Manifest, n: int) -> Values:
    """Return the number of the store's extent that first had each cell at one n, over procedure, γ, θ, λ and α.

    It is −1 for cells that all extents exclude.
    """
    whole = manifest.extent.grid
    shape = tuple(len(getattr(whole, axis)) for axis in (*CELL, "alpha"))
    found = np.full(shape, _NEVER)
    for i, extent in reversed(list(enumerate(manifest.extents))):
        if n in extent.grid.n:
            found[find_places(extent, manifest.extent, n)] = i
    return _join_generations(found, manifest)


def _join_generations(generations: Values, manifest: Manifest) -> Values:
    """Give cells that differ only in a θ or λ that their procedure doesn't use the first generation of any of them."""
    grid, later = manifest.extent.grid, len(manifest.extents)
    for i, name in enumerate(grid.procedure):
        for cells in manifest.uses.list_results(name, grid):
            if len(cells) > 1:
                thetas, lams = np.array(cells).T
                mine = generations[i][:, thetas, lams]
                first = np.where(mine == _NEVER, later, mine).min(axis=1, keepdims=True)
                generations[i][:, thetas, lams] = np.where(mine == _NEVER, _NEVER, first)
    return generations


def find_places(part: Extent, whole: Extent, n: int) -> Bools:
    """Return a mask of the cells of an extent among those of a larger one, at one n."""
    places = [[getattr(whole.grid, axis).index(each) for each in getattr(part.grid, axis)] for axis in (*CELL, "alpha")]
    mask = np.zeros([len(getattr(whole.grid, axis)) for axis in (*CELL, "alpha")], dtype=bool)
    mask[np.ix_(*places)] = find_included(part, n)[..., None]
    return mask
