"""Errors of low rank and of the exact way: `python -m tests.benchmarks.low_rank_accuracy`, from the repository's root.

Both are compared with long doubles (`tests.benchmarks.long_ridge`) in the same problems, which are drawn afresh for
each seed: n, the sides of a box, the law of the inputs, θ up to where the rank is n/4, smooth or rough y, a duplicate
and a close pair. Errors are divided by the bound n ε (1 + 1/λ), and pooled over all problems of a stratum before
quantiles are taken: the ratio of two maxima in a single problem is mostly noise where an end is ill-conditioned. They
are errors of

- a and Q_ii relative to the largest;
- m relative to itself, W relative to the largest W_i of the test point or 1e-3, ŷ relative to max |y|, and again
  relative to ‖k‖‖a‖, which is what rounding k alone costs: apart for test points inside the box of the training
  points, up to a tenth of its sides outside, and farther outside;
- the ends of six procedures at three levels relative to the region's width (ends), and relative to their condition,
  that is to the errors of a, W, m and D within the bound, over |D ± W| (ends/c).

Printed for each, in strata where low rank is used and where it isn't: the quantiles 50, 90, 99 % and the maximum of the
exact way in that unit, and the ratios of low rank's to these. Results: `low_rank_accuracy.md`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log, ulp

import numpy as np
from threadpoolctl import threadpool_limits

from ckrr._validation import Array
from ckrr.evaluation.batching import Problem
from ckrr.evaluation.scores import score_problems
from ckrr.ridge.exact import Projection, Ridge, Target
from ckrr.ridge.low_rank import LowRankRidge
from ckrr.ridge.pivots import factorise_kernel
from ckrr.ridge.structure import LEAST_SPREAD, RANKS, bound_rank, is_low_rank
from tests.benchmarks.long_ridge import Found, look, make_kernel, refer

SIZES = {1: (400, 700), 2: (600, 1100), 3: (900, 1300)}
"""Least and largest n, by dimension."""
LAMBDAS = (1e-8, 1e-7, 1e-6, 1e-4, 1e-2, 1e-1)
KINDS = ("smooth", "rough")
PLACES = ("inside", "near", "far")
SCORES = {"in": ["RRCM", "CRR"], "loo": ["RRCM-loo", "CRR-loo"], "std": ["RRCM-std", "CRR-std"]}
ALPHAS = [0.05, 0.2, 0.5]
QUANTILES = (0.5, 0.9, 0.99, 1.0)
Errors = dict[tuple[str, str], Array]


@dataclass(frozen=True)
class Sample:
    """Inputs, both kinds of targets, test inputs with their places, and θ."""

    X: Array
    Y: list[Array]
    X_new: Array
    place: Array
    theta: float
    sides: Array


def draw(d: int, seed: int, ranks: float, least: float) -> Sample:
    """Draw a problem with θs² from `least` to where the rank is about n/ranks."""
    rng = np.random.default_rng([2026, d, seed])
    n = int(rng.integers(*SIZES[d]))
    sides = np.ones(d) if rng.random() < 0.5 else 10.0 ** rng.uniform(-1, 0, d)
    sides /= sides.max()
    if d == 3 and rng.random() < 0.7:
        sides = np.array([1.0, *rng.uniform(0.02, 0.2, 2)])
    most = _find_theta(sides, n / ranks)
    theta = exp(rng.uniform(log(least), log(max(most, least))))
    U = _draw_inputs(rng, n, d)
    U[1], U[3] = U[0], U[2] + 1e-4
    f = [np.sin(5 * U.sum(axis=1)), np.sign(U[:, 0] - 0.5)]
    Y = [f[0] + 1e-3 * rng.standard_normal(n), f[1] + 0.3 * rng.standard_normal(n)]
    lo, hi = U.min(axis=0), U.max(axis=0)
    near = np.where(rng.random((10, d)) < 0.5, hi + 0.1 * rng.random((10, d)), rng.random((10, d)))
    near[:2] = hi, hi + 0.02
    far = 0.5 + rng.choice([-1, 1], (10, d)) * 0.5 * rng.uniform(1.3, 5, (10, 1)) * rng.random((10, d)) ** 0.3
    new = np.concatenate([rng.random((11, d)), U[5:6], near, far])
    beyond = np.maximum(new - hi, lo - new).max(axis=1)
    return Sample(U * sides, Y, new * sides, np.digitize(beyond, [1e-9, 0.1]), theta, sides)


def _draw_inputs(rng: np.random.Generator, n: int, d: int) -> Array:
    law = rng.integers(3)
    if law == 0 and d == 1:
        return np.linspace(0, 1, n)[:, None]
    if law == 1:
        centres = rng.random((5, d))
        return np.clip(centres[rng.integers(5, size=n)] + 0.1 * rng.standard_normal((n, d)), 0, 1)
    return rng.random((n, d))


def _find_theta(sides: Array, rank: float) -> float:
    thetas = np.geomspace(0.01, 1e5, 500)
    return float(max(theta for theta in thetas if theta == thetas[0] or bound_rank(sides, theta) <= rank))


class Given:
    """A ridge that says what it was given, for the ends of regions."""

    def __init__(self, found: Found, y: Array) -> None:
        self.found, self.y, self.diag_Q, self.n = found, y, found.diag_Q.astype(np.float64), len(y)

    def project(self, X_new: Array, targets: object, weights: bool = True) -> Iterator[Projection]:
        mean, m, W = (each.astype(np.float64) for each in (self.found.mean, self.found.m, self.found.W))
        none = np.empty(0, dtype=np.intp)
        yield Projection(slice(0, len(m)), [mean], m, m, W, (none, none))

    def ends(self, X_new: Array, names: list[str]) -> Array:
        """Lower and upper ends, shape (2, names, points, levels)."""
        target = Target(self.y, self.y, self.found.a.astype(np.float64), 1.0, 0)
        given = Problem(self, [target], X_new)  # type: ignore[arg-type]
        (scores,) = score_problems([given], [np.zeros((1, len(X_new)))], names, ALPHAS, ">=")
        return np.stack([scores.lower[0], scores.upper[0]])


def measure(found: Found, truth: Found, y: Array, one: Sample, scale: Array, unit: float) -> Errors:
    """Return errors by quantity and place, in units of the bound."""
    W = np.maximum(np.abs(truth.W).max(axis=1), 1e-3)
    mean, largest = np.abs(found.mean - truth.mean), np.abs(truth.a).max()
    each = {
        "m": np.abs(found.m - truth.m) / truth.m,
        "W": np.abs(found.W - truth.W) / W[:, None],
        "ŷ": mean / np.abs(y).max(),
        "ŷ/ka": mean / scale,
    }
    for kind, names in SCORES.items():
        each.update(_measure_ends(found, truth, y, one.X_new, kind, names))
    split = {(name, place): values[one.place == i] for name, values in each.items() for i, place in enumerate(PLACES)}
    split["a", ""] = np.abs(found.a - truth.a) / largest
    split["Q_ii", ""] = np.abs(found.diag_Q - truth.diag_Q) / truth.diag_Q.max()
    return {key: (values / unit).astype(np.float64).ravel() for key, values in split.items()}


def _measure_ends(found: Found, truth: Found, y: Array, X_new: Array, kind: str, names: list[str]) -> dict[str, Array]:
    ours, right = (Given(each, y).ends(X_new, names) for each in (found, truth))
    with np.errstate(invalid="ignore"):
        off, width = np.abs(ours - right), right[1] - right[0]
    a, W, m = truth.a, truth.W, truth.m[:, None]
    h = m * truth.diag_Q + W * W
    D = {"in": np.ones_like(h), "loo": h, "std": np.sqrt(h)}[kind]
    slopes = np.concatenate([D + W, D - W], axis=1)
    crossings = np.concatenate([m * a, -m * a], axis=1) / slopes
    largest, top = np.abs(W).max(axis=1, keepdims=True), np.abs(a).max()
    doubt = np.tile(largest + (np.zeros_like(D) if kind == "in" else D + np.abs(W) * largest), 2)
    condition = (m * top + np.abs(crossings) * doubt) / np.abs(slopes)
    cond = np.full(right.shape, np.nan)
    for i in range(len(X_new)):
        s = right[:, :, i] - float(truth.mean[i])
        nearest = np.abs(crossings[i].astype(np.float64) - s[..., None]).argmin(axis=-1)
        cond[:, :, i] = condition[i][nearest]
    with np.errstate(invalid="ignore"):
        both = {f"ends-{kind}": off / width, f"ends/c-{kind}": off / (cond + np.abs(y).max())}
    both = {name: np.where(np.isfinite(right) & np.isfinite(ours), values, np.nan) for name, values in both.items()}
    return {name: np.moveaxis(values, 2, 0) for name, values in both.items()}


def compare(one: Sample) -> Iterator[tuple[float, Errors, Errors]]:
    """Yield λ and the errors of the exact way and of low rank."""
    factor = factorise_kernel(one.X, one.theta, len(one.X))
    assert factor is not None
    k = make_kernel(one.X, one.X_new, one.theta)
    lengths = np.maximum(np.sqrt((k * k).sum(axis=0)), 1e-250)
    for lam in LAMBDAS:
        ridges = Ridge(one.X, one.theta, lam), LowRankRidge(one.X, one.theta, lam, *factor)
        unit = len(one.X) * ulp(1.0) * (1 + 1 / lam)
        for y, truth in zip(one.Y, refer(one.X, one.Y, one.X_new, one.theta, lam), strict=True):
            scale = lengths * np.sqrt((truth.a * truth.a).sum())
            exact, low = (measure(look(ridge, y, one.X_new), truth, y, one, scale, unit) for ridge in ridges)
            yield lam, exact, low


Pool = dict[tuple[str, str], list[tuple[Array, Array]]]


def show(pool: Pool, worst: float) -> None:
    """Print the quantities of a stratum."""
    for (name, place), pairs in pool.items():
        exact, low = (np.concatenate(each) for each in zip(*pairs, strict=True))
        keep = np.isfinite(exact) & np.isfinite(low)
        if not keep.any():
            continue
        a, b = (np.quantile(each[keep], QUANTILES) for each in (exact, low))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = b / a
        mark = " <" if (ratios > worst).any() else ""
        cells = " ".join(f"{value:8.1e}" for value in a), " ".join(f"{value:6.2f}" for value in ratios)
        print(f"| {name:10s} | {place:6s} | {cells[0]} | {cells[1]} |{mark}", flush=True)


def main(dimensions: list[int], seeds: range, ranks: float, least: float, each: bool) -> None:
    for d in dimensions:
        pools: dict[str, Pool] = defaultdict(lambda: defaultdict(list))
        for seed in seeds:
            one = draw(d, seed, ranks, least)
            rank = factorise_kernel(one.X, one.theta, len(one.X))[0].count  # type: ignore[index]
            if each:
                print(
                    f"d = {d}, seed {seed}, n = {len(one.X)}, theta = {one.theta:.3g}, sides {one.sides}, r {rank}",
                    flush=True,
                )
            for lam, exact, low in compare(one):
                used = rank <= len(one.X) // RANKS and is_low_rank(len(one.X), np.ptp(one.X, axis=0), one.theta, lam)
                spread = "θs² < 3" if one.theta < 3 else "3 ≤ θs² < 30" if one.theta < 30 else "θs² ≥ 30"
                strata = ("used", f"used, {spread}", f"used, λ = {lam:g}") if used else ("not used",)
                for stratum in strata:
                    for key, values in exact.items():
                        pools[stratum][key].append((values, low[key]))
        for stratum in sorted(pools):
            print(f"\nd = {d}, {stratum}, {len(pools[stratum]['a', ''])} targets")
            show(pools[stratum], 1.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, nargs=2, default=[1000, 1020], metavar=("FIRST", "END"))
    parser.add_argument("--ranks", type=float, default=4.0, help="n over the largest rank")
    parser.add_argument("--least", type=float, default=LEAST_SPREAD, help="least theta s^2")
    parser.add_argument("--each", action="store_true", help="print each problem")
    given = parser.parse_args()
    with threadpool_limits(1):
        main(given.dimensions, range(*given.seeds), given.ranks, given.least, given.each)
