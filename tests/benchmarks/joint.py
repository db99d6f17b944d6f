"""What theta="ml-joint" costs, in Cholesky factorisations: `python -m tests.benchmarks.joint`, a minute.

Samples of n = 1500 in one, two and five dimensions; also as a multiple of theta="ml" with the λ that was found. All in
CPU time, in turns one after the other on one thread, and the best of several turns counts. It exits with an error if a
search costs more than is promised: 60 factorisations in one dimension, where low rank or bands apply at most θ, and 400
elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import process_time

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from ckrr._validation import Array
from ckrr.kernels import gaussian
from ckrr.likelihood.joint import search_joint
from ckrr.likelihood.profile import Likelihood, search
from ckrr.ridge.exact import make_ridge_matrix

CASES: dict[str, tuple[int, Callable[[Array], Array], float]] = {
    "smooth, 1-d": (1, lambda X: np.sin(9 * X[:, 0]), 0.1),
    "nearly without noise, 1-d": (1, lambda X: np.sin(20 * X[:, 0]), 1e-3),
    "jump, 1-d": (1, lambda X: np.sign(X[:, 0] - 0.5), 0.1),
    "noise alone, 1-d": (1, lambda X: 0 * X[:, 0], 1.0),
    "smooth, 2-d": (2, lambda X: np.sin(7 * X[:, 0]) * np.cos(5 * X[:, 1]), 0.1),
    "jump, 2-d": (2, lambda X: np.sign(X.sum(axis=1) - 1), 0.1),
    "smooth, 5-d": (5, lambda X: np.sin(3 * X).sum(axis=1), 0.1),
}
PROMISED = {1: 60.0, 2: 400.0, 5: 400.0}


def measure(call: Callable[[], object]) -> float:
    start = process_time()
    call()
    return process_time() - start


def main(n: int, turns: int) -> bool:
    kept = True
    for name, (d, f, noise) in CASES.items():
        rng = np.random.default_rng(d)
        X = rng.random((n, d))
        y = f(X) + noise * rng.standard_normal(n)
        joint = Likelihood(X, y, 1.0)
        (found,) = search_joint(joint, [y])
        given, R = Likelihood(X, y, found.lam or 1.0), make_ridge_matrix(X, 10.0, 0.1, gaussian)
        steps = [
            lambda: search_joint(joint, [y]),  # noqa: B023 - called in this turn of the loop
            lambda: search(given),  # noqa: B023
            lambda: lapack.dpotrf(R.copy(order="F"), lower=1, overwrite_a=1),  # noqa: B023
        ]
        ours, ml, cholesky = np.array([[measure(step) for step in steps] for _ in range(turns)]).min(axis=0)
        print(
            f"{name:26s} {ours / cholesky:6.1f} factorisations, ×{ours / ml:.1f} of ml, {found.evaluations} θ",
            flush=True,
        )
        kept &= ours <= PROMISED[d] * cholesky
    return bool(kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1500)
    parser.add_argument("--turns", type=int, default=3)
    told = parser.parse_args()
    with threadpool_limits(1):
        sys.exit(not main(told.n, told.turns))
