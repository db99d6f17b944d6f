"""Choose how to factorise a kernel ridge matrix: by low rank where that is as accurate and faster, else exactly.

The choice depends on n, the rank, λ and the kernel alone, never on timing, so results for the same sample are bitwise
identical. `tests/benchmarks/low_rank_accuracy.py` has the errors that it rests on.
"""

from __future__ import annotations

from math import gamma, log, pi, prod, sqrt, ulp

import numpy as np

from ckrr._validation import Array
from ckrr.kernels import Gaussian, Kernel
from ckrr.ridge.exact import Ridge
from ckrr.ridge.long_kernel import HAS_DIGITS
from ckrr.ridge.low_rank import LowRankRidge
from ckrr.ridge.pivots import factorise_kernel

LEAST_ROWS = 400
"""Smaller samples are factorised exactly, which is as fast."""

RANKS = 6
"""Low rank is at most n over this: beyond, the exact way is faster."""

LEAST_LAM, MOST_LAM = 1e-8, 1e3
"""Range of λ for which low rank was compared with extended precision."""

LEAST_SPREAD = 3.0
"""Least θs², s the largest range of a coordinate. Below it the worst ends far from the sample were farther off."""

_MARGIN = 1.25
"""Low rank is tried up to this times the maximum rank, since `bound_rank` is too high in two dimensions and more."""


def make_kernel_ridge(X: Array, theta: float, lam: float, kernel: Kernel) -> Ridge | LowRankRidge:
    """Factorise K + λI of a training sample.

    Examples
    --------
    >>> from ckrr.kernels import gaussian
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> [type(make_kernel_ridge(X, theta, 1e-6, gaussian)).__name__ for theta in (10.0, 1e5)]
    ['LowRankRidge', 'Ridge']
    """
    if isinstance(kernel, Gaussian) and is_low_rank(len(X), np.ptp(X, axis=0), theta, lam):
        found = factorise_kernel(X, theta, most=len(X) // RANKS)
        if found is not None:
            return LowRankRidge(X, theta, lam, *found)
    return Ridge(X, theta, lam, kernel)


def is_low_rank(n: int, ranges: Array, theta: float, lam: float) -> bool:
    """Return whether low rank is tried, for n points in a box with sides of these lengths."""
    if not HAS_DIGITS or n < LEAST_ROWS or not LEAST_LAM <= lam <= MOST_LAM:
        return False
    with np.errstate(over="ignore"):
        if not theta * ranges.max() ** 2 >= LEAST_SPREAD:
            return False
    return bound_rank(ranges, theta) <= _MARGIN * (n // RANKS)


def bound_rank(ranges: Array, theta: float) -> float:
    """Estimate the rank of a Gaussian kernel matrix of many points in a box, rather too high as a rule.

    On a side of length s the kernel has about (2/π)√(−θs² log ε) + 8 terms above rounding; in d dimensions those in
    a ball count. For points that fill the box it is within a tenth of the rank in one dimension, above it by up to 45 %
    in two and twice in three; in more dimensions by more.

    Examples
    --------
    >>> [round(bound_rank(np.ones(d), 10.0)) for d in (1, 2)]  # the ranks are 21 and 284
    [21, 333]
    """
    with np.errstate(over="ignore"):
        ts = [float(theta * s * s) for s in ranges]
    terms = [_count_terms(t) for t in ts if t > ulp(1.0)]
    d = len(terms)
    ball = (sqrt(pi) / 2) ** d / gamma(d / 2 + 1)
    return float(prod(terms) * ball)


def _count_terms(t: float) -> float:
    return 2 / pi * sqrt(-t * log(ulp(1.0))) + 4.0 + 4.5 * min(1.0, sqrt(sqrt(t)))
