"""What theta="ml" costs, in fits: `python -m tests.benchmarks.likelihood`, from the root of the repository.

A fit is `ckrr.fit(X, y, 100.0, λ)`. For each n, over the functions in 1-d and every γ and λ of the paper (16 cases) on
one thread, this prints the median and the largest of: a search, a search for two γ of one sample at once (each), and
the evaluations of ℓ that a search needs; and the cost of a search that `ckrr plan` assumes, in searches. All are
measured in turns one after the other, in CPU time, and the best of several turns counts, because machines are noisy.

With `--two` the functions in 2-d are measured, too, for which nothing is promised. It exits with an error if
a search costs more than is promised.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array
from ckrr.likelihood.profile import Likelihood, search, search_together
from harness.families.krr import FAMILY
from harness.planning.machine import measure_flops
from tests.ckrr.likelihood.samples import ONE_D, TWO_D, sample

TURNS = 7
PROMISED = {25: 15.0, 50: 15.0, 100: 22.0, 200: 22.0, 400: 8.0, 1500: 10.0}
"""Fits that the median search takes at most. At n = 1500 a fit is by low rank, and takes a fifteenth of a dense one."""
SHARED = 15.0
"""Fits that it takes at most for each of two γ that share a sample."""
GAMMAS = LAMS = (1e-6, 1e-1)


def measure_seconds(call: Callable[[], object], times: int) -> float:
    start = process_time()
    for _ in range(times):
        call()
    return (process_time() - start) / times


def measure_case(f: Callable[..., Array], n: int, gamma: float, lam: float, turns: int) -> list[float]:
    """Seconds of a search, of one of two at once, and of a fit; and evaluations of a search."""
    (X, y), (_, other) = sample(f, n, gamma), sample(f, n, GAMMAS[gamma == GAMMAS[0]])
    likelihood, times = Likelihood(X, y, lam), max(200 // n, 1)
    steps = [
        (lambda: search(likelihood), times),
        (lambda: search_together(likelihood, [y, other]), times),
        (lambda: ckrr.fit(X, y, 100.0, lam), 4 * times if n < 500 else 1),
    ]
    each = np.array([[measure_seconds(*step) for step in steps] for _ in range(turns)]).min(axis=0)
    return [each[0], each[1] / 2, each[2], search(likelihood).evaluations]


@dataclass(frozen=True)
class Costs:
    """Of each case: seconds of a fit, fits that a search takes, alone and for each of two γ, and its evaluations."""

    fit: Array
    alone: Array
    shared: Array
    evaluations: Array


def measure_size(functions: Sequence[Callable[..., Array]], n: int, turns: int) -> Costs:
    cases = product(functions, GAMMAS, LAMS)
    alone, shared, fit, evaluations = np.array([measure_case(f, n, g, lam, turns) for f, g, lam in cases]).T
    return Costs(fit, alone / fit, shared / fit, evaluations)


def print_size(functions: Sequence[Callable[..., Array]], n: int, turns: int, flops: float) -> bool:
    """Print a row; return whether the costs are as promised."""
    costs = measure_size(functions, n, turns)
    planned = (FAMILY.flops(n, 1, 0, True) - FAMILY.flops(n, 1, 0, False)) / flops
    cells = [f"{np.median(some):5.1f} / {some.max():4.1f}" for some in (costs.alone, costs.shared)]
    cells += [f"{np.median(costs.evaluations):3.0f} / {costs.evaluations.max():3.0f}"]
    cells += [f"{planned / np.median(costs.alone * costs.fit):5.2f}"]
    print(f"{n:5d}   {1e3 * np.median(costs.fit):8.2f}   " + "   ".join(cells), flush=True)
    return bool(np.median(costs.alone) <= PROMISED[n] and np.median(costs.shared) <= SHARED)


def main(turns: int, sizes: Sequence[int], two: bool) -> int:
    flops = measure_flops()
    print(f"one thread, best of {turns} turns; median / largest of 16 cases\n")
    print("    n     fit ms   fits a search   for each of two   evaluations   planned / taken")
    kept = [print_size(ONE_D, n, turns, flops) for n in sizes]
    if two:
        print("in 2-d")
        for n in sizes:
            print_size(TWO_D, n, turns, flops)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--sizes", type=int, nargs="+", choices=PROMISED, default=list(PROMISED))
    parser.add_argument("--two", action="store_true")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        sys.exit(main(arguments.turns, arguments.sizes, arguments.two))
