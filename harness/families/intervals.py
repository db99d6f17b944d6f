"""Score procedures that return intervals, and write families of such procedures in a few lines.

`IntervalFamily` is the base class of families that use neither θ nor λ: a subclass computes the ends of the intervals
of one procedure for one target, and the rest follows. `score_intervals` and `score_in_turn` also serve families that
do use them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import ckrr
from ckrr.baselines import halves
from ckrr.evaluation.scores import ScorePieces
from harness.core.protocols import Factor, Inputs, Scores, Target
from harness.core.types import Array, Bools, Streams

Ends = tuple[Array, Array]
"""Lower and upper ends of intervals, each over (test point, α): ±inf if unbounded, NaN if the interval is empty."""
_PACKAGES = 1e8
"""Bytes of packages that procedures import, and of models whose size does not depend on n."""


@dataclass(frozen=True, eq=False, repr=False)
class TimedScores(ckrr.Scores):
    """Scores, and the seconds that each procedure took."""

    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class IntervalSample:
    """Training and test inputs of a sample. Nothing is factorised: θ and λ are not used."""

    X: Array
    X_test: Array
    theta: float = float("nan")

    def factor(self, theta: float, lam: float) -> Factor:
        """Return the sample itself."""
        return self

    def factor_ml(self, y: Array, lam: float, search: str) -> NoReturn:
        """Raise ValueError: there is no θ to search for."""
        raise ValueError(f"theta must not be {search!r}: these procedures have no θ to search for")


@dataclass(frozen=True, eq=False)
class Task:
    """What a procedure is given: a sample with one target, the values of α, and the replication's random streams."""

    X: Array
    y: Array
    X_test: Array
    alpha: tuple[float, ...]
    streams: Streams

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Random permutation of the training points: the same for all families, and for every γ."""
        return draw_order(self.streams, len(self.X))

    @property
    def halves(self) -> tuple[Array, Array, Array, Array]:
        """Return X and y of the half for fitting, then of the half for calibration."""
        return split_sample(self.X, self.y, self.order)


class IntervalFamily(ABC):
    """Base class of families of intervals that use neither θ nor λ."""

    searches: Sequence[str] = ()
    reference: str | None = None
    axes: Sequence[str] = ()

    @property
    @abstractmethod
    def procedures(self) -> Sequence[str]:
        """Names of the procedures."""

    @abstractmethod
    def compute_ends(self, procedure: str, task: Task) -> Ends:
        """Compute the intervals of one procedure for one target."""

    @abstractmethod
    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level of a procedure; None if it has none."""

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        """Return the training and test inputs of a sample."""
        return IntervalSample(X, X_test)

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[Scores]:
        """Score the procedures one after the other, each target on its own, with one thread."""
        samples = [factor for factor in factors if isinstance(factor, IntervalSample)]

        def score_sample(name: str, sample: IntervalSample, target: Target, some: Streams) -> ckrr.Scores:
            def compute(y: Array) -> Ends:
                return self.compute_ends(name, Task(sample.X, y, sample.X_test, tuple(alpha), some))

            return score_targets(compute, target)

        def score_procedure(name: str) -> list[ckrr.Scores]:
            return [score_sample(name, *one) for one in zip(samples, targets, streams, strict=True)]

        with threadpool_limits(limits=1):
            return score_in_turn(procedures, score_procedure)

    def flops(self, n: int, points: int, targets: int, searched: bool) -> None:
        """Return None: the harness times the procedures before the run."""
        return

    def memory(self, n: int, points: int) -> float:
        """Estimate the bytes for one replication: some n × n arrays, and n predictions for each test point."""
        return 8.0 * (4 * n * n + 2 * n * points) + _PACKAGES


def draw_order(streams: Streams, n: int) -> npt.NDArray[np.intp]:
    """Draw the random permutation of a sample from which halves and folds are made."""
    return streams("order").permutation(n)


def split_sample(X: Array, y: Array, order: npt.NDArray[np.intp]) -> tuple[Array, Array, Array, Array]:
    """Return X and y of the half for fitting, then of the half for calibration."""
    first, second = halves(order)
    return X[first], y[first], X[second], y[second]


def score_in_turn(procedures: Sequence[str], score: Callable[[str], Sequence[ckrr.Scores]]) -> list[TimedScores]:
    """Score procedures one after the other, so that their times can be compared.

    Parameters
    ----------
    procedures : sequence of str
        Names of the procedures.
    score : callable
        Returns the scores of one procedure, for each of several samples.
    """
    parts: list[Sequence[ckrr.Scores]] = []
    seconds: dict[str, float] = {}
    for name in procedures:
        start = perf_counter()
        parts.append(score(name))
        seconds[name] = (perf_counter() - start) / len(parts[-1])
    return [_join_scores(each, seconds) for each in zip(*parts, strict=True)]


def score_targets(compute: Callable[[Array], Ends], target: Target) -> ckrr.Scores:
    """Return the scores of one procedure, given the function that computes its intervals from the training values."""
    ends = [compute(np.ascontiguousarray(y)) for y in target.Y.T]
    lower, upper = (np.stack(each)[:, None] for each in zip(*ends, strict=True))
    return score_intervals(lower, upper, target)


def score_intervals(lower: Array, upper: Array, target: Target) -> ckrr.Scores:
    """Return the scores of intervals, given their ends over (γ, procedure, test point, α)."""
    y = target.Y_test.T[:, None, :, None]
    empty = np.isnan(lower)
    length = np.where(empty, 0.0, upper - lower)
    hits_f = None if target.f_test is None else _is_inside(lower, target.f_test[:, None], upper)
    return ckrr.Scores(_is_inside(lower, y, upper), lower, upper, length, (~empty).astype(np.int64), hits_f)


def _is_inside(lower: Array, y: Array, upper: Array) -> Bools:
    return (lower <= y) & (y <= upper)


def _join_scores(parts: Sequence[ckrr.Scores], seconds: Mapping[str, float]) -> TimedScores:
    """Join the scores of several procedures along the procedure axis; each part has one procedure."""
    latent = [one.hits_f for one in parts if one.hits_f is not None]
    return TimedScores(
        np.concatenate([one.hits for one in parts], axis=1),
        np.concatenate([one.lower for one in parts], axis=1),
        np.concatenate([one.upper for one in parts], axis=1),
        np.concatenate([one.length for one in parts], axis=1),
        np.concatenate([one.count for one in parts], axis=1),
        np.concatenate(latent, axis=1) if latent else None,
        _join_pieces([one.pieces for one in parts]),
        _join_predictive([one.crps for one in parts], parts),
        _join_predictive([one.pit for one in parts], parts),
        seconds,
    )


def _join_predictive(values: Sequence[Array | None], parts: Sequence[ckrr.Scores]) -> Array | None:
    """Join scores of predictive distributions; NaN for procedures without a distribution."""
    if all(each is None for each in values):
        return None
    filled = [
        np.full(one.hits.shape[:3], np.nan) if each is None else each for each, one in zip(values, parts, strict=True)
    ]
    return np.concatenate(filled, axis=1)


def _join_pieces(parts: Sequence[ScorePieces | None]) -> ScorePieces | None:
    """Join the pieces of several procedures; part p becomes procedure p."""
    some = [(p, each) for p, each in enumerate(parts) if each is not None]
    if not some:
        return None
    places = [(each.place[0], np.full_like(each.place[1], p), *each.place[2:]) for p, each in some]
    lower, upper = np.concatenate([each.lower for _, each in some]), np.concatenate([each.upper for _, each in some])
    return ScorePieces(tuple(np.concatenate(axis) for axis in zip(*places, strict=True)), lower, upper)
