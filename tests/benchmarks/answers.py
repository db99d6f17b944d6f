"""How long a worker's answer takes while it fits and scores a large sample: `python -m tests.benchmarks.answers`.

Dask counts a worker as lost that doesn't answer for long, so BLAS calls must leave it time: below a second each.
"""

from __future__ import annotations

from time import perf_counter, sleep

import numpy as np

import ckrr
from cluster import local


def fitted(n: int, points: int) -> float:
    """Fit and score a sample; on the worker."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((n, 2)), rng.random((points, 2))
    return float(ckrr.fit(X, X[:, 0], 100.0, 1e-6).score(X_new, X_new[:, 0]).hits.mean())


def answers(n: int, points: int) -> list[float]:
    """Seconds of each answer, while one sample is computed."""
    waits: list[float] = []
    with local(1, 8e9) as client:
        client.submit(fitted, 10, 10).result()  # imports take long, too
        future = client.submit(fitted, n, points)
        while not future.done():
            start = perf_counter()
            client.run(len, "")
            waits.append(perf_counter() - start)
            sleep(0.02)
        assert future.result() > 0
    return waits


def main() -> None:
    for n, points in ((6000, 600), (20_000, 2000)):
        waits = answers(n, points)
        print(f"n = {n}: the longest of {len(waits)} answers took {max(waits):.2f} s", flush=True)
        assert max(waits) < 1.0


if __name__ == "__main__":
    main()
