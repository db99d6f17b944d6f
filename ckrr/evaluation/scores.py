"""Score regions at known test values, for all procedures and levels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_choices
from ckrr.evaluation.batching import Problem, iter_evaluators
from ckrr.evaluation.case import ProcedureEvaluator
from ckrr.evaluation.stacking import RowSpan
from ckrr.evaluation.weighting import RowWeights
from ckrr.levels import Alpha, check_boundary, parse_alphas
from ckrr.procedures import ALL_PROCEDURES, BAYESIAN, DISTRIBUTIONS, WEIGHTED, Levels, check_weighting
from ckrr.regions.intervals import Regions
from ckrr.regions.tail_sets import Indices
from ckrr.regions.weights import SampleWeights
from ckrr.ridge.exact import scale_by_power_of_two


@dataclass(frozen=True, eq=False)
class ScorePieces:
    """All pieces of the regions that have more than one: sorted by region, then by their ends."""

    place: tuple[Indices, ...]
    """Index of each piece's region in the arrays of `Scores`, one array for each axis."""
    lower: Array
    upper: Array

    def take_target(self, target: int) -> ScorePieces:
        """Return the pieces of one target, whose axis is dropped."""
        here = self.place[0] == target
        return ScorePieces(tuple(each[here] for each in self.place[1:]), self.lower[here], self.upper[here])


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Scores of regions at known test values, for each procedure, test point and level.

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
    hits_f: npt.NDArray[np.bool_] | None = None
    """Whether the region contains f(x*); None if f is not given."""
    pieces: ScorePieces | None = None
    """Pieces of the regions with several; None if every region is an interval or empty."""
    crps: Array | None = None
    """CRPS of the predictive distributions at y*, shape (procedures, m), or with targets first; NaN for procedures
    without a distribution. None if not requested."""
    pit: Array | None = None
    """Randomised PIT of y*, likewise."""

    def take_target(self, target: int) -> Scores:
        """Return the scores of one of several targets."""
        hits_f = None if self.hits_f is None else self.hits_f[target]
        ends = (self.lower[target], self.upper[target], self.length[target])
        pieces = None if self.pieces is None else self.pieces.take_target(target)
        predictive = (None if each is None else each[target] for each in (self.crps, self.pit))
        return Scores(self.hits[target], *ends, self.count[target], hits_f, pieces, *predictive)

    def __repr__(self) -> str:
        return f"<Scores of shape {self.hits.shape}: {self.hits.mean():.1%} hits>"


def score_problems(
    problems: Sequence[Problem],
    Y_new: Sequence[Array],
    procedures: str | Sequence[str],
    alpha: Alpha,
    boundary: str,
    F_new: Sequence[Array] | None = None,
    tau: Sequence[Array] | None = None,
    pit_tau: Sequence[Array] | None = None,
    weights: Sequence[SampleWeights] | None = None,
) -> list[Scores]:
    """Return the scores of all targets, one `Scores` for each problem.

    Parameters
    ----------
    problems : sequence of p problems
    Y_new : p arrays of shape (targets, m)
        Values of the targets at the test points.
    procedures, alpha, boundary
        As in `ckrr.Fit.regions`, for several procedures at once.
    F_new : p arrays of shape (targets, m), optional
        Values of the latent function at the test points, for `hits_f`.
    tau : p arrays of shape (m,), optional
        Smoothing of the test points, the same for all targets of a problem.
    pit_tau : p arrays of shape (m,), optional
        Randomisation of their PITs, likewise. If given, the scores have `crps` and `pit`.
    weights : p SampleWeights, optional
        Weights for weighted procedures, likewise.
    """
    names, levels = (
        check_choices("procedures", procedures, (*ALL_PROCEDURES, *WEIGHTED)),
        Levels(parse_alphas(alpha), check_boundary(boundary)),
    )
    check_weighting(names, weights, tau)
    exponents = np.concatenate(
        [np.repeat([target.exponent for target in problem.targets], len(problem.X_new)) for problem in problems]
    )
    y, f = (
        None if values is None else scale_by_power_of_two(np.concatenate([each.ravel() for each in values]), -exponents)
        for values in (Y_new, F_new)
    )
    by, pit_by = (_repeat_for_targets(each, problems) for each in (tau, pit_tau))
    scores = _make_empty_scores(len(names), len(exponents), len(levels.alpha), f is not None, pit_by is not None)
    rows = None if weights is None else join_weights(weights, problems)
    pieces = _PieceList()
    for case, spans in iter_evaluators(problems, has_conformal(names)):
        weighted = None if rows is None else gather_weights(rows, spans)
        regions = case.compute_regions(names, levels, None if by is None else gather_spans(by, spans), weighted)
        for p, name in enumerate(names):
            _write(scores, p, regions[name], spans, exponents)
            pieces.add(p, regions[name], spans)
            for hits, values in ((scores.hits, y), (scores.hits_f, f)):
                if hits is not None and values is not None:
                    _write_hits(hits[p], regions[name], values, spans)
        if pit_by is not None and y is not None:
            _write_predictive(scores, names, case, spans, gather_spans(y, spans), gather_spans(pit_by, spans))
    if scores.crps is not None:
        scale_by_power_of_two(scores.crps, exponents, out=scores.crps)
    return _split_problems(scores, problems, pieces.join(exponents))


class _PieceList:
    """Collect the pieces of regions with several, over (procedure, row of all problems, level)."""

    def __init__(self) -> None:
        self._parts: list[tuple[Indices, Indices, Indices, Array, Array]] = []

    def add(self, p: int, regions: Regions, spans: list[RowSpan]) -> None:
        """Add the pieces of one procedure's regions, for the rows of one evaluator."""
        found = regions.list_several()
        if found.row.size:
            rows = np.concatenate([np.arange(span.places.start, span.places.stop) for span in spans])
            self._parts.append((np.full_like(found.row, p), rows[found.row], found.level, found.lo, found.hi))

    def join(self, exponents: npt.NDArray[np.int64]) -> ScorePieces:
        """Return all pieces, sorted, so that they don't depend on how rows were stacked, and scaled back."""
        if not self._parts:
            empty = np.empty(0, dtype=np.intp)
            return ScorePieces((empty, empty, empty), np.empty(0), np.empty(0))
        p, row, level, lo, hi = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        region = (row * (p.max() + 1) + p) * (level.max() + 1) + level
        order = np.lexsort((hi, lo, region))
        ends = (scale_by_power_of_two(each[order], exponents[row[order]]) for each in (lo, hi))
        return ScorePieces((p[order], row[order], level[order]), *ends)


def _repeat_for_targets(tau: Sequence[Array] | None, problems: Sequence[Problem]) -> Array | None:
    """Return the τ of all rows of all problems, given those of their test points."""
    if tau is None:
        return None
    return np.concatenate([np.tile(t, len(p.targets)) for t, p in zip(tau, problems, strict=True)])


def _make_empty_scores(procedures: int, rows: int, levels: int, latent: bool, predictive: bool) -> Scores:
    """Allocate scores for all rows of all problems."""
    shape = (procedures, rows, levels)
    lower, upper, length = np.empty((3, *shape))
    hits_f = np.empty(shape, bool) if latent else None
    crps, pit = np.full((2, procedures, rows), np.nan) if predictive else (None, None)
    return Scores(np.empty(shape, bool), lower, upper, length, np.empty(shape, np.int64), hits_f, None, crps, pit)


def gather_spans(values: Array, spans: list[RowSpan]) -> Array:
    """Return the values of an evaluator's rows, given those of all rows."""
    return np.concatenate([values[span.places] for span in spans])


def join_weights(weights: Sequence[SampleWeights], problems: Sequence[Problem]) -> RowWeights:
    """Return the weights of the rows of all problems."""
    return RowWeights.join([(each, problem.oriented) for each, problem in zip(weights, problems, strict=True)])


def gather_weights(weights: RowWeights, spans: list[RowSpan]) -> RowWeights:
    """Return the weights of an evaluator's rows, given those of all rows."""
    return weights.take([span.places for span in spans])


def _write_hits(hits: npt.NDArray[np.bool_], regions: Regions, y: Array, spans: list[RowSpan]) -> None:
    """Write whether the regions of one procedure contain the values, for the rows of one evaluator."""
    found = regions.contains_array(gather_spans(y, spans))
    for span in spans:
        hits[span.places] = found[span.rows]


def _write(scores: Scores, p: int, regions: Regions, spans: list[RowSpan], exponents: npt.NDArray[np.int64]) -> None:
    """Write counts, hulls and lengths of the regions of one procedure, scaled back, for the rows of one evaluator."""
    for rows, places in ((span.rows, span.places) for span in spans):
        scores.count[p, places] = regions.count[rows]
        for name in ("lower", "upper", "length"):
            values, out = getattr(regions, name)[rows], getattr(scores, name)[p, places]
            scale_by_power_of_two(values, exponents[places, None], out=out)


def _write_predictive(
    scores: Scores, names: Sequence[str], case: ProcedureEvaluator, spans: list[RowSpan], y: Array, tau: Array
) -> None:
    """Write the CRPS and the PIT of the procedures that have them, in units of the targets, for one evaluator."""
    for p, name in enumerate(names):
        if name in DISTRIBUTIONS:
            for out, values in zip((scores.crps, scores.pit), case.score_distribution(name, y, tau), strict=True):
                for span in spans:
                    assert out is not None
                    out[p, span.places] = values[span.rows]


def _split_problems(scores: Scores, problems: Sequence[Problem], pieces: ScorePieces) -> list[Scores]:
    """Return views of the scores of each problem, shape (targets, procedures, m, k)."""
    ends = np.cumsum([problem.size for problem in problems]).tolist()
    return [
        _select_problem(scores, problem, slice(end - problem.size, end), pieces)
        for problem, end in zip(problems, ends, strict=True)
    ]


def _select_problem(scores: Scores, problem: Problem, places: slice, pieces: ScorePieces) -> Scores:
    def split(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _split_targets(values[:, places], problem)

    hits_f = None if scores.hits_f is None else split(scores.hits_f)
    hull = split(scores.lower), split(scores.upper), split(scores.length)
    predictive = (None if each is None else split(each[..., None])[..., 0] for each in (scores.crps, scores.pit))
    several = _select_pieces(pieces, problem, places)
    return Scores(split(scores.hits), *hull, split(scores.count), hits_f, several, *predictive)


def _split_targets(values: npt.NDArray[Any], problem: Problem) -> npt.NDArray[Any]:
    """Return (procedures, targets·m, k) as (targets, procedures, m, k)."""
    if len(problem.targets) == 1:
        return values[None]
    return values.reshape(len(values), len(problem.targets), len(problem.X_new), values.shape[2]).swapaxes(0, 1)


def _select_pieces(pieces: ScorePieces, problem: Problem, places: slice) -> ScorePieces | None:
    p, row, level = pieces.place
    first, last = np.searchsorted(row, [places.start, places.stop])
    if first == last:
        return None
    here = slice(first, last)
    target, point = np.divmod(row[here] - places.start, len(problem.X_new))
    return ScorePieces((target, p[here], point, level[here]), pieces.lower[here], pieces.upper[here])


def has_conformal(procedures: Sequence[str]) -> bool:
    """Return whether any of the procedures is conformal and so needs W = Qk."""
    return not set(procedures) <= set(BAYESIAN)
