"""What the benchmarks of the harness share: a study to run, what lies on disk, who uses how much memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil  # type: ignore[import-untyped]

from harness.execution import driver, prepare
from harness.execution.on_dask import executor
from harness.execution.progress import SilentProgress
from harness.execution.tasks import Result
from harness.scenario.load import Loaded, check, load

SIX = ("GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR", "CRR-loo")
MB = 1e6


def study(paths: int, n: Sequence[int], draws: int = 1, test_points: int = 201, **grid: Any) -> Loaded:
    """A jump with noise under six procedures and four levels, θ given and searched for; `grid` changes its axes."""
    axes = {
        "gamma": [1e-6, 1e-1],
        "n": list(n),
        "theta": [100, "ml"],
        "lam": [1e-6, 1e-1],
        "alpha": [0.01, 0.05, 0.10, 0.25],
        "procedure": list(SIX),
    }
    plain = {
        "name": "benchmark",
        "seed": 20160919,
        "source": {"function": "heaviside", "test": "iid", "test_points": test_points},
        "grid": {**axes, **grid},
        "replications": {"paths": paths, "draws": draws},
    }
    return check(plain, "benchmark", Path.cwd())


def quickstart(paths: int, n: Sequence[int]) -> Loaded:
    """The packaged study, with so many paths, at these n."""
    return load("quickstart", [f"replications.paths={paths}", f"grid.n={list(n)}"])


def in_turns(turns: int, *calls: Callable[[], object]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Seconds of each call, in turns one after the other, shape (turns, calls): machines are noisy."""
    marks = [[perf_counter(), *((call(), perf_counter())[1] for call in calls)] for _ in range(turns)]
    return np.diff(np.array(marks))


def ratios(turns: int, ours: Callable[[], object], *theirs: Callable[[], object]) -> list[float]:
    """What each of theirs takes by what ours takes in the same turn: the median over turns, after one for nothing."""
    in_turns(1, ours, *theirs)
    times = in_turns(turns, ours, *theirs)
    return [float(each) for each in np.median(times[:, 1:] / times[:, :1], axis=0)]


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for a while, on the disk of this one, not in memory."""
    with TemporaryDirectory(prefix="benchmark-", dir=Path.cwd()) as folder:
        yield Path(folder)


def recorded(prepared: prepare.Prepared, client: Any = None) -> tuple[driver.Outcome, list[Result]]:
    """A run, and what each of its units reported: `began`, `ended`, and `compute` seconds."""
    results: list[Result] = []
    original = executor.run_dask

    def on_dask(*arguments: Any) -> Iterator[Result]:
        for result in original(*arguments):
            results.append(result)
            yield result

    with patch.object(executor, "run_dask", on_dask):
        outcome = driver.run_prepared(prepared, SilentProgress(), client)
    return outcome, results


def on_disk(folder: Path) -> tuple[int, int]:
    """Files, and their bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def resident() -> tuple[float, float]:
    """Megabytes resident now: in this process, and in the largest of its children."""
    me = psutil.Process()
    return me.memory_info().rss / MB, max((_resident(child) for child in me.children(recursive=True)), default=0.0)


def _resident(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / MB
    except psutil.Error:  # it has gone
        return 0.0
