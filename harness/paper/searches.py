"""Compare the θ̂ found here with those found when the printed digits were reproduced.

The latter are from SciPy 1.17.1. COBYLA of another version may stop elsewhere, and a table may then differ in a digit;
this comparison shows it.
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
"""Version of SciPy that found the recorded θ̂."""
_SAME = 1e-6
"""Relative tolerance: other CPUs differ by less, another optimum by far more."""

Cell = tuple[str, int, float, float]
"""Study, n, γ and λ."""


@dataclass(frozen=True)
class ComparedSearch:
    """Result of one search, here and as recorded."""

    study: str
    n: int
    gamma: float
    lam: float
    replication: int
    theta: float
    recorded: float

    @property
    def cell(self) -> Cell:
        """Study, n, γ and λ of the search."""
        return self.study, self.n, self.gamma, self.lam

    @property
    def same(self) -> bool:
        """Whether both searches stopped at the same θ."""
        return abs(self.theta / self.recorded - 1) <= _SAME


def compare_searches(study: str, url: str, manifest: Manifest) -> list[ComparedSearch]:
    """Compare all recorded searches of a study that its store contains."""
    by_size: dict[int, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
    grid, found = manifest.extent.grid, []
    for row in read_rows("theta_ml.csv"):
        n, gamma, lam = int(row["n"]), float(row["gamma"]), float(row["lam"])
        if row["study"] != study or SEARCH not in grid.theta or n not in grid.n:
            continue
        if n not in by_size:  # over replications (paths × draws), γ, θ and λ
            values = arrays.read(url, n, "theta_hat", manifest.generation)
            by_size[n] = values.reshape(-1, *values.shape[2:])
        places = grid.gamma.index(gamma), grid.theta.index(SEARCH), grid.lam.index(lam)
        theta = float(by_size[n][(int(row["replication"]), *places)])
        found.append(ComparedSearch(study, n, gamma, lam, int(row["replication"]), theta, float(row["theta"])))
    return found


def select_searches(found: Iterable[ComparedSearch], one: PrintedNumber) -> list[ComparedSearch]:
    """Return the searches that a printed number depends on."""
    if one.theta != SEARCH:
        return []
    return [each for each in found if each.cell == (one.study, one.n, one.gamma, one.lam)]


def describe_searches(found: Sequence[ComparedSearch]) -> str:
    """Describe how the searches compare with the recorded ones."""
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
