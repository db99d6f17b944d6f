"""Whether p-values follow the law that theory promises."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from ckrr._validation import Array


def skewed_sample(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Exchangeable points of a model that is wrong in every way: a jump, skewed and heteroscedastic noise."""
    X = rng.random(n) ** 2
    return X, (X > 0.3) + (0.05 + X) * (rng.exponential(size=n) - 1.0)


def follows_its_law(procedure: str, N: int, p: Array) -> bool:
    """A chi-squared test of independent p-values."""
    counts = np.bincount(np.rint(p * N).astype(int), minlength=N + 1)[1:]
    expected = len(p) * law(procedure, N)
    possible = expected > 0
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    return bool(counts[~possible].sum() == 0 and statistic < chi2.isf(FALSE_ALARM, possible.sum() - 1))


FALSE_ALARM = 1e-4
"""How often a correct program would fail one of these tests, had their seeds not been fixed."""


def law(procedure: str, N: int) -> Array:
    """The probabilities of p = 1/N, 2/N, …, 1: uniform for RRCM; 2/N on the even ones for CRR, and 1/N on 1, N odd."""
    if procedure.startswith("RRCM"):
        return np.full(N, 1 / N)
    return np.array([(2 / N if i % 2 == 0 else 0.0) if i < N or N % 2 == 0 else 1 / N for i in range(1, N + 1)])
