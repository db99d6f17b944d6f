"""Collect the votes for one procedure's regions, chunk by chunk."""

from __future__ import annotations

import numpy as np

from ckrr.linalg.workspace import Workspace
from ckrr.procedures import ConformityScore
from ckrr.regions.conformal import intersect_tails
from ckrr.regions.crossings import Crossings
from ckrr.regions.intervals import Regions, make_whole_line
from ckrr.regions.smoothing import Bools
from ckrr.regions.tail_sets import NO_VOTES, AffineMap, Indices, Tail, Votes, allocate_tops, compute_upper_tail, select


class VoteCounter:
    """Collect what one procedure needs of the crossings of b test points.

    These are the few largest crossings of each row, and the votes of exceptional residuals. `k` is how many of the n
    residuals must count, at each level; `more` marks where, above and below, smoothing requires one more.
    """

    def __init__(
        self,
        name: str,
        score: ConformityScore,
        k: Indices,
        b: int,
        scratch: Workspace,
        more: tuple[Bools, Bools] | None = None,
        n: int = 0,
    ) -> None:
        self.name, self._score, self._b, self._more = name, score, b, more
        self._levels = len(k)
        self._k = k if more is None else np.concatenate([k, k + 1])
        self._count = int(k.max() if more is None else min(k.max() + 1, n))
        self._tops = [allocate_tops(b, self._count, scratch, f"{name} {side}") for side in ("upper", "lower")]
        self._votes: tuple[list[Votes], list[Votes]] = ([], [])
        self._frames: list[AffineMap] = []

    def add(self, crossings: Crossings, here: slice) -> None:
        """Add the crossings of the test points `here`."""
        if self._count < 1:
            return
        self._frames.append(crossings.frame)
        sides = self._score.votes(crossings, self._count)
        for top, votes, side in zip(self._tops, self._votes, sides, strict=True):
            select(side.t, top[here])
            if side.votes.row.size:
                votes.append(Votes(side.votes.row + here.start, side.votes.value))

    def compute_regions(self) -> Regions:
        """Return the regions at each level, after all chunks have been added."""
        if self._count < 1:
            return make_whole_line(self._b, self._levels)
        frame = _join_frames(self._frames)
        upper, lower = self._compute_tail(0, frame), self._compute_tail(1, frame.mirror())
        return intersect_tails(lower.mirror(), upper)

    def _compute_tail(self, side: int, frame: AffineMap) -> Tail:
        top, votes = self._tops[side], _join_votes(self._votes[side])
        if self._more is None:
            return compute_upper_tail(top, frame, votes, self._k)
        found = compute_upper_tail(top, frame, votes, np.minimum(self._k, self._count))
        return found.drop_levels(self._k > self._count).choose(self._more[side])


def _join_frames(frames: list[AffineMap]) -> AffineMap:
    return AffineMap(np.concatenate([each.mean for each in frames]), np.concatenate([each.m for each in frames]))


def _join_votes(votes: list[Votes]) -> Votes:
    if not votes:
        return NO_VOTES
    return Votes(np.concatenate([each.row for each in votes]), np.concatenate([each.value for each in votes]))
