"""What theta="ml" costs: `python -m tests.benchmarks.likelihood`, from the root of the repository.

Prints, for every function, γ and λ of the paper, at n = 1600 in 1-d and n = 1500 in 2-d on one thread, the time of the
search for θ divided by that of one factorisation, `Inputs(X, X[:1]).factor(θ, λ)`. Both are the best of several turns
taken one after the other, because machines are noisy. With `--small`, for n = 25 … 400 in milliseconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array
from ckrr.likelihood.profile import Likelihood, search
from tests.ckrr.likelihood.samples import ONE_D, TWO_D, sample

TURNS = 5


def seconds(what: Callable[[], object]) -> float:
    start = perf_counter()
    what()
    return perf_counter() - start


def measured(f: Callable[..., Array], n: int, gamma: float, lam: float, turns: int) -> tuple[float, float]:
    """Seconds of the search and of one factorisation, the best of some turns each."""
    X, y = sample(f, n, gamma)
    likelihood, inputs = Likelihood(X, y, lam), ckrr.Inputs(X, X[:1])
    steps = (lambda: search(likelihood), lambda: inputs.factor(100.0, lam))
    of_search, of_factor = np.min([[seconds(step) for step in steps] for _ in range(turns)], axis=0)
    return float(of_search), float(of_factor)


def main(turns: int, small: bool) -> None:
    sizes = [(f, n) for n in (25, 50, 100, 200, 400) for f in ONE_D] if small else []
    sizes = sizes or [(f, 1600) for f in ONE_D] + [(f, 1500) for f in TWO_D]
    worst = 0.0
    print(f"one thread, best of {turns}\nfunction      n  gamma    lam  search ms  factor ms  ratio")
    for (f, n), gamma, lam in product(sizes, (1e-6, 1e-1), (1e-6, 1e-1)):
        of_search, of_factor = measured(f, n, gamma, lam, turns)
        worst = max(worst, of_search / of_factor)
        print(
            f"{f.__name__:9s} {n:5d}  {gamma:5g}  {lam:5g}  {1e3 * of_search:9.1f}  {1e3 * of_factor:9.2f}"
            f"  {of_search / of_factor:5.1f}",
            flush=True,
        )
    print(f"worst: {worst:.1f} factorisations")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        main(arguments.turns, arguments.small)
