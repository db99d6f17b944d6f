"""Samples of a step with noise, scored by a family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.core.protocols import Family, Scores, Target
from harness.core.seeds import Seeds
from harness.core.types import Array, Streams

ALPHA = (0.05, 0.1, 0.25)
NOISE = (0.1, 0.3)


def streams(seed: int) -> Streams:
    return Seeds.from_source(1, {}).make_draw_streams(seed, 0)


def sample(seed: int, n: int = 30, noise: Sequence[float] = NOISE) -> tuple[Array, Array, Target]:
    """Training inputs, test inputs, and a target with a column for each scale of the noise."""
    rng = np.random.default_rng(seed)
    X, X_test = rng.random((n, 1)), rng.random((20, 1))
    Y, Y_test = ((x > 0.5) + np.array(noise) * rng.standard_normal((len(x), len(noise))) for x in (X, X_test))
    return X, X_test, Target(Y, Y_test, None)


def scored(known: Family, names: Sequence[str], many: int, n: int = 30, alpha: Sequence[float] = ALPHA) -> list[Scores]:
    """Several samples at once."""
    samples = [sample(seed, n) for seed in range(many)]
    factors = [known.inputs(X, X_test).factor(100.0, 1e-3) for X, X_test, _ in samples]
    targets = [target for _, _, target in samples]
    return list(known.score(factors, targets, names, alpha, [streams(seed) for seed in range(many)]))
