"""Judge the coverage of cells by the design of their study: once, or as often as somebody looks.

The cube and `harness.results.validity` both call this module, so that they have the same verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.core.types import Values
from harness.cube.anytime import ANYTIME, FIXED, Cells, choose_design
from harness.cube.levels import count_judged_cells
from harness.statistics.intervals import LEVEL, Estimate
from harness.statistics.looks import compute_level
from harness.statistics.verdicts import UNDECIDED, BoundedShare, Codes, get_code, judge_estimates
from harness.store.manifest import Manifest
from harness.store.rounds import get_target


@dataclass(frozen=True, eq=False)
class Judgement:
    """Verdicts on cells, with the intervals that they follow from."""

    design: str
    estimate: Estimate
    """Coverages, with intervals that hold in all cells together."""
    codes: Codes
    paths: Values
    """Number of paths at which a cell was decided; 0 where it isn't."""
    is_contradicted: Values
    """Whether later paths contradict a verdict, which stands all the same."""


def get_level(manifest: Manifest) -> float:
    """Return the probability that no verdict of the grid is wrong: as `until` says, or 0.95."""
    target = get_target(manifest)
    return float((target or {}).get("until", {}).get("verdict") or LEVEL)


def judge_cells(
    manifest: Manifest, cells: Cells, share: BoundedShare, level: float, design: str | None = None
) -> Judgement:
    """Judge the cells of a study at one n.

    Parameters
    ----------
    manifest : Manifest
        The store's manifest.
    cells : Cells
        Replications of the cells, in the order of paths.
    share : BoundedShare
        The same replications, reduced.
    level : float
        Probability that no verdict of the whole grid is wrong.
    design : {"fixed", "anytime"}, optional
        How to judge. Default: as the study needs it (`choose_design`).
    """
    if (design or choose_design(manifest, bool(cells.done.all()))) == FIXED:
        together = share.estimate(1 - (1 - level) / count_judged_cells(manifest))
        codes = judge_estimates(together, cells.target, cells.tolerance, cells.exact)
        paths = np.where(codes == get_code(UNDECIDED), 0, together.paths)
        return Judgement(FIXED, together, codes, paths, np.zeros(codes.shape, dtype=bool))
    target = get_target(manifest)
    together = share.estimate(compute_level(share.shares[0].paths, cells.wrong))
    found = cells.decide(by_betting=bool(target and target["until"].get("exact")))
    return Judgement(ANYTIME, together, found.codes, found.paths, found.is_contradicted)
