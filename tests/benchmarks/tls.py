"""Measure what TLS costs: `python -m tests.benchmarks.tls`, two to three minutes on two cores.

Clusters with and without TLS are started in turns, so that both see the same machine, each in a process of its own, as
`ckrr run` does. The process that workers are forked from has some seconds to start before. A start is timed until all
workers have joined; then tasks that do nothing go through a bounded window, as a run sends them. Medians are printed,
with the smallest and the largest value.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import deque
from statistics import median
from time import perf_counter, sleep
from typing import Any

from distributed import Client

import cluster

WINDOW = 64
"""Tasks that are on their way at once."""
BEFORE = 4.0
"""Seconds that the process has to start that workers are forked from."""


def measure(tls: bool, workers: int, tasks: int) -> tuple[float, float]:
    """Return the seconds until a cluster has started, and those of one task."""
    file = cluster.Local(tls=tls)
    file.warm_up(())
    sleep(BEFORE)
    start = perf_counter()
    with cluster.local(workers, 1e9, file) as client:
        client.wait_for_workers(workers)
        ready = perf_counter() - start
        send(client, 2 * WINDOW, "first")
        start = perf_counter()
        send(client, tasks, "timed")
        return ready, (perf_counter() - start) / tasks


def send(client: Client, tasks: int, name: str) -> None:
    """Send tasks that do nothing, and wait for each result."""
    waiting: deque[Any] = deque()
    for i in range(tasks):
        waiting.append(client.submit(len, str(i), key=f"{name}-{i}", pure=False))
        if len(waiting) >= WINDOW:
            waiting.popleft().result()
    while waiting:
        waiting.popleft().result()


def measure_elsewhere(tls: bool, told: argparse.Namespace) -> tuple[float, float]:
    """Measure in a new process."""
    words = ["--workers", str(told.workers), "--tasks", str(told.tasks), "--one", json.dumps(tls)]
    command = [sys.executable, "-m", "tests.benchmarks.tls", *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    start, task = json.loads(done.stdout)
    return start, task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.one is not None:
        print(json.dumps(measure(told.one, told.workers, told.tasks)))
        return
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for turn in range(told.rounds):
        for tls in (False, True) if turn % 2 else (True, False):
            found[tls].append(measure_elsewhere(tls, told))
    print(f"{told.rounds} starts of {told.workers} workers each, {told.tasks} tasks a start")
    for tls, values in found.items():
        starts, tasks = zip(*values, strict=True)
        print(f"tls = {json.dumps(tls):5}: start {_shown(starts, 1, 's')}, a task {_shown(tasks, 1e3, 'ms')}")


def _shown(values: tuple[float, ...], scale: float, unit: str) -> str:
    low, middle, high = (scale * each for each in (min(values), median(values), max(values)))
    return f"{middle:.2f} {unit} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
