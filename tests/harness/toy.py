"""A source and a family of which everything is known: normal values, and intervals whose coverage is a formula.

`exact` covers with 1 − α, `wide` is twice as wide, `random` is the exact one moved by a draw of its own, and `split` is
the exact one without its middle half. There is no kernel at all: θ = 13 can't be factorised, θ = 666 has NaN for a
result, and the search "best" finds θ = n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from harness.core.protocols import Factor, Inputs, Scores, Target
from harness.core.types import Array, Bools, Streams

PROCEDURES = ("exact", "wide", "random", "split")


@dataclass(frozen=True)
class ToySample:
    X: Array
    y: Array
    noise: Array | None
    X_test: Array
    y_test: Array
    noise_test: Array | None


@dataclass(frozen=True)
class ToyPath:
    source: Toy
    level: float

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> ToySample:
        if self.source.fails_at and float(streams("fate").random()) < self.source.fails_at:
            raise RuntimeError("the toy broke")
        m = self.source.test_points
        X, X_test = streams("inputs").random((n, 1)), streams("test inputs").random((m, 1))
        noise, noise_test = streams("noise").standard_normal(n), streams("test noise").standard_normal(m)
        return ToySample(X, np.full(n, self.level), noise, X_test, np.full(m, self.level), noise_test)


@dataclass(frozen=True)
class Toy:
    """Values N(0, γ), or around a level that belongs to the path."""

    test_points: int = 20
    spread: float = 0.0
    fails_at: float = 0.0
    dimension: int = 1
    test: str = "iid"
    knows_f: bool = True
    redraws: tuple[str, ...] = ()
    largest_n: int | None = 500
    box: ClassVar[tuple[tuple[float, float], ...]] = ((0.0, 1.0),)

    def path(self, streams: Streams) -> ToyPath:
        return ToyPath(self, self.spread * float(streams("level").standard_normal()))


@dataclass(frozen=True)
class KnownToy(Toy):
    """A toy that knows the distribution of its noise: without a spread, the exact procedure covers 1 − α always."""

    def noise_cdf(self, X: Array, z: Array) -> Array:
        return np.asarray(ndtr(z))


@dataclass(frozen=True)
class ToyFactor:
    theta: float
    lam: float


@dataclass(frozen=True)
class ToyInputs:
    n: int

    def factor(self, theta: float, lam: float) -> Factor:
        if theta == 13:
            raise np.linalg.LinAlgError("thirteen is singular")
        return ToyFactor(theta, lam)

    def factor_ml(self, y: Array, lam: float, search: str) -> Factor:
        return ToyFactor(float(self.n), lam)


@dataclass(frozen=True, eq=False)
class ToyScores:
    hits: Bools
    hits_f: Bools | None
    lower: Array
    upper: Array
    length: Array
    count: np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def toy_scores(
    factor: Factor, target: Target, procedures: Sequence[str], alpha: Sequence[float], rng: np.random.Generator
) -> ToyScores:
    """Row by row, as plainly as it goes."""
    m, targets = target.Y_test.shape
    shape = (targets, len(procedures), m, len(alpha))
    lower, upper, length, count = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=np.int64)
    hits, hits_f = np.zeros(shape, bool), np.zeros(shape, bool)
    moved = rng.standard_normal()
    for p, name in enumerate(procedures):
        for k, level in enumerate(alpha):
            half = -ndtri(level / 2) * (2.0 if name == "wide" else 1.0)
            middle = moved if name == "random" else 0.0
            gap = half / 2 if name == "split" else -1.0
            here = (slice(None), p, slice(None), k)
            lower[here], upper[here] = middle - half, middle + half
            length[here] = 2 * half - (2 * gap if gap > 0 else 0.0)
            count[here] = 2 if gap > 0 else 1
            latent = target.Y_test.T if target.f_test is None else np.broadcast_to(target.f_test, (targets, m))
            for found, y in ((hits, target.Y_test.T), (hits_f, latent)):
                found[here] = (np.abs(y - middle) <= half) & (np.abs(y - middle) >= gap)
    if factor.theta == 666:
        lower[:] = np.nan
    return ToyScores(hits, None if target.f_test is None else hits_f, lower, upper, length, count)


class ToyFamily:
    procedures: Sequence[str] = PROCEDURES
    searches: Sequence[str] = ("best",)
    reference: str | None = "exact"
    version: int = 1

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        return ToyInputs(len(X))

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[Scores]:
        return [
            toy_scores(factor, target, procedures, alpha, some("moved"))
            for factor, target, some in zip(factors, targets, streams, strict=True)
        ]

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        return 1 - alpha if procedure == "exact" else None

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        return 1e6

    def memory(self, n: int, points: int) -> float:
        return 1e6


FAMILY = ToyFamily()
