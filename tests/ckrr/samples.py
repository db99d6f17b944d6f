"""Samples, and whether two results are the same in every bit."""

from __future__ import annotations

from typing import Any

import numpy as np

import ckrr
from ckrr._validation import Array


def sample(n: int, d: int = 2, m: int = 30, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X, X_new = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, (m, d))
    y, y_new = (np.sin(4 * x[:, 0]) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    return X, y, X_new, y_new


def arrays(scores: ckrr.Scores) -> list[Any]:
    """All of its arrays; those that weren't asked for are None, and pieces aren't sliced as arrays are."""
    return [each for each in vars(scores).values() if isinstance(each, np.ndarray)]


def same(a: object, b: object) -> bool:
    """Equal in every bit, dataclass by dataclass."""
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(arrays(a), arrays(b), strict=True))
