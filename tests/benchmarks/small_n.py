"""How fast many small problems go: `python tests/benchmarks/small_n.py`.

Prints, for n = 25, 50, 100 and 201 or 1001 iid test points in 1-d, the replications per second on one core, and the
nanoseconds per element (n × test points): with inputs, factor and score (six procedures, four levels) one replication
at a time, and with `score_together` on 32 replications. Making the data is not included. Both times are the best of
several turns taken one after the other, because machines are noisy; the last column is their ratio.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array

THETA, TOGETHER, TURNS = 100.0, 32, 15
Replication = tuple[Array, Array, Array, Array]


def replication(rng: np.random.Generator, n: int, points: int) -> Replication:
    """Train and test points uniform on [0, 1], a smooth function with noise."""
    X, X_test = rng.random(n), rng.random(points)
    y, y_test = (np.sin(10 * x) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_test))
    return X, y, X_test, y_test


def alone(replications: list[Replication], lam: float) -> float:
    """Seconds for all replications, one at a time."""
    start = perf_counter()
    for X, y, X_test, y_test in replications:
        ckrr.Inputs(X, X_test).factor(THETA, lam).score(y, y_test)
    return perf_counter() - start


def together(replications: list[Replication], lam: float) -> float:
    """Seconds for all replications, scored in one call."""
    start = perf_counter()
    factors = [ckrr.Inputs(X, X_test).factor(THETA, lam) for X, _, X_test, _ in replications]
    ckrr.score_together(factors, [y for _, y, _, _ in replications], [y_test for *_, y_test in replications])
    return perf_counter() - start


def seconds_each(n: int, points: int, lam: float, turns: int) -> tuple[float, float]:
    """Seconds of a replication, one at a time and together."""
    rng = np.random.default_rng(0)
    replications = [replication(rng, n, points) for _ in range(TOGETHER)]
    times = np.array([(alone(replications, lam), together(replications, lam)) for _ in range(turns)])
    one, many = times.min(axis=0) / TOGETHER
    return float(one), float(many)


def main(turns: int) -> None:
    print(f"theta = {THETA:g}, {TOGETHER} replications, one thread, best of {turns}")
    print("                        one at a time          together")
    print("   n  points    lam    per s   ns/element    per s   ns/element   ratio")
    for n in (25, 50, 100):
        for points in (201, 1001):
            for lam in (1e-6, 1e-1):
                one, many = seconds_each(n, points, lam, turns)
                print(
                    f"{n:4d}  {points:6d}  {lam:5g}  {1 / one:7.0f}  {one * 1e9 / n / points:8.1f}"
                    f"    {1 / many:7.0f}  {many * 1e9 / n / points:8.1f}     {one / many:5.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    with threadpool_limits(1):
        main(parser.parse_args().turns)
