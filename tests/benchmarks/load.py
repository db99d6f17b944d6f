"""Very many short units on four workers: `python -m tests.benchmarks.load`; `--units 20000` takes minutes.

Every unit is one replication of the toy, a few milliseconds and fifteen files. Prints, as it goes on, the memory of the
driver (with its client and scheduler) and of the largest worker, which should be flat; the share of looks at which the
scheduler had nothing to give to the next worker (the window starved), and at which a worker had nothing just then (it
takes a millisecond or two from one unit to the next); the seconds that `ckrr status` takes, for a user and without the
start of Python; at the end files and bytes beside those of the plan.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any

from cluster import local
from harness.core.text import format_size as as_text
from harness.core.types import Unit
from harness.execution import driver, prepare
from harness.execution.progress import ProgressCounter, SilentProgress
from harness.planning.plan import Plan
from harness.scenario.load import check
from tests.benchmarks.common import on_disk, resident, scratch
from tests.harness.studies import toy

UNITS, WORKERS, MOMENTS = 200_000, 4, 10
GRID = {"gamma": [1.0], "n": [10], "theta": [1], "lam": [0.1], "alpha": [0.1], "procedure": ["exact", "wide"]}


class Watch(SilentProgress):
    """Progress that looks at everything now and then."""

    def __init__(self, where: Path, client: Any) -> None:
        self._where, self._scheduler = where, client.cluster.scheduler
        self._over, self._looks, self._starved, self._idle = Event(), 0, 0, 0
        self._telling: list[Thread] = []

    def start(self, plan: Plan) -> None:
        self._tally, self._next, self._start, self._last = (
            ProgressCounter(plan),
            0.0,
            perf_counter(),
            (0, perf_counter()),
        )
        print(
            "  done        s  units/s  driver MB  worker MB  tasks  starved   idle   status s  without start",
            flush=True,
        )
        Thread(target=self._look, daemon=True).start()

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        self._tally.add(unit, failed, seconds)
        share = self._tally.count / self._tally.replications
        if share >= self._next:
            self._next = share + 1 / MOMENTS
            self._telling.append(Thread(target=self._tell, args=(share,)))  # the driver doesn't wait for it
            self._telling[-1].start()

    def finish(self) -> None:
        self._over.set()
        print(f"the last unit came after {perf_counter() - self._start:.1f} s", flush=True)
        for one in self._telling:
            one.join()

    def _look(self) -> None:
        """Whether somebody has nothing to do, though the driver has more."""
        while not self._over.wait(0.1):
            workers = list(self._scheduler.workers.values())
            self._looks += 1
            self._starved += not self._scheduler.queued
            self._idle += any(not each.processing for each in workers)

    def _tell(self, share: float) -> None:
        count, now = self._tally.count, perf_counter()
        rate = (count - self._last[0]) / (now - self._last[1])
        driving, working = resident()
        whole, inner = _status(self._where)
        starved, idle = self._starved / max(self._looks, 1), self._idle / max(self._looks, 1)
        print(
            f"{share:6.1%}  {now - self._start:7.1f}  {rate:7.0f}  {driving:9.0f}  {working:9.0f}  "
            f"{len(self._scheduler.tasks):5d}  {starved:7.1%}  {idle:5.1%}  {whole:9.2f}  {inner:13.3f}",
            flush=True,
        )
        self._last, self._looks, self._starved, self._idle = (count, now), 0, 0, 0


INNER = """
import sys
from time import perf_counter
from harness.state import status
start = perf_counter()
status(sys.argv[1])
print(perf_counter() - start)
"""


def _status(where: Path) -> tuple[float, float]:
    """Seconds of the command, and of what it does once Python has started: not here, where its lists would be seen."""
    start = perf_counter()
    subprocess.run([sys.executable, "-m", "harness.cli", "status", str(where)], check=True, capture_output=True)
    whole = perf_counter() - start
    inner = subprocess.run([sys.executable, "-c", INNER, str(where)], check=True, capture_output=True, text=True)
    return whole, float(inner.stdout)


def timed(what: str, start: float) -> None:
    print(f"{what}: {perf_counter() - start:.2f} s", flush=True)


def main(units: int) -> None:
    with scratch() as folder:
        where = folder / "load.zarr"
        loaded = check(toy(grid=GRID, replications={"paths": units, "draws": 1}), "load", folder)
        start = perf_counter()
        prepared = prepare.prepare(loaded, str(where), WORKERS, speed=2e4)  # slow machines have small units
        timed(f"a plan of {len(prepared.plan.units)} units", start)
        assert len(prepared.plan.units) == units
        with local(WORKERS, 1e9) as client:
            outcome = driver.run_prepared(prepared, Watch(where, client), client)
        print(f"{outcome.seconds:.1f} s, {units / outcome.seconds:.0f} units/s, {outcome.failed} failed")
        files, size = on_disk(where)
        plan = prepared.plan
        print(f"{files} files ({plan.files} planned), {as_text(size)} ({as_text(plan.bytes)} planned, uncompressed)")
        start = perf_counter()
        again = prepare.prepare(loaded, str(where), WORKERS, speed=2e4)
        timed(f"a plan with {len(again.plan.units)} units left", start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=UNITS)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    main(parser.parse_args().units)
