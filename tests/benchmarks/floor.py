"""How near to the floor of any exact method: `python tests/benchmarks/floor.py`.

Prints, for n = 1500 and 2601 test points on one thread, the time of fit + score for all six procedures and four levels,
divided by the time of the bare `potrf` + `trtri` + two `trmm` on the same matrices. Both are the best of several turns
taken one after the other, because machines are noisy.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from time import perf_counter

import numpy as np
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array
from ckrr.kernels import gaussian

N, SIDE, TURNS = 1500, 51, 7


def data(low: float) -> tuple[Array, Array, Array, Array]:
    """A smooth function with a little noise on [low, 1]², train points uniform, test points a regular grid."""
    rng = np.random.default_rng(0)
    X = rng.uniform(low, 1.0, (N, 2))
    axis = np.linspace(low, 1.0, SIDE)
    X_new = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    y, y_new = (np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1]) + 1e-3 * rng.standard_normal(len(x)) for x in (X, X_new))
    return X, y, X_new, y_new


def floor(R: Array, k: Array) -> float:
    """Seconds for the factorisation, the inverse factor and two triangular products, in place."""
    start = perf_counter()
    L, _ = lapack.dpotrf(R, lower=1, clean=0, overwrite_a=1)
    G, _ = lapack.dtrtri(L, lower=1, overwrite_c=1)
    V = blas.dtrmm(1.0, G, k, lower=1, overwrite_b=1)
    blas.dtrmm(1.0, G, V, lower=1, trans_a=1, overwrite_b=1)
    return perf_counter() - start


def ours(X: Array, y: Array, X_new: Array, y_new: Array, theta: float, lam: float) -> float:
    """Seconds for all six procedures at four levels."""
    start = perf_counter()
    ckrr.fit(X, y, theta, lam).score(X_new, y_new)
    return perf_counter() - start


def share_of_odd_points(X: Array, X_new: Array, theta: float, lam: float) -> float:
    """The share of test points with some |W_i| ≥ 1."""
    Q = np.linalg.inv(gaussian(X, X, theta) + lam * np.eye(len(X)))
    return float((np.abs(gaussian(X_new, X, theta) @ Q).max(axis=1) >= 1).mean())


def cases() -> Iterator[tuple[float, float, float]]:
    """Lower end of the domain, θ and λ."""
    yield from product((0.0, -1.0), (10.0, 100.0, 1000.0), (1e-6, 1e-1))


def seconds(low: float, theta: float, lam: float, turns: int) -> tuple[float, float]:
    """Of the floor and of ours: the best of some turns."""
    X, y, X_new, y_new = data(low)
    R = np.asfortranarray(gaussian(X, X, theta) + lam * np.eye(N))
    k = np.asfortranarray(gaussian(X, X_new, theta))
    times = [(floor(R.copy("F"), k.copy("F")), ours(X, y, X_new, y_new, theta, lam)) for _ in range(turns)]
    bare, whole = np.array(times).min(axis=0)
    return float(bare), float(whole)


def worst(turns: int) -> float:
    """The largest ratio of all cases."""
    return max(whole / bare for bare, whole in (seconds(*case, turns) for case in cases()))


def main(turns: int) -> None:
    print(f"n = {N}, {SIDE**2} test points, one thread, best of {turns}")
    print("domain     theta    lam    |W|≥1   floor s   ours s   ratio")
    ratios = []
    for low, theta, lam in cases():
        bare, whole = seconds(low, theta, lam, turns)
        ratios.append(whole / bare)
        X, _, X_new, _ = data(low)
        odd = share_of_odd_points(X, X_new, theta, lam)
        print(f"[{low:2g},1]²  {theta:6g}  {lam:5g}   {odd:5.0%}   {bare:7.3f}  {whole:7.3f}  {ratios[-1]:6.2f}")
    print(f"worst ratio {max(ratios):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    with threadpool_limits(1):
        main(parser.parse_args().turns)
