"""Gaussian kernel with more digits than a double has, as a sum of two doubles.

With t = θ‖x − x′‖² in long doubles and j the whole number nearest to 256t, ::

    exp(−t) = T_j + T_j·expm1(j/256 − t),        T_j = exp(−j/256)

where T_j is from a table of sums of two doubles, and the second term is so small that a double holds it. That takes
half to two thirds of the time of an exponential function in long doubles.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array

Long = npt.NDArray[np.longdouble]

HAS_DIGITS = np.finfo(np.longdouble).nmant >= 63
"""Whether long doubles have more digits than doubles on this machine."""

_STEPS, _END = 256, 40
"""Entries of the table for a unit of t, and where it ends: beyond, kernel values are below 1e-17, with fewer digits."""

_CHUNK = 1 << 14
"""Entries computed at once, few enough to stay in the cache. Results are bitwise independent of it."""


def compute_long_kernel(X: Array, Z: Array, theta: float) -> tuple[Array, Array]:
    """Return K(x_i, z_j) and what rounding took from it, each of shape (len(X), len(Z)).

    Examples
    --------
    >>> k, rest = compute_long_kernel(np.array([[0.0]]), np.array([[0.5]]), theta=4.0)
    >>> float(k[0, 0]), f"{rest[0, 0]:.3g}"  # 1/e = 0.36787944117144232159…
    (0.36787944117144233, '-1.24e-17')
    """
    K, rest = np.empty((2, len(X), len(Z)))
    rows = max(1, _CHUNK // max(1, len(Z)))
    for start in range(0, len(X), rows):
        here = slice(start, start + rows)
        t = _compute_exponents(X[here], Z, theta)
        j = np.minimum(np.rint(t.astype(np.float64) * _STEPS), _STEPS * _END)
        table, fine = (values[j.astype(np.intp)] for values in _make_table())
        fine += table * np.expm1((j / _STEPS - t).astype(np.float64))
        np.add(table, fine, out=K[here])
        np.add(table - K[here], fine, out=rest[here])
    return K, rest


def _compute_exponents(X: Array, Z: Array, theta: float) -> Long:
    """Return θ‖x − x′‖² in long doubles."""
    t: Long = np.zeros((len(X), len(Z)), dtype=np.longdouble)
    for x, z in zip(X.T.astype(np.longdouble), Z.T.astype(np.longdouble), strict=True):
        difference = np.subtract.outer(x, z)
        difference *= difference
        t += difference
    t *= theta
    return t


@cache
def _make_table() -> tuple[Array, Array]:
    values = np.exp(-np.arange(_STEPS * _END + 1, dtype=np.longdouble) / _STEPS)
    table = values.astype(np.float64)
    return table, (values - table).astype(np.float64)
