"""Whether a plan's seconds are about those of the run: `python -m tests.benchmarks.planned_seconds`.

Real fits at n = 400, with three θ and then with one more on top of them, which takes about a third of the time: by the
plan, and by the process's own clock, which other processes don't change much.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from threadpoolctl import threadpool_limits

from harness.execution import lifecycle, prepare
from harness.planning.machine import measure_flops
from harness.scenario.load import check
from harness.store.manifest import cache_key
from harness.worker.task import run_unit


def carried_out(where: Path, theta: list[float], speed: float) -> tuple[float, float]:
    """Run a study in this process; the seconds that its plan says, and those that it took."""
    plain = {
        "name": "real",
        "seed": 1,
        "source": {"function": "heaviside", "test_points": 200},
        "grid": {"gamma": [0.1], "n": [400], "theta": theta, "lam": [0.1], "procedure": ["GPR-f", "RRCM"]},
        "replications": {"paths": 40},
    }
    study = prepare.prepare(check(plain, "real.toml", where.parent), str(where), workers=1, speed=speed)
    record, start = lifecycle.begin_run(study), process_time()
    for unit in study.plan.units:
        run_unit(str(where), cache_key(record), record.generation, False, unit)
    return study.plan.seconds, process_time() - start


def main() -> None:
    speed = measure_flops()
    with TemporaryDirectory() as folder, threadpool_limits(1, user_api="blas"):
        carried_out(Path(folder) / "first.zarr", [1], speed)  # loads what it needs
        store = Path(folder) / "real.zarr"
        said, took = carried_out(store, [10, 100, 1000], speed)
        said_more, took_more = carried_out(store, [10, 100, 1000, 30], speed)
    print("               planned s   took s   took / planned")
    for name, one, other in (("three θ", said, took), ("one θ more", said_more, took_more)):
        print(f"{name:12s}   {one:9.2f}   {other:6.2f}   {other / one:14.2f}")
    print(f"one more for three: planned {said_more / said:.2f}, took {took_more / took:.2f} (all again would be 1.33)")
    assert 0.15 < took_more / took < 0.9
    assert 0.1 < took_more / said_more < 10


if __name__ == "__main__":
    main()
