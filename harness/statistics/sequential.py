"""Decide, path by path, whether cells keep their level, with words that never change.

At each look (`harness.statistics.looks`) a cell has an interval [low, high] of its coverage; all of them hold together
with probability 1 − δ_c. With L its level, τ the tolerance and a = L − τ, a cell is, at the first look that counts and
at which one of these holds, ::

    valid          low ≥ a
    invalid        high < a
    borderline     a − τ/2 ≤ low and high ≤ a + τ/2
    conservative   low > L + τ          (a valid cell may become so later)

and undecided until then. The verdict stands, whatever later intervals are; that a later one contradicts it has a
probability below δ_c. A look at P paths counts if P ≥ 28 + 25·g², with g the skewness of the path means (Cochran;
Sugden et al. 2000): before, they are too few for the central limit theorem.

A verdict is therefore a function of the first P paths, and the same in every study that has them. Every wrong word
needs an interval that misses the truth, so of G cells with δ_c = δ/G each, one is wrong with a probability of at most
δ, whatever their dependence, and however the number of paths came about. `allocate_error` divides δ among cells if more
of them may be added.

A failed replication counts as 0 for the lower end and as 1 for the upper end, so a verdict holds whatever it would have
been. Where the exact level is 1, the region is the whole line by arithmetic: such a cell is valid at the first look if
it has no miss, and isn't one of the G cells.

The rule sees the world through the paths it was shown: see `harness.statistics.betting` for what it can't see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.types import Array, Bools, Values
from harness.statistics.looks import FIRST, Counts, ShareAtLooks, compute_level, list_looks
from harness.statistics.verdicts import (
    BORDERLINE,
    CONSERVATIVE,
    EMPTY,
    INVALID,
    UNDECIDED,
    VALID,
    Codes,
    get_code,
    judge,
)

NEAR = 0.5
"""A cell is borderline if its interval is within `NEAR`·τ of the border."""
_NORMAL, _SKEWED = 28, 25
"""A look counts from `_NORMAL` + `_SKEWED`·g² paths on."""
_FIRST_PART = 0.8
"""Part of the probability of error for the cells that a study begins with."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Verdicts on cells, and when they were reached."""

    codes: Codes
    paths: Counts
    """Number of paths at which a cell was decided; 0 where it wasn't."""
    settled: Counts
    """Number of paths at which it was known, too, whether a valid cell is conservative; 0 where it isn't."""
    is_contradicted: Bools
    """Whether a later interval contradicts the verdict."""

    @property
    def is_open(self) -> Bools:
        """Whether a cell is undecided, so that it needs more paths."""
        return np.asarray(self.codes == get_code(UNDECIDED))


@dataclass(frozen=True, eq=False)
class Bounds:
    """Intervals of the coverage at each look, over looks and cells."""

    looks: Counts
    low: Array
    high: Array
    counts: Bools
    """Whether a look counts."""


def allocate_error(cells: Sequence[int], wrong: float) -> list[float]:
    """Divide a probability of error among cells, of which later ones may be added when a study is extended.

    The first cells share 0.8·δ, and those of the g-th growth 0.2·δ·2^−g. So cells that are added change no older
    verdict. That holds even if none was added: 0.2·δ is kept for those that may come.

    Parameters
    ----------
    cells : sequence of int
        Number of cells of each extent of a study, the first one first. Leave out cells that are the whole line.
    wrong : float
        Probability δ that any verdict is wrong.

    Returns
    -------
    list of float
        For each extent, the probability δ_c of each cell that is new in it; NaN where none is.

    Examples
    --------
    >>> allocate_error([80, 80, 100], 0.05)
    [0.0005, nan, 0.00025]
    """
    found, known, growth = [], 0, 0
    for count in cells:
        part = wrong * (_FIRST_PART if growth == 0 else (1 - _FIRST_PART) * 2.0**-growth)
        found.append(part / (count - known) if count > known else float("nan"))
        growth += count > known
        known = max(known, count)
    return found


def decide(
    values: Values,
    ok: Bools,
    failed: Bools,
    points: int,
    target: Array,
    tolerance: Array,
    wrong: float | Array,
    exact: Bools | bool = False,
    is_counted: bool = True,
) -> Decision:
    """Decide whether cells keep their level, from the first paths of a study.

    Parameters
    ----------
    values, ok : array
        A coverage for each replication, and whether to include it. Paths 0, 1, …, in this order, none left out.
    failed : array of bool
        The replications that failed.
    points : int
        Number of test points in a replication.
    target, tolerance : array
        Level L that coverage is compared with, and tolerance τ, for each cell.
    wrong : float or array
        Probability δ_c of a wrong verdict on a cell.
    exact : array of bool
        Whether the target is an exact level. If it is 1, the region is the whole line by arithmetic.
    is_counted : bool
        Whether coverage is a share of counted points; otherwise it is a mean of probabilities.

    Examples
    --------
    >>> hits = np.random.default_rng(0).binomial(200, 0.9, (100, 1)) / 200
    >>> found = decide(hits, hits >= 0, hits < 0, 200, np.array(0.9), np.array(0.02), 0.05)
    >>> bool(found.codes == get_code(VALID)), int(found.paths)
    (True, 50)
    """
    shape = values.shape[2:]
    target, tolerance = (np.broadcast_to(each, shape) for each in (target, tolerance))
    bounds = bound_looks(values, ok, failed, points, wrong, is_counted)
    certain, is_refuted = find_certain(values, ok, np.broadcast_to(exact & (target == 1), shape), bounds.looks)
    low, high = (np.where(certain, 1.0, end) for end in (bounds.low, bounds.high))
    bounds = Bounds(bounds.looks, low, high, bounds.counts | certain)
    found = walk_looks(bounds, target, tolerance)
    empty = ~np.broadcast_to(ok, values.shape).any(axis=(0, 1))
    return Decision(
        np.where(empty, get_code(EMPTY), found.codes),
        np.where(empty, 0, found.paths),
        np.where(empty, 0, found.settled),
        (found.is_contradicted | is_refuted) & ~empty,
    )


def bound_looks(
    values: Values, ok: Bools, failed: Bools, points: int, wrong: float | Array, is_counted: bool = True
) -> Bounds:
    """Return intervals that hold at all looks together, whatever failed replications would have given.

    As in `harness.statistics.verdicts.BoundedShare`, they contain the interval of the replications that are ok.
    """
    looks, failed = list_looks(len(values)), np.broadcast_to(failed, values.shape)
    found = ShareAtLooks.from_replications(values, ok, points, looks, is_counted)
    if not failed.any():
        paths = np.asarray(found.share.paths)
        low, high = found.share.interval(compute_level(paths, wrong))
        return Bounds(looks, low, high, _is_enough(paths, found.skewness))
    worst, best = (
        ShareAtLooks.from_replications(np.where(failed, filled, values), ok | failed, points, looks, is_counted)
        for filled in (0.0, 1.0)
    )
    paths = np.asarray(worst.share.paths)
    low, high = found.share.interval(level := compute_level(paths, wrong))
    low, high = np.fmin(low, worst.share.interval(level)[0]), np.fmax(high, best.share.interval(level)[1])
    return Bounds(looks, low, high, _is_enough(paths, np.maximum(abs(worst.skewness), abs(best.skewness))))


def _is_enough(paths: Values, skewness: Array) -> Bools:
    """Return whether a look counts: whether paths are enough for their skewness."""
    return np.asarray((paths >= FIRST) & (paths >= _NORMAL + _SKEWED * skewness**2))


def find_certain(values: Values, ok: Bools, whole: Bools, looks: Counts) -> tuple[Bools, Bools]:
    """Find the looks at which cells that are the whole line have no miss, and the cells that have one later.

    Parameters
    ----------
    values, ok : array
        A coverage for each replication, and whether to include it.
    whole : array of bool
        The cells that are the whole line by arithmetic.
    looks : array of int
        Numbers of paths at which to look.
    """
    ok = np.broadcast_to(ok, values.shape)
    misses = np.where(ok, values < 1, False).any(axis=1)
    seen, missed = (np.logical_or.accumulate(each, axis=0)[looks - 1] for each in (ok.any(axis=1), misses))
    certain = whole & seen & ~missed
    return certain, np.asarray(certain.any(axis=0) & misses.any(axis=0))


def walk_looks(bounds: Bounds, target: Array, tolerance: Array) -> Decision:
    """Return the verdicts that follow from the intervals at all looks, in their order."""
    if not len(bounds.looks):
        nothing = np.zeros(target.shape, dtype=np.int64)
        return Decision(np.full(target.shape, get_code(UNDECIDED)), nothing, nothing, nothing > 0)
    border, near, most = target - tolerance, NEAR * tolerance, target + tolerance
    low, high = bounds.low, bounds.high
    codes = judge(low, high, target, tolerance)
    is_near = (low >= border - near) & (high <= border + near) & (codes == get_code(UNDECIDED))
    codes = np.where(is_near, get_code(BORDERLINE), codes)
    codes = np.where(bounds.counts, codes, get_code(UNDECIDED))

    places = np.arange(len(codes)).reshape(-1, *[1] * target.ndim)
    first, is_decided = _find_first(codes != get_code(UNDECIDED))
    word = np.take_along_axis(codes, first[None], axis=0)[0]
    is_valid = word >= get_code(VALID)
    wide, is_wide = _find_first((codes == get_code(CONSERVATIVE)) & is_valid)
    known, is_known = _find_first(bounds.counts & (high <= most) & (places >= first) & is_valid)
    word = np.where(is_wide, get_code(CONSERVATIVE), word)
    settled = np.where(is_wide, wide, np.where(is_valid, known, first))
    is_settled = is_wide | np.where(is_valid, is_known, is_decided)

    against = np.select(
        [word == get_code(each) for each in (VALID, CONSERVATIVE, INVALID, BORDERLINE)],
        [high < border, high <= most, low >= border, (high < border - near) | (low > border + near)],
        default=False,
    )
    return Decision(
        word,
        np.where(is_decided, bounds.looks[first], 0),
        np.where(is_settled, bounds.looks[settled], 0),
        np.asarray((against & bounds.counts & (places >= np.where(is_wide, wide, first))).any(axis=0)),
    )


def _find_first(where: Bools) -> tuple[Counts, Bools]:
    """Return the first place along the first axis at which something holds, and whether there is one."""
    return where.argmax(axis=0), np.asarray(where.any(axis=0))
