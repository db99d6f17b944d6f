"""Levels are integers computed from the decimal that was written."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ckrr.levels import check_boundary, compute_required_count, compute_thresholds, parse_alpha, parse_alphas


def test_floats_would_be_wrong() -> None:
    """Where the ceiling of the float product isn't that of the decimal."""
    assert ceil(100 * 0.07) == 8
    assert compute_required_count(100, parse_alpha(0.07)) == 7
    assert ceil(20 * (1 - 0.95)) == 2
    assert compute_required_count(20, 1 - parse_alpha(0.95)) == 1
    assert compute_required_count(100, parse_alpha(0.07), ">") == 8


@given(st.integers(1, 10_000), st.integers(1, 999))
def test_levels_are_exact(N: int, thousandths: int) -> None:
    alpha = parse_alpha(thousandths / 1000)
    assert alpha == Fraction(thousandths, 1000)
    at_least, above = compute_required_count(N, alpha), compute_required_count(N, alpha, ">")
    assert 1000 * (at_least - 1) < N * thousandths <= 1000 * at_least
    assert 1000 * (above - 1) <= N * thousandths < 1000 * above


@pytest.mark.parametrize(
    "alpha", [0.05, np.float64(0.05), np.float32(0.05), Decimal("0.05"), Fraction(1, 20), np.array(0.05)]
)
def test_any_number_is_a_level(alpha: object) -> None:
    assert parse_alphas(alpha) == (Fraction(1, 20),)  # type: ignore[arg-type]


def test_several_levels() -> None:
    assert (
        parse_alphas([0.1, 0.2])
        == parse_alphas(np.array([0.1, 0.2]))
        == parse_alphas((0.1, 0.2))
        == (Fraction(1, 10), Fraction(1, 5))
    )
    assert parse_alphas(np.array([0.1, 0.2], dtype=np.float32)) == (Fraction(1, 10), Fraction(1, 5))  # type: ignore[arg-type]
    assert compute_thresholds(100, parse_alphas([1e-6, 0.07])).tolist() == [0, 6]


@pytest.mark.parametrize(
    "alpha", [0, 1, 0.0, 1.0, -0.1, 1.5, float("nan"), float("inf"), "0.1", None, [], [0.1, 2], [[0.1]]]
)
def test_bad_levels_are_named(alpha: object) -> None:
    with pytest.raises(ValueError, match=r"^alpha must [^\n]*, got [^\n]+$"):
        parse_alphas(alpha)  # type: ignore[arg-type]


def test_bad_boundary_is_named() -> None:
    with pytest.raises(ValueError, match=r"^boundary must be '>=' .* got '<'$"):
        check_boundary("<")
