"""Scores: what simulations ask of regions at known test values, for all procedures and levels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckrr.batches import Problem, cases
from ckrr.checks import Array, choices
from ckrr.levels import Alpha, alphas, boundary_of
from ckrr.procedures import ALL_PROCEDURES, BAYESIAN, Levels


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """How regions did at known test values: for each procedure, test point and level.

    Arrays are of shape (procedures, m, k), or (targets, procedures, m, k) for several targets at once.
    """

    hits: npt.NDArray[np.bool_]
    """Whether the region contains y*."""
    lower: Array
    """Lower end of the hull: −inf where unbounded, NaN where empty."""
    upper: Array
    """Upper end of the hull."""
    length: Array
    """Total length of the region."""
    count: npt.NDArray[np.int64]
    """Number of components: 0 where empty."""

    def __repr__(self) -> str:
        return f"<Scores of shape {self.hits.shape}: {self.hits.mean():.1%} hits>"


def score_problems(
    problems: Sequence[Problem],
    Y_new: Sequence[Array],
    procedures: str | Sequence[str],
    alpha: Alpha,
    boundary: str,
) -> list[Scores]:
    """Scores of all targets of all problems; the rows of Y_new are their values at the test points."""
    names, levels = choices("procedures", procedures, ALL_PROCEDURES), Levels(alphas(alpha), boundary_of(boundary))
    scores = [_blank(problem, len(names), len(levels.alpha)) for problem in problems]
    y = [
        [target.scaled(each) for target, each in zip(problem.targets, values, strict=True)]
        for problem, values in zip(problems, Y_new, strict=True)
    ]
    for case, spans in cases(problems, needs_weights(names)):
        y_rows = np.concatenate([y[span.problem][span.target][span.points] for span in spans])
        for p, name in enumerate(names):
            regions = case.regions(name, levels)
            hits = regions.covers(y_rows)
            for span in spans:
                one, place = scores[span.problem], (span.target, p, span.points)
                one.hits[place], one.count[place] = hits[span.rows], regions.count[span.rows]
                one.lower[place], one.upper[place] = regions.lower[span.rows], regions.upper[span.rows]
                one.length[place] = regions.length[span.rows]
    for problem, one in zip(problems, scores, strict=True):
        for t, target in enumerate(problem.targets):
            for each in (one.lower, one.upper, one.length):
                each[t] = target.unscaled(each[t])
    return scores


def _blank(problem: Problem, procedures: int, levels: int) -> Scores:
    shape = (len(problem.targets), procedures, len(problem.X_new), levels)
    lower, upper, length = np.empty((3, *shape))
    return Scores(np.empty(shape, bool), lower, upper, length, np.empty(shape, np.int64))


def needs_weights(procedures: Sequence[str]) -> bool:
    """Whether any of the procedures looks at W = Qk: the Bayesian ones do without."""
    return not set(procedures) <= set(BAYESIAN)
