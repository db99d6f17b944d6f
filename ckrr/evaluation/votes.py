"""The votes for one procedure's regions, gathered chunk by chunk."""

from __future__ import annotations

import numpy as np

from ckrr.linalg.workspace import Scratch
from ckrr.procedures import Score
from ckrr.regions.conformal import intersected
from ckrr.regions.crossings import Crossings
from ckrr.regions.intervals import Regions, whole_line
from ckrr.regions.smoothing import Bools
from ckrr.regions.tail_sets import NO_VOTES, Frame, Indices, Tail, Votes, select, tops, upper_tail


class Tally:
    """What a procedure keeps of the crossings of b test points: the few largest of each row, and the odd votes.

    `k` is how many of n residuals must count, at each level; `more` says where, above and below, that is one more.
    """

    def __init__(
        self,
        name: str,
        score: Score,
        k: Indices,
        b: int,
        scratch: Scratch,
        more: tuple[Bools, Bools] | None = None,
        n: int = 0,
    ) -> None:
        self.name, self._score, self._b, self._more = name, score, b, more
        self._levels = len(k)
        self._k = k if more is None else np.concatenate([k, k + 1])
        self._count = int(k.max() if more is None else min(k.max() + 1, n))
        self._tops = [tops(b, self._count, scratch, f"{name} {side}") for side in ("upper", "lower")]
        self._votes: tuple[list[Votes], list[Votes]] = ([], [])
        self._frames: list[Frame] = []

    def add(self, crossings: Crossings, here: slice) -> None:
        """Take what is needed of the test points `here`."""
        if self._count < 1:
            return
        self._frames.append(crossings.frame)
        sides = self._score.votes(crossings, self._count)
        for top, votes, side in zip(self._tops, self._votes, sides, strict=True):
            select(side.t, top[here])
            if side.votes.row.size:
                votes.append(Votes(side.votes.row + here.start, side.votes.value))

    def regions(self) -> Regions:
        """The regions at each level, once all chunks were taken."""
        if self._count < 1:
            return whole_line(self._b, self._levels)
        frame = _joined_frames(self._frames)
        upper, lower = self._tail(0, frame), self._tail(1, frame.mirrored())
        return intersected(lower.mirrored(), upper)

    def _tail(self, side: int, frame: Frame) -> Tail:
        top, votes = self._tops[side], _joined_votes(self._votes[side])
        if self._more is None:
            return upper_tail(top, frame, votes, self._k)
        found = upper_tail(top, frame, votes, np.minimum(self._k, self._count))
        return found.without(self._k > self._count).chosen(self._more[side])


def _joined_frames(frames: list[Frame]) -> Frame:
    return Frame(np.concatenate([each.mean for each in frames]), np.concatenate([each.m for each in frames]))


def _joined_votes(votes: list[Votes]) -> Votes:
    if not votes:
        return NO_VOTES
    return Votes(np.concatenate([each.row for each in votes]), np.concatenate([each.value for each in votes]))
