"""Read θ from the arguments `theta` and `lengthscale`, of which exactly one must be given: θ = 1/(2ℓ²)."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from ckrr._validation import check_positive, quote_value
from ckrr.likelihood.median import MEDIAN


def compute_theta(lengthscale: float) -> float:
    """Return θ = 1/(2ℓ²) of a length scale ℓ, the same for every kernel; ℓ is read as the decimal that was written.

    Examples
    --------
    >>> compute_theta(0.2)
    12.5
    >>> compute_theta(1e-200)
    Traceback (most recent call last):
    ...
    ValueError: lengthscale must be between 1e-150 and 1e150, got 1e-200
    """
    length = check_positive("lengthscale", lengthscale)
    if not 1e-150 <= length <= 1e150:
        raise ValueError(f"lengthscale must be between 1e-150 and 1e150, got {quote_value(lengthscale)}")
    return float(1 / (2 * Fraction(repr(length)) ** 2))  # 1/(2·0.2·0.2) is 12.499999999999998


def resolve_theta(theta: float | str | None, lengthscale: float | None) -> float | str:
    """Return θ, or the name of a search for it, from the arguments of which exactly one is not None.

    Examples
    --------
    >>> resolve_theta(None, 0.5), resolve_theta("ml", None)
    (2.0, 'ml')
    >>> resolve_theta(2.0, 0.5)
    Traceback (most recent call last):
    ...
    ValueError: theta must be left out where lengthscale is given, got 2.0
    """
    if lengthscale is None:
        if theta is None:
            raise ValueError("theta must be given, or lengthscale in its place, got neither")
        return theta
    if theta is not None:
        raise ValueError(f"theta must be left out where lengthscale is given, got {quote_value(theta)}")
    return compute_theta(lengthscale)


def check_search(theta: str, searches: Collection[str]) -> None:
    """Raise ValueError unless θ is the name of a search that needs no test inputs, as "median" does."""
    if theta == MEDIAN:
        raise ValueError(
            f"theta must not be {MEDIAN!r}, which takes the distances of test inputs, too, or regions would not be "
            f'exactly valid: use Inputs(X, X_test).factor_ml(y, lam, "{MEDIAN}").fit(y)'
        )
    if theta not in searches:
        raise ValueError(f"theta must be a number > 0 or one of {', '.join(searches)}, got {quote_value(theta)}")
