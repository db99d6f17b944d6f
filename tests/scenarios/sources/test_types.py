"""A sample is checked when it is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.sources.types import Array, Sample


def sample() -> Sample:
    return Sample(np.zeros((3, 2)), np.zeros(3), np.zeros(3), np.zeros((5, 2)), np.zeros(5), np.zeros(5))


def test_noise_may_be_none() -> None:
    assert replace(sample(), noise=None, noise_test=None).noise is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("X", np.zeros(3), r"X must be of shape \(points, dimension\), got shape \(3,\)"),
        ("y", np.zeros((3, 1)), r"y must be of shape \(3,\), one for each row of X, got shape \(3, 1\)"),
        ("noise", np.zeros(2), r"noise must be of shape \(3,\), one for each row of X, got shape \(2,\)"),
        ("X_test", np.zeros((5, 1)), r"X_test must have 2 columns as X has, got shape \(5, 1\)"),
        ("y_test", np.zeros(3), r"y_test must be of shape \(5,\), one for each row of X_test, got shape \(3,\)"),
        (
            "noise_test",
            np.zeros(3),
            r"noise_test must be of shape \(5,\), one for each row of X_test, got shape \(3,\)",
        ),
    ],
)
def test_parts_that_do_not_fit(name: str, value: Array, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(sample(), **{name: value})
