"""Evaluate several procedures on one batch of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ckrr._validation import Array
from ckrr.evaluation.votes import VoteCounter
from ckrr.evaluation.weighting import RowWeights, WeightedCounter
from ckrr.linalg.workspace import Workspace
from ckrr.procedures import BAYESIAN, CONFORMAL, WEIGHTED, Levels
from ckrr.regions.bayesian import compute_deviation, compute_normal_p_values, make_normal_intervals
from ckrr.regions.blocks import PointBlock
from ckrr.regions.crossings import Crossings
from ckrr.regions.distributions import (
    compute_jumps,
    compute_normal_crps,
    compute_normal_pit,
    compute_step_crps,
    compute_step_pit,
    iter_slices,
)
from ckrr.regions.intervals import Regions
from ckrr.regions.residuals import Scale

CHUNK = 1 << 17
"""Entries of an array processed at once, few enough to stay in the cache. Results are bitwise independent of it."""


class ProcedureEvaluator:
    """Evaluate several procedures on the same rows, computing once what they share.

    Arrays of the size of W are made, and reduced to the few largest entries of each row, in chunks that stay in the
    cache. Later steps treat all rows at once, so that NumPy's overhead per call is small.
    """

    def __init__(self, rows: PointBlock, scratch: Workspace) -> None:
        self.rows, self._scratch = rows, scratch

    def compute_regions(
        self, procedures: Sequence[str], levels: Levels, tau: Array | None = None, weights: RowWeights | None = None
    ) -> dict[str, Regions]:
        """Return each procedure's regions at each level; conformal ones are smoothed by τ_i at row i if given.

        Weighted procedures need `weights`.
        """
        found = {name: self._compute_bayesian(name, levels) for name in procedures if name in BAYESIAN}
        found |= self._compute_conformal([name for name in procedures if name not in BAYESIAN], levels, tau, weights)
        return found

    def compute_p_values(
        self, procedure: str, y: Array, tau: Array | None = None, weights: RowWeights | None = None
    ) -> Array:
        """Return the procedure's p-value of y_i at row i; a conformal one is smoothed by τ_i if given."""
        if procedure in BAYESIAN:
            return compute_normal_p_values(self.rows.mean, self.compute_deviation(procedure), y)
        if procedure in WEIGHTED:
            assert weights is not None
            score, scale = WEIGHTED[procedure]
            crossed = self._iter_crossings([scale])
            return np.concatenate([weights.compute_p_values(score.counted(c, y[here]), here) for here, _, c in crossed])
        score, scale = CONFORMAL[procedure]
        found = [
            score.p_values(crossings, y[here], None if tau is None else tau[here])
            for here, _, crossings in self._iter_crossings([scale])
        ]
        return np.concatenate(found)

    def iter_jumps(self) -> Iterator[tuple[slice, Array]]:
        """Yield the jumps of the conformal predictive distributions, shape (rows, n), for some rows after the other."""
        b, n = self.rows.W.shape
        for here in iter_slices(b, max(1, CHUNK // n)):
            yield here, compute_jumps(self.rows.make_chunk(here, self._scratch), self._scratch)

    def compute_deviation(self, procedure: str) -> Array:
        """Return the standard deviation of the normal distribution of a Bayesian procedure at each row."""
        sigma2 = self.rows.sigma2[self.rows.owner]
        return compute_deviation(self.rows.m if procedure == "GPR-f" else self.rows.variance, sigma2)

    def score_distribution(self, procedure: str, y: Array, tau: Array) -> tuple[Array, Array]:
        """Return the CRPS of the procedure's predictive distribution at y_i, and its PIT with τ_i, at row i."""
        if procedure in BAYESIAN:
            mean, deviation = self.rows.mean, self.compute_deviation(procedure)
            return compute_normal_crps(mean, deviation, y), compute_normal_pit(mean, deviation, y, tau)
        found = [
            (compute_step_crps(jumps, y[here]), compute_step_pit(jumps, y[here], tau[here]))
            for here, jumps in self.iter_jumps()
        ]
        crps, pit = (np.concatenate(each) for each in zip(*found, strict=True))
        return crps, pit

    def _compute_bayesian(self, procedure: str, levels: Levels) -> Regions:
        return make_normal_intervals(self.rows.mean, self.compute_deviation(procedure), levels.z)

    def _compute_conformal(
        self, procedures: list[str], levels: Levels, tau: Array | None, weights: RowWeights | None
    ) -> dict[str, Regions]:
        tallies: dict[Scale, list[VoteCounter | WeightedCounter]] = {}
        for name in sorted(procedures, key=_get_turn):
            _, scale = CONFORMAL[name] if name in CONFORMAL else WEIGHTED[name]
            tallies.setdefault(scale, []).append(self._make_counter(name, levels, tau, weights))
        for here, scale, crossings in self._iter_crossings(tallies):
            for tally in tallies[scale]:
                tally.add(crossings, here)
        return {tally.name: tally.compute_regions() for each in tallies.values() for tally in each}

    def _make_counter(
        self, name: str, levels: Levels, tau: Array | None, weights: RowWeights | None
    ) -> VoteCounter | WeightedCounter:
        b, n = len(self.rows.m), self.rows.W.shape[1]
        if name in WEIGHTED:
            assert weights is not None
            score, _ = WEIGHTED[name]
            return WeightedCounter(name, score, weights.make_chunks(levels, score.sides))
        score, _ = CONFORMAL[name]
        more = None if tau is None else levels.find_raised_thresholds(score, n, tau)
        return VoteCounter(name, score, levels.compute_thresholds(score, n), b, self._scratch, more, n)

    def _iter_crossings(self, scales: Iterable[Scale]) -> Iterator[tuple[slice, Scale, Crossings]]:
        """Yield the crossings chunk by chunk, for each kind of residual."""
        b, n = self.rows.W.shape
        for here in iter_slices(b, max(1, CHUNK // n)):
            chunk = self.rows.make_chunk(here, self._scratch)
            for scale in scales:
                D = scale(chunk.W, chunk.m, chunk.columns.diag_Q, self._scratch)
                yield here, scale, Crossings(chunk, D, self._scratch)


def _get_turn(procedure: str) -> tuple[bool, bool, str]:
    """Return the key to sort procedures by: RRCM, which overwrites the crossings, comes last."""
    score, _ = CONFORMAL[procedure] if procedure in CONFORMAL else WEIGHTED[procedure]
    return score.sides == 1, procedure in CONFORMAL, procedure
