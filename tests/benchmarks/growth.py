"""How time and memory grow with n: `python tests/benchmarks/growth.py`.

Prints, for n = 100, 200, …, 6400 on one thread, the time and the peak memory of fit + score for all six procedures and
four levels at 200 test points, and the exponents fitted to the larger half of the range (least squares in logarithms).

Each n has a fresh process. Memory is its largest resident set after one call, less what it was before the data were
made, when everything is imported and was called once on a tiny sample. At small n that is mostly buffers of constant
size, so its share in matrices, bytes/(8n²), says something only for large n. Times are the best of several turns in
each process, the processes one after the other, because machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr

SIZES = [100 * 2**i for i in range(7)]
POINTS, THETA, LAM, TURNS = 200, 100.0, 1e-6, 3
UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of ru_maxrss."""


def call(n: int) -> float:
    """Seconds for fit + score on a 2-d sample of n points."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((n, 2)), rng.random((POINTS, 2))
    y, y_new = (np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1]) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    start = perf_counter()
    ckrr.fit(X, y, THETA, LAM).score(X_new, y_new)
    return perf_counter() - start


def peak() -> int:
    """The largest resident set of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says would be inherited from the parent
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return UNIT * getrusage(RUSAGE_SELF).ru_maxrss


def measure(n: int, turns: int) -> tuple[float, int]:
    """The best time and the memory of one call, in this process."""
    call(10)
    before = peak()
    times = [call(n)]
    memory = peak() - before
    while len(times) < turns or (sum(times) < 0.5 and len(times) < 100):
        times.append(call(n))
    return min(times), memory


def measured_apart(n: int, turns: int) -> tuple[float, int]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "--only", str(n), "--turns", str(turns)]
    seconds, memory = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return seconds, memory


def exponent(of: Sequence[float], sizes: Sequence[int] = SIZES) -> float:
    """The slope of log(of) in log n over the larger half of the range."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(of[half:]), 1)[0])


def main(turns: int) -> None:
    print(f"{POINTS} test points, theta = {THETA:g}, lam = {LAM:g}, one thread, best of {turns} or more")
    print("    n   seconds   ×    peak MB   bytes/(8n²)")
    rows: list[tuple[float, int]] = []
    for n in SIZES:
        seconds, memory = measured_apart(n, turns)
        growth = f"{seconds / rows[-1][0]:4.1f}" if rows else "    "
        rows.append((seconds, memory))
        print(f"{n:5d}  {seconds:8.4f}  {growth} {memory / 1e6:8.1f}   {memory / 8 / n**2:8.2f}", flush=True)
    times, memories = np.array(rows).T
    print(f"for n ≥ {SIZES[len(SIZES) // 2]}: time ~ n^{exponent(times):.2f}, memory ~ n^{exponent(memories):.2f}")
    more = (memories[-1] - memories[-2]) / 8 / (SIZES[-1] ** 2 - SIZES[-2] ** 2)
    print(f"from n = {SIZES[-2]} to {SIZES[-1]}: {more:.2f} matrices more")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--only", type=int, metavar="N", help="measure one n in this process and print it as JSON")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if arguments.only:
            print(json.dumps(measure(arguments.only, arguments.turns)))
        else:
            main(arguments.turns)
