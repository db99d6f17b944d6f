"""The θ̂ that the search found, compared with those that were found when the printed digits were reproduced.

They are from SciPy 1.17.1. Another version's COBYLA may stop elsewhere, and a table may then differ in a digit: here
that is seen at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from harness.paper.printed import SEARCH, PrintedNumber, read_rows
from harness.store import arrays
from harness.store.manifest import Manifest

RECORDED_WITH = "1.17.1"
_SAME = 1e-6
"""Relative: other CPUs differ by less, another optimum by far more."""

Cell = tuple[str, int, float, float]
"""Study, n, γ and λ."""


@dataclass(frozen=True)
class ComparedSearch:
    """One search: what was found here and what is recorded."""

    study: str
    n: int
    gamma: float
    lam: float
    replication: int
    theta: float
    recorded: float

    @property
    def cell(self) -> Cell:
        """Where it was."""
        return self.study, self.n, self.gamma, self.lam

    @property
    def same(self) -> bool:
        """Whether both stopped at one place."""
        return abs(self.theta / self.recorded - 1) <= _SAME


def compare_searches(study: str, url: str, manifest: Manifest) -> list[ComparedSearch]:
    """All recorded searches of a study that its store has done."""
    backend: dict[int, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
    grid, found = manifest.extent.grid, []
    for row in read_rows("theta_ml.csv"):
        n, gamma, lam = int(row["n"]), float(row["gamma"]), float(row["lam"])
        if row["study"] != study or SEARCH not in grid.theta or n not in grid.n:
            continue
        if n not in backend:  # over replications (paths × draws), γ, θ and λ
            values = arrays.read(url, n, "theta_hat", manifest.generation)
            backend[n] = values.reshape(-1, *values.shape[2:])
        places = grid.gamma.index(gamma), grid.theta.index(SEARCH), grid.lam.index(lam)
        theta = float(backend[n][(int(row["replication"]), *places)])
        found.append(ComparedSearch(study, n, gamma, lam, int(row["replication"]), theta, float(row["theta"])))
    return found


def select_searches(found: Iterable[ComparedSearch], one: PrintedNumber) -> list[ComparedSearch]:
    """The searches that a printed number depends on."""
    if one.theta != SEARCH:
        return []
    return [each for each in found if each.cell == (one.study, one.n, one.gamma, one.lam)]


def describe_searches(found: Sequence[ComparedSearch]) -> str:
    """How the searches compare with the recorded ones, in words."""
    here = f"SciPy {version('scipy')}"
    others = [one for one in found if not one.same]
    if not others:
        return f"θ̂: all {len(found)} searches stopped where those with SciPy {RECORDED_WITH} did ({here} here)"
    worst = max(others, key=lambda one: abs(np.log(one.theta / one.recorded)))
    return (
        f"θ̂: {len(others)} of {len(found)} searches stopped elsewhere than those with SciPy {RECORDED_WITH} ({here} "
        f"here); the farthest: {worst.study}, γ = {worst.gamma:g}, λ = {worst.lam:g}, replication {worst.replication}: "
        f"{worst.theta:.6g} for {worst.recorded:.6g}"
    )
