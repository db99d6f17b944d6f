"""Low rank and the exact way in turns: `python -m tests.benchmarks.low_rank`, from the repository's root.

Prints the CPU seconds of fit + score of six procedures at four levels by each, the least of a few turns, and their
ratio, on [0,1] with n = 1600 and on [0,1]² with n = 1500, where low rank isn't used by its rule. Then, in a fresh
process, the CPU seconds and the peak of the resident memory at n = 100,000 on [0,1]², θ = 10, with 200 test points.

Exact/low on a quiet core, with 201 | 2601 test points: 9.3 | 4.8 for θ = 10, 6.4 | 4.5 for 100 and 2.7 | 3.0 for 1000;
on [0,1]² 0.9 | 1.3. n = 100,000: 6.7 s and 0.62 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from time import process_time
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array
from ckrr.ridge import structure
from ckrr.ridge.low_rank import LowRankRidge
from ckrr.ridge.pivots import factorise_kernel
from tests.benchmarks.growth import peak

CASES = ((1600, 1, 10.0), (1600, 1, 100.0), (1600, 1, 1000.0), (1500, 2, 10.0))
LAM, LARGE = 1e-6, 100_000


def draw(n: int, d: int, points: int) -> tuple[Array, ...]:
    """Return a smooth function with noise on the unit cube, and test points."""
    rng = np.random.default_rng(0)
    X = rng.random((n + points, d))
    y = np.sin(5 * X.sum(axis=1)) + 0.1 * rng.standard_normal(n + points)
    return X[:n], y[:n], X[n:], y[n:]


def time_once(data: tuple[Array, ...], theta: float, exact: bool) -> float:
    """Return the CPU seconds of fit and score."""
    X, y, X_new, y_new = data
    with patch.multiple(structure, RANKS=4, is_low_rank=lambda *_: not exact):
        start = process_time()
        fit = ckrr.fit(X, y, theta, LAM)
        fit.score(X_new, y_new)
        assert isinstance(fit._ridge, LowRankRidge) != exact
        return process_time() - start


def compare(points: int, turns: int) -> None:
    """Print a table of both ways."""
    print(f"{points} test points; least CPU seconds of {turns} turns")
    print("  n  d  theta  rank   exact     low  exact/low (each turn)")
    for n, d, theta in CASES:
        data = draw(n, d, points)
        found = factorise_kernel(data[0], theta, n)
        assert found is not None
        rank = found[0].count
        each = np.array([[time_once(data, theta, exact) for exact in (True, False)] for _ in range(turns)])
        exact, low = each.min(axis=0)
        ratios = " ".join(f"{ratio:.1f}" for ratio in sorted(each[:, 0] / each[:, 1]))
        print(f"{n} {d} {theta:6g} {rank:5d} {exact:7.3f} {low:7.3f} {exact / low:6.1f}  ({ratios})", flush=True)


@dataclass(frozen=True)
class Large:
    """CPU seconds of fit and score at n = 100,000, and the peak of the resident memory in bytes."""

    fit: float
    score: float
    memory: int


def measure_large() -> Large:
    """Fit and score a large sample, in this process."""
    X, y, X_new, y_new = draw(LARGE, 2, 200)
    start = process_time()
    fit = ckrr.fit(X, y, 10.0, LAM)
    fitted = process_time()
    fit.score(X_new, y_new)
    return Large(fitted - start, process_time() - fitted, peak())


def measure_large_apart() -> Large:
    """Fit and score a large sample in a fresh process."""
    command = [sys.executable, "-m", "tests.benchmarks.low_rank", "--large"]
    return Large(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--points", type=int, nargs="+", default=[201, 2601])
    parser.add_argument("--large", action="store_true", help="measure the large sample in this process")
    given = parser.parse_args()
    with threadpool_limits(1):
        if given.large:
            print(json.dumps(asdict(measure_large())))
        else:
            for points in given.points:
                compare(points, given.turns)
            found = measure_large_apart()
            taken = f"fit {found.fit:.1f} s, score {found.score:.1f} s of CPU, {found.memory / 1e9:.2f} GB"
            print(f"n = {LARGE}, d = 2, theta = 10: {taken}")
