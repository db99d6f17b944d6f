"""Say how many paths a study needs next that runs until it is decided, and what it has found.

A round is a number of paths that is looked at. All rounds at one n follow from its complete prefix of paths
(`harness.cube.anytime`); `harness.statistics.stopping` has the rule for the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.core.extent import find_distinct
from harness.core.schema.axes import QUANTILES
from harness.core.types import FIRST_ROUND, Array, Bools, Values
from harness.cube.anytime import Read, find_places, read_cells
from harness.statistics.intervals import LEVEL
from harness.statistics.stopping import (
    choose_paths,
    compute_fixed_paths,
    decide_widths,
    expect_paths,
    find_precise_look,
)
from harness.statistics.verdicts import BORDERLINE, UNDECIDED, WORDS, get_code
from harness.store.manifest import Manifest
from harness.store.requests import get_requested_extent
from harness.store.rounds import Round, get_target, hash_question


def iter_rounds(manifest: Manifest, n: int, read: Read, prefix: int) -> Iterator[Round]:
    """Yield all rounds at one n that its complete prefix of paths allows, in their order.

    The last one says how many paths are wanted next, or that nothing is.

    Parameters
    ----------
    manifest : Manifest
        The manifest of a store whose latest run has `until`.
    n : int
        Size of the training sample.
    read : callable
        Reads a variable of the replications at this n.
    prefix : int
        Number of paths whose units are all done.
    """
    target = get_target(manifest)
    assert target is not None, "rounds are for studies with `until`"
    budget = int(target["budget"]["paths"])
    paths = min(FIRST_ROUND, budget)
    if prefix < paths:
        return
    aims, question = _Aims(manifest, n, read, min(prefix, budget), target["until"]), hash_question(manifest)
    while paths <= prefix:
        is_open, expected = aims.look(paths)
        wanted = choose_paths(paths, expected, budget)
        median = float(np.median(expected)) if expected.size and not target["until"].get("exact") else np.inf
        yield Round(
            n,
            paths,
            int(is_open.sum()),
            aims.count_borderline(paths),
            round(median) if paths < median < np.inf else None,
            None if wanted == paths else wanted,
            target,
            question,
        )
        if wanted == paths:
            return
        paths = wanted


class _Aims:
    """What a study is to reach at one n, and since how many paths each cell that was asked for has reached it."""

    def __init__(self, manifest: Manifest, n: int, read: Read, prefix: int, until: Mapping[str, Any]) -> None:
        self._n, self._until = n, until
        self.cells = read_cells(manifest, n, read, prefix, level=until.get("verdict") or LEVEL)
        asked: Bools = find_places(get_requested_extent(manifest), manifest.extent, n)
        self.included = find_distinct(asked, manifest.uses, manifest.extent.grid)
        self.decision = self.cells.decide(bool(until.get("exact")))
        self._widths: Values | None = None
        if until.get("width"):
            middle = QUANTILES.index(0.5)
            width = read("width", (slice(0, prefix),))[..., middle]
            self._widths = decide_widths(width, self.cells.ok, until["width"], self.cells.wrong).paths

    def look(self, paths: int) -> tuple[Bools, Array]:
        """Return which cells are open after a number of paths, and when each of these is expected to be decided."""
        is_open = np.zeros(self.included.shape, dtype=bool)
        expected, has_results = np.zeros(is_open.shape), self._get_ok(paths).any(axis=(0, 1))
        if self._until.get("verdict"):
            since = self.decision.settled if self._until.get("conservative") else self.decision.paths
            late = self._is_late(since, paths) & has_results
            is_open |= late
            expected = np.where(late, self._expect_verdicts(paths), expected)
        if self._until.get("se"):
            late, needed = self._expect_errors(paths)
            is_open |= late
            expected = np.where(late, np.maximum(expected, needed), expected)
        if self._widths is not None:
            late = self._is_late(self._widths, paths) & has_results
            is_open |= late
            expected = np.where(late, np.maximum(expected, 2.0 * paths), expected)
        return is_open, np.nan_to_num(expected[is_open], nan=np.inf, posinf=np.inf)

    def count_borderline(self, paths: int) -> int:
        """Return the number of cells that were found to be at the border after a number of paths."""
        near = (self.decision.codes == get_code(BORDERLINE)) & ~self._is_late(self.decision.paths, paths)
        return int((near & self.included).sum())

    def _is_late(self, since: Values, paths: int) -> Bools:
        return np.asarray(self.included & ((since == 0) | (since > paths)))

    def _get_ok(self, paths: int) -> Bools:
        return np.broadcast_to(self.cells.ok, self.cells.values.shape)[:paths]

    def _summarise(self, paths: int) -> tuple[Array, Array]:
        """Return mean and standard deviation of the path means of each cell."""
        ok = self._get_ok(paths)
        counts = ok.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(ok, self.cells.values[:paths], 0.0).sum(axis=1) / counts
            some = counts > 0
            centre = np.where(some, means, 0.0).sum(axis=0) / some.sum(axis=0)
            square = (np.where(some, means - centre, 0.0) ** 2).sum(axis=0) / np.maximum(some.sum(axis=0) - 1, 1)
        return centre, np.sqrt(square)

    def _expect_verdicts(self, paths: int) -> Array:
        centre, sd = self._summarise(paths)
        border = self.cells.target - self.cells.tolerance
        return expect_paths(np.array(paths), centre, sd, border, self.cells.tolerance, self.cells.wrong)

    def _expect_errors(self, paths: int) -> tuple[Bools, Array]:
        """Return the cells of an n that isn't precise enough, and the paths that each needs."""
        cells, target = self.cells, float(self._until["se"])
        worth = cells.points if cells.is_counted else 4.0 * (self._n + 2)
        if find_precise_look(cells.values[:paths], self._get_ok(paths) & self.included, target, worth):
            return np.zeros(self.included.shape, dtype=bool), np.zeros(self.included.shape)
        centre, sd = self._summarise(paths)
        needed = np.maximum(sd**2, centre * (1 - centre) / worth) / target**2
        late = self.included & (needed > paths)
        return (late if late.any() else self.included), needed

    def count_fixed_paths(self) -> Array:
        """Return how many paths a fixed design would have needed to decide each cell."""
        centre, sd = self._summarise(len(self.cells.values))
        border = self.cells.target - self.cells.tolerance
        return compute_fixed_paths(centre, sd, border, self.cells.tolerance, self.cells.wrong)


@dataclass(frozen=True)
class Answer:
    """What a study that ran until it was decided found at one n."""

    n: int
    paths: int
    counts: Mapping[str, int]
    """Number of cells with each verdict."""
    fixed_paths: int
    """Number of paths with which a fixed design would have decided the same cells with a power of 0.9."""


def summarise_size(manifest: Manifest, n: int, read: Read, paths: int) -> Answer:
    """Return the verdicts at one n after a number of paths, and what a fixed design would have needed for them."""
    target = get_target(manifest)
    assert target is not None, "answers are for studies with `until`"
    aims = _Aims(manifest, n, read, paths, target["until"])
    codes = aims.decision.codes[aims.included]
    counts = {word: int((codes == get_code(word)).sum()) for word in WORDS[::-1] if word}
    needed = aims.count_fixed_paths()[aims.included & (aims.decision.codes != get_code(UNDECIDED))]
    needed = needed[np.isfinite(needed)]
    return Answer(n, paths, counts, int(np.ceil(needed.max())) if needed.size else 0)
