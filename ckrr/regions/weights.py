"""Weights of training and test points for weighted conformal regions, with sums that are compared exactly.

Where test inputs come from another distribution than training inputs, residuals count with weights (Tibshirani, Barber,
Candès and Ramdas, 2019). With w the density ratio of test over training inputs, w_i = w(x_i) and w* = w(x*)::

    p(z) = (Σ_{i ≤ n : r_i counts} w_i + w*) / S        S = Σ_{i ≤ n} w_i + w*

r_i counts where it is at least as large as the test point's own residual, as without weights. Weights matter only up to
a common factor, and with w ≡ 1 this is the ordinary p-value. So the region {z : p(z) ≥ α} is where the training
residuals that count weigh at least αS − w*, and it is the whole line where w* ≥ αS.

A sum of floats is rounded, and a comparison may miss a tie by that: 0.1 added up twenty times isn't a twentieth of what
it should be compared with. But floats are whole numbers of a small unit. If all sums are below 2^52 of the largest such
unit, floats add them up exactly: so it is for equal weights, and for small whole numbers. Otherwise a sum in floats
decides only where it is farther from the threshold than rounding reaches, and sums of integers decide the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress
from math import frexp, gcd, ulp
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_values, quote_value
from ckrr.levels import Boundary, compute_required_count
from ckrr.regions.smoothing import Bools
from ckrr.regions.tail_sets import Indices

PointWeights = tuple[npt.ArrayLike, npt.ArrayLike]
"""Weights of the training points and of the test points."""

_EXACT = 1 << 52
"""Sums of whole numbers up to twice this are exact in floats."""
_TINY = 5e-324
"""The smallest float above 0, which bounds the error of scaling a float below the normal range."""


@dataclass(frozen=True, eq=False)
class SampleWeights:
    """Weights of a training sample and of its test points, ≥ 0, with a positive sum at every test point.

    Examples
    --------
    >>> w = SampleWeights(np.full(19, 0.1), np.full(1, 0.1))
    >>> w.scaled[1], w.compute_thresholds([Fraction(1, 20), Fraction(1, 10)], ">=")  # 1 of 20 is the point itself
    (array([1.]), array([[0., 1.]]))
    """

    train: Array
    """w, shape (n,)."""
    test: Array
    """w*, shape (m,)."""

    @cached_property
    def _whole(self) -> tuple[list[int], list[int]]:
        """The weights as whole numbers of the largest common unit."""
        found = _convert_to_whole([*self.train.tolist(), *self.test.tolist()])
        return found[: len(self.train)], found[len(self.train) :]

    @cached_property
    def is_exact(self) -> bool:
        """Whether sums of `scaled` weights are exact."""
        train, test = self._whole
        return sum(train) + max(test) <= _EXACT

    @cached_property
    def scaled(self) -> tuple[Array, Array]:
        """The weights as floats in a unit that makes sums exact, or at least keeps them from overflowing."""
        if self.is_exact:
            train, test = (np.array(each, dtype=float) for each in self._whole)
            return train, test
        exponent = frexp(max(self.train.max(), self.test.max()))[1]
        with np.errstate(under="ignore"):
            return np.ldexp(self.train, -exponent), np.ldexp(self.test, -exponent)

    @cached_property
    def margin(self) -> Array:
        """Bound on the rounding errors of a sum and its threshold at each test point; 0 where sums are exact."""
        train, test = self.scaled
        if self.is_exact:
            return np.zeros(len(test))
        n = len(train)
        margin: Array = 16 * (n + 4) * ulp(1.0) * (train.sum() + test) + 8 * (n + 4) * _TINY
        return margin

    def compute_thresholds(self, alpha: Sequence[Fraction], boundary: Boundary) -> Array:
        """Return the scaled weight that counted training residuals need, shape (test points, levels)."""
        train, test = self.scaled
        if not self.is_exact:
            levels = np.array([float(each) for each in alpha])
            need: Array = (train.sum() + test)[:, None] * levels - test[:, None]
            return need
        first, place = np.unique(test, return_index=True, return_inverse=True)[1:]
        some = [self.list_exact_thresholds(int(j), alpha, boundary) for j in first]
        return np.array(some, dtype=float).reshape(len(first), len(alpha))[place]

    def list_exact_thresholds(self, j: int, alpha: Sequence[Fraction], boundary: Boundary) -> list[int]:
        """Return the same for one test point as whole numbers, in the unit of `get_exact_weights`."""
        own = self._whole[1][j]
        return [compute_required_count(self._total + own, each, boundary) - own for each in alpha]

    def get_exact_weights(self) -> list[int]:
        """Return the weights of the training points as whole numbers."""
        return self._whole[0]

    def compute_p_value(self, j: int, counted: Bools, sides: int = 1) -> float:
        """Return sides·(Σ of the counted weights + w*)/S at test point j, correctly rounded."""
        train, test = self._whole
        return sides * (sum(compress(train, counted.tolist())) + test[j]) / (self._total + test[j])

    @cached_property
    def _total(self) -> int:
        return sum(self._whole[0])


def check_weights(
    weights: Any, n: int, m: int, of_new: str = "X_new", rows: Indices | slice = slice(None)
) -> SampleWeights:
    """Return validated weights of n training points, of which `rows` are used, and of m test points.

    Examples
    --------
    >>> check_weights(([1.0, 2.0], [-1.0]), 2, 1)
    Traceback (most recent call last):
    ...
    ValueError: weights[1] must be >= 0, got -1.0 at weights[1][0]
    """
    if not isinstance(weights, tuple | list) or len(weights) != 2:
        raise ValueError(f"weights must be a pair (w, w_new), for X and for {of_new}, got {quote_value(weights)}")
    sizes = ((n, "X"), (m, of_new))
    train, test = (
        check_values(f"weights[{i}]", each, *size) for i, (each, size) in enumerate(zip(weights, sizes, strict=True))
    )
    for i, each in enumerate((train, test)):
        if each.size and each.min() < 0:
            bad = int(np.argmax(each < 0))
            raise ValueError(f"weights[{i}] must be >= 0, got {each[bad]} at weights[{i}][{bad}]")
    train = train[rows]
    if not train.any() and not test.all():
        bad = int(np.argmin(test > 0))
        raise ValueError(f"weights must not all be 0, got 0 for every row used of X and for {of_new}[{bad}]")
    return SampleWeights(train, test)


def _convert_to_whole(values: Sequence[float]) -> list[int]:
    """Return floats as whole numbers of the largest unit of which all of them are multiples.

    Examples
    --------
    >>> _convert_to_whole([0.1, 0.2, 0.0]), _convert_to_whole([0.75, 1.0])
    ([1, 2, 0], [3, 4])
    """
    ratios = [value.as_integer_ratio() for value in values]
    unit = max(below for _, below in ratios)  # all are powers of two
    found = [above * (unit // below) for above, below in ratios]
    common = gcd(*found)
    return [each // common for each in found]
