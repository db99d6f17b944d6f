"""Studies of large n: one factor at a time, what the plan says of memory, and a worker that answers all the while."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from click.testing import CliRunner

import ckrr
from ckrr.linalg.triangular import WHOLE
from harness.cli import main
from harness.compute import unit as module
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.errors import UserError
from harness.core.protocols import Inputs
from harness.core.seeds import Seeds
from harness.core.types import Array, Extent, Grid, Status
from harness.families.krr import FAMILY, KernelRidge
from harness.planning.blocks import choose_blocks
from harness.planning.cost import ReplicationShape, estimate_replication_seconds
from harness.planning.machine import Machine
from harness.planning.plan import Plan, check_fits, make_plan
from harness.store.manifest import Manifest
from scenarios import SOURCES
from tests.harness.studies import only, unit

GRID = Grid(ckrr.PROCEDURES, (0.1,), (100.0, 300.0), (1e-9,), (20_000,), (0.05, 0.25))
"""With λ below those for which low rank is used."""
MEASURE = """
import re, sys
from pathlib import Path
from threadpoolctl import threadpool_limits
import ckrr
from harness.compute.unit import compute_unit
from tests.harness.execution.test_large_n import study
from tests.harness.studies import only, unit

def peak():  # getrusage would tell that of the process before, whose place this one took
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

n, lam = int(sys.argv[1]), float(sys.argv[2])
compute_unit(study(30), unit(30, range(1), range(1)))
before = peak()
with threadpool_limits(1):
    block = compute_unit(study(n, lam=lam), unit(n, range(1), range(1)))
assert (block.values["status"] == 0).all(), block.failures
print(1024 * (peak() - before))
"""


def study(n: int, family: Any = FAMILY, lam: float = GRID.lam[0]) -> Study:
    """Two fits of a replication, one after the other."""
    grid = replace(GRID, lam=(lam,), n=(n,))
    source = SOURCES["heaviside"](test_points=40)
    return Study(Extent(grid, 1, 1), source, only(family), Seeds.from_source(7, {"function": "heaviside"}), ())


class Watched(KernelRidge):
    """Counts the factors that live when another one is made."""

    def __init__(self) -> None:
        self.alive: list[int] = []

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        made, alive, inputs = [], self.alive, super().inputs(X, X_test)

        class Counting:
            def factor(self, theta: float, lam: float) -> Any:
                alive.append(sum(one() is not None for one in made))
                factor = inputs.factor(theta, lam)
                made.append(ref(factor))
                return factor

        return Counting()  # type: ignore[return-value]


def test_there_is_one_large_factor_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_BYTES", 1.0)
    family = Watched()
    block = compute_unit(study(30, family), unit(30, range(1), range(1)))
    assert (block.values["status"] == Status.OK).all()
    assert family.alive == [0, 0]


def measure(n: int, lam: float) -> int:
    """The bytes that a unit takes, in a fresh process."""
    command = [sys.executable, "-c", MEASURE, str(n), str(lam)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_unit_stays_within_what_the_plan_says() -> None:
    """Just above where tiles begin. What the second fit takes has to be what the first has left."""
    n = WHOLE + 100
    taken = measure(n, GRID.lam[0])
    assert 8 * n * n < taken < FAMILY.memory(n, 40) < 8 * n * n + 2.5e8
    assert taken < 1.9 * 8 * n * n, "a second factor would be more"


def test_a_unit_of_low_rank_stays_within_what_the_plan_says() -> None:
    """The matrix would take 7.2 GB."""
    n = 30_000
    planned = FAMILY.on_ranges((1.0,), 300.0, 1e-3).memory(n, 40)
    assert planned / 6 < measure(n, 1e-3) < planned < 3e8


def test_the_plan_of_a_hundred_thousand_of_low_rank() -> None:
    """On [0,1]², where θ is given; not where it is searched for, or the box isn't known."""
    machine = Machine(2.5e10, 1, 2e9)

    def plan(ranges: tuple[float, ...], *theta: float | str, family: KernelRidge = FAMILY) -> Plan:
        extent = Extent(replace(GRID, theta=theta, lam=(1e-3,), n=(100_000,)), 1, 1)
        shape, families = ReplicationShape(200, (), ranges=ranges), only(family)
        record = Manifest({}, {}, (extent,), choose_blocks(extent, shape, families, machine), (), 200)
        return make_plan(record, extent, {}, shape, families, machine)

    fits = plan((1.0, 1.0), 10.0)
    check_fits(fits, machine, "my.toml")
    assert fits.seconds < 30
    smaller = FAMILY.on_kernel(2, scales=(2.0, 2.0))
    assert plan((2.0, 2.0), 10.0, family=smaller).memory == fits.memory
    for ranges, theta in (((1.0, 1.0), 1e4), ((1.0, 1.0), "ml"), ((), 10.0)):
        with pytest.raises(UserError, match=r"grid.n = 100000 needs 8\d.\d GB per worker"):
            check_fits(plan(ranges, 10.0, theta), machine, "my.toml")


def test_the_plan_of_twenty_thousand() -> None:
    """One buffer of 3.2 GB and a little; time by what the machine can; a limit for hanging far above that."""
    extent, shape = Extent(GRID, 1, 1), ReplicationShape(2000, ())
    machine = Machine(2.5e10, 2, 6e9)
    record = Manifest({}, {}, (extent,), choose_blocks(extent, shape, only(FAMILY), machine), (), 2000)
    plan = make_plan(record, extent, {}, shape, only(FAMILY), machine)
    assert 3.2e9 < plan.memory < 4.1e9
    check_fits(plan, machine, "my.toml")
    with pytest.raises(
        UserError, match=r"^my.toml: grid.n = 20000 needs 3.9 GB per worker, 3.5 GB are available: use fewer"
    ):
        check_fits(plan, Machine(2.5e10, 2, 3.5e9), "my.toml")
    bare = 2 * (2 * 20_000**3 / 3 + 2 * 20_000**2 * 2000) / 2.5e10
    assert 1.0 < estimate_replication_seconds(extent, 20_000, shape, only(FAMILY), machine.flops) / bare < 1.3


def test_what_cannot_fit_is_refused_before_work_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        "quickstart",
        "--set",
        "grid.n=[200000]",
        "--set",
        "grid.theta=['ml']",
        "--set",
        "replications.paths=1",
        "--workers",
        "1",
    ]
    for command in ("plan", "run"):
        done = CliRunner().invoke(main, [command, *words])
        assert done.exit_code == 2, done.output
        assert "grid.n = 200000 needs 32" in done.output
    assert not list(tmp_path.iterdir()), "nothing was written"
