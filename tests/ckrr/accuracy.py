"""Bounds on rounding errors, and the problems that they are checked on."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from ckrr import procedures
from ckrr._validation import Array
from tests.oracles import Coefficients, Component

EPS = Fraction(2) ** -52
SLACK = 16  # the largest error seen is 8.5 n ε/λ, of m at λ = 1e-8, θ = 1, on an EPYC with AVX-512 (4.4 elsewhere)
ALPHAS = [0.05, 0.2, 0.5]
CONFORMAL = [(name.partition("-")[0], name.partition("-")[2] or "in-sample") for name in procedures.CONFORMAL]


def name_of(score: str, residual: str) -> str:
    return score if residual == "in-sample" else f"{score}-{residual}"


def problem(seed: int, n: int, d: int, m: int = 3) -> tuple[Array, Array, Array]:
    """Train inputs with a close pair and a duplicate; test inputs inside, outside, and on a train input."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    if n > 3:
        X[1] = X[0]
        X[3] = X[2] + 1e-4
    y = np.sin(5 * X.sum(axis=1)) + 0.1 * rng.standard_normal(n)
    X_new = np.vstack([rng.random((m, d)), X[:1], np.full((1, d), 1.7)])
    return X, y, X_new


def bound(n: int, lam: float) -> Fraction:
    return SLACK * n * EPS * (1 + 1 / Fraction(lam))


def max_error(ours: Array, truth: list[Fraction]) -> Fraction:
    return max(abs(Fraction(float(x)) - t) for x, t in zip(ours, truth, strict=True))


def doubts(truth: Coefficients, residual: str, score: str, allowed: Fraction) -> list[Component]:
    """Where each breakpoint may lie, given coefficients within their bound: quotients of intervals."""
    lines = truth.lines(residual)
    found: list[Component] = [(truth.mean, truth.mean)]
    reach = max(map(abs, lines.A)) * allowed * 4
    for A, W in zip(lines.A, lines.W, strict=True):
        found += quotients(A, reach, 1 + W, allowed * (2 + abs(W) * 4), truth.mean)
        if score == "RRCM":
            found += quotients(-A, reach, 1 - W, allowed * (2 + abs(W) * 4), truth.mean)
    doubt = allowed * mean_scale(truth)
    return [(lo - doubt, hi + doubt) for lo, hi in found]


def mean_scale(truth: Coefficients) -> Fraction:
    """|y| is at most 1.5 here; far from the data ŷ = W′y is a difference of large numbers."""
    return Fraction(3, 2) * (1 + sum(map(abs, truth.W), Fraction(0)))


def quotients(A: Fraction, dA: Fraction, slope: Fraction, dslope: Fraction, mean: Fraction) -> list[Component]:
    if abs(slope) > dslope:
        corners = [(A + i * dA) / (slope + j * dslope) for i in (-1, 1) for j in (-1, 1)]
        return [(mean + min(corners), mean + max(corners))]
    nearest = max(abs(A) - dA, Fraction(0)) / (abs(slope) + dslope)
    return [(-inf, mean - nearest), (mean + nearest, inf)]
