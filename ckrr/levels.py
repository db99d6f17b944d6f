"""Levels α as exact fractions, and how many residuals must be at least as large as the test point's.

The region at level α is {z : count(z) ≥ Nα}, and count is an integer, so what matters is ⌈Nα⌉. It is computed
from the decimal that the user wrote, never from the binary float nearest to it: in floats 100·0.07 is
7.000000000000001, whose ceiling is 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Literal

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, quote_value

Boundary = Literal[">=", ">"]
Level = float | Decimal | Fraction
Alpha = Level | Sequence[Level] | Array

ALPHA = (0.01, 0.05, 0.10, 0.25)
"""The levels of the paper."""


def parse_alpha(alpha: object) -> Fraction:
    """Return α as the decimal that was written: 0.07 is 7/100.

    Examples
    --------
    >>> parse_alpha(0.07), parse_alpha(Fraction(1, 3))
    (Fraction(7, 100), Fraction(1, 3))
    >>> parse_alpha(1.5)
    Traceback (most recent call last):
    ...
    ValueError: alpha must be a number strictly between 0 and 1, got 1.5
    """
    try:
        number = Fraction(0) if isinstance(alpha, str) else Fraction(str(alpha))  # str(np.float32(0.1)) is "0.1"
    except ValueError:
        number = Fraction(0)
    if not 0 < number < 1:
        raise ValueError(f"alpha must be a number strictly between 0 and 1, got {quote_value(alpha)}")
    return number


def parse_alphas(alpha: Alpha) -> tuple[Fraction, ...]:
    """Return one α or a sequence of them, each as the decimal that was written."""
    if isinstance(alpha, np.ndarray) and alpha.ndim > 1:
        raise ValueError(f"alpha must be a number or a sequence of numbers, got {quote_value(alpha)}")
    plain = np.atleast_1d(alpha) if isinstance(alpha, np.ndarray) else alpha
    given = list(plain) if isinstance(plain, Iterable) and not isinstance(plain, str) else [plain]
    if not given:
        raise ValueError("alpha must hold at least one level, got none")
    return tuple(parse_alpha(each) for each in given)


def check_boundary(boundary: str) -> Boundary:
    """Return the boundary rule; raise ValueError if it is neither ">=" nor ">"."""
    if boundary == ">=":
        return ">="
    if boundary == ">":
        return ">"
    raise ValueError(f"boundary must be '>=' (p ≥ α, as in the paper) or '>' (p > α), got {quote_value(boundary)}")


def compute_required_count(N: int, alpha: Fraction, boundary: Boundary = ">=") -> int:
    """Return the smallest count that keeps a candidate: ⌈Nα⌉ for p ≥ α, ⌊Nα⌋ + 1 for p > α.

    Examples
    --------
    >>> compute_required_count(100, parse_alpha(0.07)), compute_required_count(100, parse_alpha(0.07), ">")
    (7, 8)
    """
    return ceil(N * alpha) if boundary == ">=" else floor(N * alpha) + 1


def compute_thresholds(N: int, alpha: Sequence[Fraction], boundary: Boundary = ">=") -> npt.NDArray[np.intp]:
    """Return, for each α, how many of the n = N − 1 training residuals must count besides the test point's own."""
    return np.array([compute_required_count(N, each, boundary) - 1 for each in alpha], dtype=np.intp)
