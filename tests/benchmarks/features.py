"""Random features: `python -m tests.benchmarks.features` compares with the kernel, `--million` measures n = 1,000,000.

The table: coverage and median width at α = 0.1 as the number of features D grows, beside those of the exact kernel,
over the same samples: a jump with noise on [0, 1], n = 400, iid test points. Coverage of the conformal procedures
should be 0.9 whatever D; their width should fall to that of the kernel.

With `--million`, one sample of a function of two variables with 100 test points and D = 500: seconds of each step, and
the largest resident set.
"""

from __future__ import annotations

import argparse
import resource
from time import perf_counter, process_time

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array

PROCEDURES = ("RRCM-loo", "CRR-loo", "GPR-f")
N, POINTS, TURNS, THETA, LAM = 400, 100, 100, 100.0, 0.01


def sample(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.random((n, 1))
    return X, (X[:, 0] > 0.5) + 0.1 * rng.standard_normal(n)


def table(counts: list[int]) -> None:
    kinds: list[tuple[str, int | None]] = [*(("gaussian-rff", D) for D in counts), ("gaussian", None)]
    print(f"a jump with noise, n = {N}, θ = {THETA:g}, λ = {LAM:g}, α = 0.1, {TURNS} samples of {POINTS} test points")
    print(f"{'kernel':14s} {'D':>6s}  " + "  ".join(f"{name:>20s}" for name in PROCEDURES) + "   s a sample")
    for kernel, D in kinds:
        start, found = perf_counter(), []
        for i in range(TURNS):
            X, y = sample(np.random.default_rng([i, 0]), N + POINTS)
            inputs = ckrr.Inputs(X[:N], X[N:], kernel, features=D, seed=i)
            scores = inputs.factor(THETA, LAM).score(y[:N], y[N:], PROCEDURES, [0.1])
            found.append([scores.hits[0, :, :, 0].mean(axis=1), np.median(scores.length[0, :, :, 0], axis=1)])
        hits, width = np.mean(found, axis=0)
        error = np.std([one[0] for one in found], axis=0) / np.sqrt(TURNS)
        cells = "  ".join(f"{h:.3f} ± {e:.3f}  {w:6.3f}" for h, e, w in zip(hits, error, width, strict=True))
        print(f"{kernel:14s} {D or '':>6}  {cells}   {(perf_counter() - start) / TURNS:.3f}", flush=True)


def million(n: int, D: int, points: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((n + points, 2))
    y = np.sin(8 * X[:, 0]) * np.cos(5 * X[:, 1]) + 0.1 * rng.standard_normal(n + points)
    print(f"n = {n}, D = {D}, {points} test points, θ = 10, λ = 0.01, one thread")
    start = perf_counter()
    fit = ckrr.fit(X[:n], y[:n], 10.0, 0.01, "gaussian-rff", features=D)
    print(f"fit {perf_counter() - start:.1f} s", flush=True)
    scores = fit.score(X[n:], y[n:])
    print(
        f"fit and scores of six procedures at four levels {perf_counter() - start:.1f} s, {process_time():.0f} s of CPU"
    )
    print(f"hits at 0.01, 0.05, 0.1, 0.25: {scores.hits.mean(axis=1).round(2).tolist()}")
    print(f"largest resident set {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--points", type=int, default=100)
    given = parser.parse_args()
    with threadpool_limits(1):
        million(given.n, given.features, given.points) if given.million else table([10, 30, 100, 300, 1000])
