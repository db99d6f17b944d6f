"""The profile likelihood over θ and λ by its definition, in ball arithmetic; with a mean by a bordered system."""

from __future__ import annotations

from math import log, pi

import numpy as np
from flint import arb, arb_mat

from tests.oracles import column, precise, ridge_matrix, to_arb


@precise
def log_likelihood(
    X: np.ndarray, y: np.ndarray, theta: float, lam: float, name: str = "gaussian", has_mean: bool = False
) -> float:
    """−n/2·(log 2π + log σ̂² + 1) − ½ log|R|, with σ̂² = y′R⁻¹y/n, or the least of (y − μ)′R⁻¹(y − μ)/n over μ.

    The latter is y′a, where (a, μ) solves [R 1; 1′ 0](a, μ) = (y, 0).
    """
    n = len(y)
    R = ridge_matrix(X, theta, lam, name)
    labels = [to_arb(each) for each in y]
    if has_mean:
        rows = [[R[i, j] for j in range(n)] + [arb(1)] for i in range(n)]
        solved = arb_mat([*rows, [arb(1)] * n + [arb(0)]]).solve(column([*labels, arb(0)]))
    else:
        solved = R.solve(column(labels))
    sigma2 = sum((labels[i] * solved[i, 0] for i in range(n)), arb(0)) / n
    return float((-(arb(n) / 2) * (sigma2.log() + 1) - R.det().log() / 2).mid()) - 0.5 * n * log(2 * pi)
