"""The published replications give the printed digits: some cells by default, all four tables in the soak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from harness.paper.printed import read_printed
from harness.paper.reproduced import compare_numbers
from harness.scenario.load import load


def test_fixed_theta_gives_the_printed_digits(tmp_path: Path) -> None:
    """f2 at γ = 0.1, θ = 100, λ = 1e-6, where most regions aren't intervals: 25 replications, all 8 printed numbers."""
    cell = ["grid.n=[1500]", "grid.gamma=[0.1]", "grid.theta=[100]", "grid.lam=[1e-6]"]
    run = driver.run_prepared(
        prepare.prepare(load("paper/f2", cell), str(tmp_path / "f2.zarr"), workers=2), SilentProgress()
    )
    asked = [one for one in read_printed() if (one.study, one.gamma, one.lam, one.theta) == ("f2", 0.1, 1e-6, "100")]
    found = compare_numbers(asked, run.url)
    assert len(found) == 8
    assert [f"{one.ours:.1f}" for one in found] == [one.text for one in asked]
    assert all(one.equal and one.replications == 25 and one.points_off == 0 for one in found)


@pytest.mark.soak
def test_all_four_tables(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["paper", "--results", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout.splitlines()[-1])
    differing = [
        (one["table"], one["procedure"], one["gamma"], one["lam"], one["theta"])
        for one in facts["numbers"]
        if not one["equal"]
    ]
    assert differing == [(3, "CRR-loo", 1e-6, 1e-6, "ml-cobyla")]
    assert facts["reproduced"] == 255
    assert facts["searches"] == 200
