"""Every message is one line that begins with the keyword."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from scenarios.sources import _validation

ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.integers() | st.floats(), max_size=3)
    | st.just(10**400)
    | st.binary()
)
CHECKS: list[Callable[[str, object], object]] = [
    lambda name, value: _validation.check_integer(name, value, least=1),
    lambda name, value: _validation.check_integer(name, value, least=1, most=3),
    _validation.check_positive,
    _validation.check_interval,
    _validation.check_layout,
    _validation.check_bool,
]


@pytest.mark.parametrize("check", CHECKS)
@given(value=ANYTHING)
def test_a_value_passes_or_is_refused_in_one_line(check: Callable[[str, object], object], value: object) -> None:
    try:
        check("key", value)
        message = "key must be anything, got it"
    except ValueError as error:
        message = str(error)
    assert message.startswith("key must be ")
    assert ", got " in message
    assert "\n" not in message


def test_numbers_of_numpy_are_numbers() -> None:
    assert _validation.check_integer("n", np.int64(3), least=1) == 3
    assert _validation.check_positive("theta", np.float32(0.5)) == 0.5
    assert _validation.check_interval("domain", [np.int8(0), 1]) == (0.0, 1.0)


@pytest.mark.parametrize("value", [[0, float("inf")], [0, float("nan")], [1, 0], [0], [0, 1, 2], [-1e308, 1e308], "01"])
def test_bad_intervals(value: object) -> None:
    with pytest.raises(ValueError, match=r"^domain must be two finite numbers, the lower first, got "):
        _validation.check_interval("domain", value)


def test_a_misspelt_name_is_told_its_neighbour() -> None:
    with pytest.raises(ValueError, match=r"^test must be one of grid, iid, got 'Gird' \(did you mean 'grid'\?\)$"):
        _validation.check_layout("test", "Gird")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan]], [1, 2], r"X must be finite, got nan at X\[1, 0\] \(1 such\)"),
        ([[1.0], [2.0]], [1, np.inf], r"y must be finite, got inf at y\[1\] \(1 such\)"),
        ([["a"]], [1], "X must be an array of real numbers, got the type <U1"),
        ([[1.0]], [1j], "y must be an array of real numbers, got the type complex128"),
        ([[[1.0]]], [1], r"X must be of shape \(rows, columns\) and not empty, got shape \(1, 1, 1\)"),
        (np.empty((0, 2)), [], r"X must be of shape \(rows, columns\) and not empty, got shape \(0, 2\)"),
        ([[1.0]], [[1.0]], r"y must be of shape \(1,\), one for each row of X, got shape \(1, 1\)"),
    ],
)
def test_bad_tables(X: object, y: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        _validation.check_inputs_and_targets(X, y)  # type: ignore[arg-type]
