"""Errors of low rank and of the exact way: `python -m tests.benchmarks.low_rank_accuracy`, from the repository's root.

Both are compared with long doubles: K by its formula, with 64 bits, solved by iterative refinement until nothing
changes, which has 11 bits more than a double and is compared with 1024 bits where n is small (`--check`). Each problem
has a close pair, a duplicate, and test points inside, on a training point, at corners, and outside, up to 0.7 away.

Prints, for each sample, over λ = 1e-8 … 0.1 and over smooth and rough y, how large the errors of low rank are relative
to those of the exact way: the median, the 90 % quantile and the largest of a, W, m, ŷ, Q_ii, of all crossings of the
three kinds of residuals, and of the ends of regions by the width. Samples for which low rank isn't used are shown, too
(`ckrr.ridge.structure`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from ckrr._validation import Array
from ckrr.evaluation.batching import Problem
from ckrr.evaluation.scores import score_problems
from ckrr.kernels import gaussian
from ckrr.ridge.exact import Projection, Ridge, Target
from ckrr.ridge.low_rank import LowRankRidge
from ckrr.ridge.pivots import factorise_kernel
from ckrr.ridge.structure import LEAST_SPREAD, RANKS, bound_rank
from ckrr.space import FactorisedRidge
from tests.oracles import coefficients

CASES = [
    *((400, 1, theta) for theta in (0.1, 3.0, 10.0, 100.0, 500.0, 2000.0)),
    *((800, 1, theta) for theta in (1.0, 3.0, 100.0, 1000.0, 2000.0)),
    *((800, 2, theta) for theta in (0.1, 1.0, 3.0, 5.0, 10.0)),
    *((1200, 2, theta) for theta in (1.0, 3.0, 10.0, 20.0)),
    *((800, 3, theta) for theta in (0.1, 0.3, 1.0)),
    (800, 5, 0.01),
]
LAMBDAS = (1e-8, 1e-7, 1e-6, 1e-4, 1e-2, 1e-1)
KINDS = ("smooth", "rough")
PROCEDURES = ["RRCM", "RRCM-loo", "RRCM-std", "CRR", "CRR-loo", "CRR-std"]
QUANTILES = (0.5, 0.9, 1.0)
Long = np.longdouble


@dataclass(frozen=True)
class Found:
    """What a ridge says of one target and some test points, in units of y."""

    a: Array
    W: Array
    m: Array
    diag_Q: Array
    mean: Array

    def crossings(self, kind: str) -> Array:
        """Where residuals meet the test point's own, all of them."""
        a, W, m = self.a, self.W, self.m[:, None]
        h = m * self.diag_Q + W * W
        D = {"in": np.ones_like(h), "loo": h, "std": np.sqrt(h)}[kind]
        found: Array = m * a / (D + W)
        return found


def problem(n: int, d: int, kind: str, seed: int) -> tuple[Array, Array, Array]:
    """Train inputs and targets, and test inputs."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[1], X[3] = X[0], X[2] + 1e-4
    f = np.sin(5 * X.sum(axis=1)) if kind == "smooth" else np.sign(X[:, 0] - 0.5)
    y = f + (1e-3 if kind == "smooth" else 0.3) * rng.standard_normal(n)
    outside = [np.full((1, d), at) for at in (0.0, 1.0, 1.02, 1.1, 1.7)]
    return X, y, np.vstack([rng.random((20, d)), X[:1], *outside, rng.random((6, d)) * 1.1 - 0.05])


def long_kernel(X: Array, Z: Array, theta: float) -> Array:
    squares = sum((x.astype(Long)[:, None] - z.astype(Long)) ** 2 for x, z in zip(X.T, Z.T, strict=True))
    found: Array = np.exp(-Long(theta) * squares)
    return found


def refer(X: Array, Y: list[Array], X_new: Array, theta: float, lam: float) -> list[Found]:
    """The truth, for each target."""
    n = len(X)
    R, k = long_kernel(X, X, theta), long_kernel(X, X_new, theta)
    R[np.diag_indices(n)] += Long(lam)
    B = np.concatenate([*(y.astype(Long)[:, None] for y in Y), k, np.eye(n, dtype=Long)], axis=1)
    G, Z = Ridge(X, theta, lam).G, np.zeros_like(B)
    for _ in range(5):
        step = (G.T @ (G @ _multiply(R, Z, B))).astype(Long)
        Z = Z + step
        if np.abs(step).max() < 1e-16 * np.abs(Z).max():
            break
    t = len(Y)
    W, diag_Q = Z[:, t : t + len(X_new)], Z[:, t + len(X_new) :].diagonal()
    m = Long(lam) + 1 - (k * W).sum(axis=0)
    return [Found(Z[:, i], W.T, m, diag_Q, k.T @ Z[:, i]) for i in range(t)]


def _multiply(R: Array, Z: Array, B: Array) -> Array:
    """B − RZ, to the precision of long doubles: exact products of slices of 20 bits by BLAS, as long as n < 4096."""
    if not Z.any():
        return B.astype(np.float64)
    total = B.copy()
    largest = np.abs(Z).max(axis=0).astype(np.float64)
    scale = np.exp2(np.ceil(np.log2(np.maximum(largest, 1e-300))))
    left, right = _slices(R), _slices(Z / scale)
    for i, j in product(range(len(left)), range(len(right))):
        if i + j < 4:
            total -= (left[i] @ right[j]).astype(Long) * scale
    return total.astype(np.float64)


def _slices(A: Array, bits: int = 20) -> list[Array]:
    found = []
    for i in range(1, 5):
        unit = Long(2) ** (-bits * i)
        part = np.rint(A / unit) * unit
        found.append(part.astype(np.float64))
        A = A - part
    return found


def look(ridge: FactorisedRidge, y: Array, X_new: Array) -> Found:
    target = ridge.make_target(y)
    parts = [(each.W.copy(), each.m, each.means[0]) for each in ridge.project(X_new, [target])]
    W, m, mean = (np.concatenate(each) for each in zip(*parts, strict=True))
    unit = 2.0**target.exponent
    return Found(target.a * unit, W, m, ridge.diag_Q, mean * unit)


class Given:
    """A ridge that says what it was given, for the ends of regions."""

    def __init__(self, found: Found, y: Array) -> None:
        self.found, self.y, self.diag_Q, self.n = found, y, found.diag_Q.astype(np.float64), len(y)

    def project(self, X_new: Array, targets: object, weights: bool = True) -> Iterator[Projection]:
        mean, m, W = (each.astype(np.float64) for each in (self.found.mean, self.found.m, self.found.W))
        none = np.empty(0, dtype=np.intp)
        yield Projection(slice(0, len(m)), [mean], m, m, W, (none, none))

    def ends(self, X_new: Array) -> Array:
        target = Target(self.y, self.y, self.found.a.astype(np.float64), 1.0, 0)
        given = Problem(self, [target], X_new)  # type: ignore[arg-type]
        (scores,) = score_problems([given], [np.zeros((1, len(X_new)))], PROCEDURES, [0.05, 0.2, 0.5], ">=")
        return np.stack([scores.lower, scores.upper])


def errors(found: Found, truth: Found, y: Array, X_new: Array) -> dict[str, Array]:
    """Relative errors: of a and W by the largest entry, of ends by the region's width."""
    each = {
        "a": np.abs(found.a - truth.a) / np.abs(truth.a).max(),
        "W": np.abs(found.W - truth.W) / np.maximum(np.abs(truth.W).max(axis=1, keepdims=True), 1e-9),
        "m": np.abs(found.m - truth.m) / truth.m,
        "ŷ": np.abs(found.mean - truth.mean) / np.abs(y).max(),
        "Q_ii": np.abs(found.diag_Q - truth.diag_Q) / truth.diag_Q,
    }
    for kind in ("in", "loo", "std"):
        right = truth.crossings(kind)
        each[f"x-{kind}"] = np.abs(found.crossings(kind) - right) / np.abs(right)
    ours, right = (Given(one, y).ends(X_new) for one in (found, truth))
    finite = np.isfinite(ours) & np.isfinite(right)
    with np.errstate(invalid="ignore"):
        each["ends"] = (np.abs(ours - right) / (right[1] - right[0]))[finite]
    return {name: np.quantile(values.astype(np.float64), QUANTILES) for name, values in each.items()}


def compare(
    n: int, d: int, theta: float, seed: int
) -> Iterator[tuple[float, str, int, dict[str, Array], dict[str, Array]]]:
    """λ, the kind of y, the rank, and the errors of the exact way and of low rank."""
    (X, _, X_new), Y = problem(n, d, "smooth", seed), [problem(n, d, kind, seed)[1] for kind in KINDS]
    factor = factorise_kernel(X, theta, gaussian, n)
    if factor is None:
        print(f"n = {n}, d = {d}, theta = {theta:g}: no low rank")
        return
    for lam in LAMBDAS:
        ridges = Ridge(X, theta, lam), LowRankRidge(X, theta, lam, *factor)
        for kind, y, truth in zip(KINDS, Y, refer(X, Y, X_new, theta, lam), strict=True):
            exact, low = (errors(look(ridge, y, X_new), truth, y, X_new) for ridge in ridges)
            yield lam, kind, factor[0].count, exact, low


def main(seeds: int, details: bool) -> None:
    rows: dict[bool, list[Array]] = {True: [], False: []}
    for n, d, theta in CASES:
        found = [each for seed in range(seeds) for each in compare(n, d, theta, seed)]
        if not found:
            continue
        ratios = np.array([[low[name] / exact[name] for name in low] for _, _, _, exact, low in found])
        rank = found[0][2]
        rows[rank <= n // RANKS and theta >= LEAST_SPREAD].append(ratios)
        names = list(found[0][3])
        print(
            f"n = {n}, d = {d}, theta = {theta:g}, rank {rank} (bound {bound_rank(np.ones(d), theta):.0f})", flush=True
        )
        if details:
            for lam, kind, _, exact, low in found:
                for what, each in (("exact", exact), ("low", low)):
                    print(f"  {lam:7g} {kind:6s} {what:5s}", show({name: each[name] for name in names}, "7.0e"))
        show_ratios(names, ratios)
    for used, text in (
        (True, f"all with ranks up to n/{RANKS} and theta from {LEAST_SPREAD:g} on, where low rank is used"),
        (False, "all others"),
    ):
        if rows[used]:
            print(f"{text}:")
            show_ratios(names, np.concatenate(rows[used]))


def show_ratios(names: list[str], ratios: Array) -> None:
    for what, each in (("mean", np.exp(np.log(ratios).mean(axis=0))), ("most", ratios.max(axis=0))):
        print(f"  {what}", show(dict(zip(names, each, strict=True)), "5.1f"), flush=True)


def show(each: dict[str, Array], form: str) -> str:
    return " | ".join(f"{name} " + " ".join(f"{value:{form}}" for value in values) for name, values in each.items())


def check() -> None:
    """The reference against 1024 bits."""
    for n, d, theta in ((40, 1, 10.0), (60, 2, 3.0)):
        X, y, X_new = problem(n, d, "rough", 0)
        for lam in (1e-8, 1e-3):
            (ours,) = refer(X, [y], X_new, theta, lam)
            exact = coefficients(X, y, X_new[:22], theta, lam)
            W = np.array([[float(w) for w in each.W] for each in exact])
            a = np.array([float(value) for value in exact[0].a])
            off = np.abs(ours.W[:22] - W).max() / np.abs(W).max(), np.abs(ours.a - a).max() / np.abs(a).max()
            print(f"n = {n}, lam = {lam:g}: reference off by {off[0]:.0e} (W), {off[1]:.0e} (a)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--details", action="store_true", help="print the errors themselves")
    parser.add_argument("--check", action="store_true", help="compare the reference with 1024 bits instead")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        check() if arguments.check else main(arguments.seeds, arguments.details)
