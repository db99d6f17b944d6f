"""Choose θ from the distances between inputs, without the targets: θ = 1/median‖x − x′‖².

The median is over all pairs of different positions among the n training *and* m test inputs; for an even number of
pairs it is the mean of the middle two, and if it is 0 the smallest positive squared distance takes its place. So θ is
a symmetric function of n + m exchangeable inputs: given θ, they are as exchangeable as before, and conformal procedures
keep their exact level without holding out a row. The median over training inputs alone isn't symmetric: it
knows which point is the test point.

Beyond `MOST` inputs the pairs are those of `MOST` inputs: of all inputs in lexicographic order, evenly spaced ones.
That order doesn't depend on which input is a test point either, so this is symmetric, too, where a subset of fixed
positions wouldn't be; and it needs no random numbers.
"""

from __future__ import annotations

from math import frexp

import numpy as np
from scipy.spatial.distance import pdist

from ckrr._validation import Array

MEDIAN = "median"
"""The value of `theta` that selects this."""

MOST = 5000
"""Maximum number of inputs whose distances are computed: 12.5 million, in 100 MB."""


def choose_median_theta(X: Array, X_test: Array) -> float:
    """Return θ = 1/median‖x − x′‖² over all pairs of training and test inputs.

    Examples
    --------
    >>> choose_median_theta(np.array([[0.0], [1.0]]), np.array([[3.0]]))  # squares 1, 4, 9
    0.25
    """
    Z = _thin_out(np.concatenate([X, X_test]))
    exponent = frexp(float(np.ptp(Z, axis=0).max()))[1]  # squares of the scaled differences can't overflow
    squares = pdist(np.ldexp(Z, -exponent), "sqeuclidean")
    square = _compute_median(squares)
    if square == 0:
        square = float(squares[squares > 0].min(initial=np.inf))
    with np.errstate(over="ignore", under="ignore"):
        theta = float(np.ldexp(1.0 / square, -2 * exponent))
    if not 0 < theta < np.inf:
        found = "equal rows only" if square == np.inf else f"a median distance of 2^{exponent} · {square**0.5:g}"
        raise ValueError(
            f'X and X_test must have distances between 1e-150 and 1e150 for theta = "{MEDIAN}", got {found}'
        )
    return theta


def _compute_median(values: Array) -> float:
    """Return the median, the mean of the middle two of an even number; the values are put in another order."""
    middle = len(values) // 2
    values.partition(middle)
    high = float(values[middle])
    if len(values) % 2:
        return high
    low = float(values[:middle].max())
    return low + (high - low) / 2


def _thin_out(Z: Array) -> Array:
    """Return at most `MOST` points: evenly spaced ones in lexicographic order."""
    if len(Z) <= MOST:
        return Z
    order = np.lexsort(Z.T[::-1])
    return Z[order[np.arange(MOST) * len(Z) // MOST]]
