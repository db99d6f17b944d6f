"""Ridge regression in long doubles, by iterative refinement: the truth that rounding errors are measured against.

K by its formula with 64 bits, solved by the inverse factor in doubles and residuals in long doubles until nothing
changes. That has 11 bits more than a double: `python -m tests.benchmarks.long_ridge` compares it with 1024 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ckrr._validation import Array
from ckrr.ridge.exact import Ridge
from ckrr.ridge.interface import FactorisedRidge

Long = np.longdouble
_BITS, _SLICES = 20, 4


@dataclass(frozen=True)
class Found:
    """What a ridge says of one target and some test points, in units of y."""

    a: Array
    W: Array
    m: Array
    diag_Q: Array
    mean: Array


def look(ridge: FactorisedRidge, y: Array, X_new: Array) -> Found:
    """Return what a ridge in doubles says."""
    target = ridge.make_target(y)
    parts = [(each.W.copy(), each.m, each.means[0]) for each in ridge.project(X_new, [target])]
    W, m, mean = (np.concatenate(each) for each in zip(*parts, strict=True))
    unit = 2.0**target.exponent
    return Found(target.a * unit, W, m, ridge.diag_Q, mean * unit)


def make_kernel(X: Array, Z: Array, theta: float) -> Array:
    """Return the Gaussian kernel in long doubles."""
    squares = sum((x.astype(Long)[:, None] - z.astype(Long)) ** 2 for x, z in zip(X.T, Z.T, strict=True))
    found: Array = np.exp(-Long(theta) * squares)
    return found


def refer(X: Array, Y: list[Array], X_new: Array, theta: float, lam: float) -> list[Found]:
    """Return the truth for each target."""
    n, t = len(X), len(Y)
    R, k = make_kernel(X, X, theta), make_kernel(X, X_new, theta)
    R[np.diag_indices(n)] += Long(lam)
    B = np.concatenate([*(y.astype(Long)[:, None] for y in Y), k, np.eye(n, dtype=Long)], axis=1)
    G, Z, left = Ridge(X, theta, lam).G, np.zeros_like(B), _slice(R)
    for _ in range(6):
        step = (G.T @ (G @ _subtract_product(left, Z, B))).astype(Long)
        Z = Z + step
        if (np.abs(step).max(axis=0) < 1e-16 * np.abs(Z).max(axis=0)).all():
            break
    W, diag_Q = Z[:, t : t + len(X_new)], Z[:, t + len(X_new) :].diagonal()
    m = Long(lam) + 1 - (k * W).sum(axis=0)
    return [Found(Z[:, i], W.T, m, diag_Q, k.T @ Z[:, i]) for i in range(t)]


def _subtract_product(left: list[Array], Z: Array, B: Array) -> Array:
    """Return B − RZ: exact products of slices of 20 bits by BLAS, as long as n < 8192."""
    if not Z.any():
        return B.astype(np.float64)
    total = B.copy()
    largest = np.maximum(np.abs(Z).max(axis=0).astype(np.float64), 1e-300)
    scale = np.exp2(np.ceil(np.log2(largest)))
    right = _slice(Z / scale)
    for i, j in product(range(_SLICES), range(_SLICES)):
        if i + j < _SLICES:
            total -= (left[i] @ right[j]).astype(Long) * scale
    return total.astype(np.float64)


def _slice(A: Array) -> list[Array]:
    """Return a matrix of numbers up to 1 as a sum of multiples of 2⁻²⁰, 2⁻⁴⁰, …"""
    found = []
    for i in range(1, _SLICES + 1):
        unit = Long(2) ** (-_BITS * i)
        part = np.rint(A / unit) * unit
        found.append(part.astype(np.float64))
        A = A - part
    return found


def main() -> None:
    """Print how far the truth is off."""
    from tests.ckrr.accuracy import problem
    from tests.oracles import coefficients

    for n, d, theta in ((40, 1, 10.0), (60, 2, 3.0)):
        X, y, X_new = problem(0, n, d)
        for lam in (1e-8, 1e-3):
            (ours,) = refer(X, [y], X_new, theta, lam)
            exact = coefficients(X, y, X_new, theta, lam)
            W, m = np.array([[float(w) for w in each.W] for each in exact]), np.array([float(each.m) for each in exact])
            a = np.array([float(value) for value in exact[0].a])
            pairs = ((ours.W, W), (ours.a, a), (ours.m / m, np.ones_like(m)))
            off = ", ".join(f"{np.abs(one - other).max() / np.abs(other).max():.0e}" for one, other in pairs)
            print(f"n = {n}, d = {d}, lam = {lam:g}: W, a, m off by {off}")


if __name__ == "__main__":
    main()
