"""How time, memory and the GIL behave at large n: `python -m tests.benchmarks.large_n`, from the repository's root.

Prints, for n = 2,500, 5,000, 10,000 and 20,000 with 2,000 test points, one thread, six procedures and four levels:

- the seconds of fit + score, by the clock and of the processor, which other people's work on the machine disturbs less;
- the same divided by those that were spent in the factorisation, the inverse and the triangular products alone, which
  are timed inside the very same run, and how many 10⁹ operations a second these did;
- the peak of the resident memory above what the process had before, and that in n×n matrices of doubles;
- the longest time for which another thread, which only wants to look at the clock, stood still: by the clock, which is
  about the machine if others work on it, and in seconds of the processor that this process used meanwhile, which is
  about the GIL;

and the exponents fitted to all of it. Each n has a fresh process. n = 20,000 takes minutes and 3.5 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from threading import Event, Thread
from time import perf_counter, process_time, sleep
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from ckrr.linalg.tiled import TiledAlgebra
from ckrr.linalg.triangular import WHOLE, WholeAlgebra
from tests.benchmarks.growth import peak

SIZES = (2500, 5000, 10_000, 20_000)
POINTS, THETA, LAM = 2000, 100.0, 1e-9
"""λ is below those for which low rank is used."""
BARE = ("factorise", "invert", "times", "transposed_times")
TICK = 0.005
"""Seconds for which the other thread sleeps before it looks at the clock again."""


@dataclass(frozen=True)
class Figures:
    n: int
    seconds: float
    cpu: float
    bare: float
    bare_cpu: float
    memory: float
    stood_still: float
    stood_still_cpu: float


def data(n: int) -> tuple[np.ndarray, ...]:
    """A smooth function with noise on the unit square."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((n, 2)), rng.random((POINTS, 2))
    y, y_new = (np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1]) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    return X, y, X_new, y_new


class Stopwatch:
    """Adds up what some methods take; one that another one calls is in that."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0
        self._running = False

    def timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def wrapper(*arguments: Any) -> Any:
            if self._running:
                return method(*arguments)
            self._running, start, cpu = True, perf_counter(), process_time()
            try:
                return method(*arguments)
            finally:
                self.seconds, self.cpu = self.seconds + perf_counter() - start, self.cpu + process_time() - cpu
                self._running = False

        return wrapper


class Other(Thread):
    """A thread that wants to go on every few milliseconds, as a worker's does that answers its scheduler."""

    def __init__(self) -> None:
        super().__init__()
        self._end, self._longest = Event(), np.zeros(2)

    def run(self) -> None:
        last = np.array([perf_counter(), process_time()])
        while not self._end.is_set():
            sleep(TICK)
            now = np.array([perf_counter(), process_time()])
            self._longest, last = np.maximum(self._longest, now - last - TICK), now

    def end(self) -> tuple[float, float]:
        """The longest wait, by the clock and of the processor."""
        self._end.set()
        self.join()
        clock, cpu = self._longest.tolist()
        return clock, cpu


@contextmanager
def stopwatch(way: type) -> Iterator[Stopwatch]:
    """Around the factorisation, the inverse and the products."""
    watch = Stopwatch()
    with patch.multiple(way, **{name: watch.timed(getattr(way, name)) for name in BARE}):
        yield watch


def call(n: int) -> Figures:
    """One fit and its scores."""
    X, y, X_new, y_new = data(n)
    other, before = Other(), peak()
    with stopwatch(WholeAlgebra if n <= WHOLE else TiledAlgebra) as watch:
        other.start()
        start, cpu = perf_counter(), process_time()
        ckrr.fit(X, y, THETA, LAM).score(X_new, y_new)
        seconds, cpu = perf_counter() - start, process_time() - cpu
    return Figures(n, seconds, cpu, watch.seconds, watch.cpu, peak() - before, *other.end())


def measured_apart(n: int, threads: int) -> Figures:
    """In a fresh process."""
    command = [sys.executable, "-m", __spec__.name, "--only", str(n), "--threads", str(threads)]
    return Figures(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def show(found: Figures) -> None:
    n = found.n
    work = 2 * n**3 / 3 + 2.0 * n**2 * POINTS
    over = f"{found.seconds / found.bare:5.2f} {found.cpu / found.bare_cpu:5.2f}"
    print(
        f"{n:6d} {found.seconds:9.1f} {found.cpu:9.1f}   {over}"
        f" {work / found.bare_cpu / 1e9:8.1f} {found.memory / 1e6:9.0f} {found.memory / 8 / n**2:9.2f}"
        f" {found.stood_still:8.3f} {found.stood_still_cpu:6.3f}",
        flush=True,
    )


def exponent(rows: list[Figures], what: str) -> float:
    """The slope of a figure in n, in logarithms."""
    return float(np.polyfit(np.log([row.n for row in rows]), np.log([getattr(row, what) for row in rows]), 1)[0])


def main(sizes: list[int], threads: int) -> None:
    print(f"{POINTS} test points, theta = {THETA:g}, lam = {LAM:g}, BLAS threads: {threads}")
    print("            seconds          over bare    10⁹/s    memory    in n×n     stood still")
    print("     n     clock       CPU   clock   CPU      CPU        MB  matrices    clock    CPU")
    rows = []
    for n in sizes:
        rows.append(measured_apart(n, threads))
        show(rows[-1])
    if len(rows) > 1:
        cpu, memory = exponent(rows, "cpu"), exponent(rows, "memory")
        print(f"CPU seconds ~ n^{cpu:.2f}, by the clock ~ n^{exponent(rows, 'seconds'):.2f}, memory ~ n^{memory:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="N", help="measure one n in this process and print it as JSON")
    arguments = parser.parse_args()
    with threadpool_limits(arguments.threads):
        if arguments.only:
            ckrr.fit(*data(10)[:2], THETA, LAM).score(*data(10)[2:])
            print(json.dumps(asdict(call(arguments.only))))
        else:
            main(arguments.sizes, arguments.threads)
