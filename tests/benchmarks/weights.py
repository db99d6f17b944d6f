"""Cost of weighted regions, relative to those without weights: `python -m tests.benchmarks.weights`.

Processor time of `Factor.score` at four levels from a given factor, projection of the test points included. Procedures
take turns, and the fastest of several rounds counts.
"""

from __future__ import annotations

from time import process_time

import numpy as np

import ckrr

ROUNDS, POINTS = 7, 400
PROCEDURES = ("RRCM-loo", "RRCM-loo-w", "CRR-loo", "CRR-loo-w")


def measure(n: int, lam: float) -> dict[str, float]:
    rng = np.random.default_rng(n)
    X, X_new = rng.random((n, 2)), rng.random((POINTS, 2))
    y, y_new = np.sin(5 * X[:, 0]) + 0.3 * rng.standard_normal(n), rng.standard_normal(POINTS)
    factor = ckrr.Inputs(X, X_new, weights=(np.exp(2 * X[:, 0]), np.exp(2 * X_new[:, 0]))).factor(1000.0, lam)
    best = dict.fromkeys(PROCEDURES, np.inf)
    for _ in range(ROUNDS):
        for name in PROCEDURES:
            start = process_time()
            factor.score(y, y_new, name)
            best[name] = min(best[name], process_time() - start)
    return best


def main() -> None:
    for n in (25, 200, 1500):
        for lam in (1e-6, 0.1):
            times = measure(n, lam)
            ratios = [times[f"{name}-w"] / times[name] for name in ("RRCM-loo", "CRR-loo")]
            print(f"n = {n}, lam = {lam:g}: RRCM-loo-w {ratios[0]:.1f}, CRR-loo-w {ratios[1]:.1f}")


if __name__ == "__main__":
    main()
