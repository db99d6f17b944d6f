"""How time grows with test points and replications, and what more workers bring: `python -m tests.benchmarks.scaling`.

Exponents are slopes in logarithms over the larger half of a range. The time of a study is from its first unit's start
to its last one's end, so without the start of its workers. Its efficiency is the units' pure computing over what the
workers had in that time; "times faster" is replications a second by those of one worker, which cores bound.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from harness.execution import prepare
from tests.benchmarks.common import in_turns, quickstart, recorded, scratch
from tests.benchmarks.growth import LAM, THETA, exponent

N, POINTS = 400, [250 * 2**i for i in range(6)]
SIZES, PATHS = (25, 50, 100), [25 * 2**i for i in range(4)]


def seconds_for_points(points: Sequence[int], turns: int) -> list[float]:
    """Of fit and score for all six procedures and four levels at n = 400: the best of some turns, on one thread."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((N, 2)), rng.random((max(points), 2))
    y, y_new = (np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1]) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    calls = [partial(_scored, X, y, X_new[:m], y_new[:m]) for m in points]
    with threadpool_limits(1):
        return [float(each) for each in in_turns(turns, *calls).min(axis=0)]


def _scored(*sample: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    X, y, X_new, y_new = sample
    ckrr.fit(X, y, THETA, LAM).score(X_new, y_new)


@dataclass(frozen=True)
class Study:
    """A run of the quickstart."""

    replications: int
    seconds: float
    efficiency: float

    @property
    def rate(self) -> float:
        """Replications a second."""
        return self.replications / self.seconds


def studied(paths: int, workers: int, sizes: Sequence[int] = SIZES) -> Study:
    """So many paths on so many workers."""
    with scratch() as folder:
        prepared = prepare.prepare(quickstart(paths, sizes), str(folder / "study.zarr"), workers)
        outcome, results = recorded(prepared)
    spans = np.array([(one["began"], one["ended"]) for one in results])
    return Study(paths * len(sizes), float(spans[:, 1].max() - spans[:, 0].min()), outcome.efficiency)


def main(paths: int, turns: int) -> None:
    times = seconds_for_points(POINTS, turns)
    print("test points  " + "  ".join(f"{m}: {each:.3f} s" for m, each in zip(POINTS, times, strict=True)))
    print(f"    time ~ points^{exponent(times, POINTS):.2f}")
    runs = [studied(each, workers=1) for each in PATHS]
    print("replications  " + "  ".join(f"{one.replications}: {one.seconds:.1f} s" for one in runs))
    print(f"    time ~ replications^{exponent([one.seconds for one in runs], PATHS):.2f}")
    base = None
    for workers in (1, 2, 4):
        one = studied(paths, workers)
        base = base or one
        print(f"{workers} workers: efficiency {one.efficiency:.3f}, {one.rate / base.rate:.2f} times faster than one")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=200, help="of the study on 1, 2 and 4 workers")
    parser.add_argument("--turns", type=int, default=3)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    main(**vars(parser.parse_args()))
