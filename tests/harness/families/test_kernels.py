"""Kernels and features in a scenario: what they are, what they cost, and whose frequencies are whose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ckrr
from ckrr.ridge.structure import is_low_rank
from harness.compute.study import Study
from harness.compute.unit import compute_unit, draw_cell
from harness.core.errors import UserError
from harness.core.seeds import Seeds
from harness.core.types import Extent, Grid, Status
from harness.execution import lifecycle, prepare
from harness.families.krr import FAMILY
from harness.scenario.load import Loaded, check
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study
from scenarios import SOURCES
from tests.harness.studies import only, toy, unit

SEEDS = Seeds.from_source(7, {"function": "f2"})
GRID = Grid(("RRCM-loo", "GPR-p"), (1e-6, 0.1), (10.0,), (1e-3,), (30,), (0.1,))
KINDS: list[dict[str, Any]] = [
    {"kernel": "matern32"},
    {"kernel": "laplacian", "scales": [1.0, 10.0]},
    {"kernel": "gaussian-rff", "features": 20},
    {"scales": [2.0, 0.5]},
]


def scenario(**changes: Any) -> Loaded:
    """A small study of a function on the plane."""
    plain = {
        "name": "kernels",
        "seed": 5,
        "source": {"function": "f2", "test_points": 12},
        "grid": {"gamma": [0.1], "n": [20], "theta": [10], "lam": [0.1], "alpha": [0.1], "procedure": ["RRCM-loo"]},
        "replications": {"paths": 2},
        **changes,
    }
    return check(plain, "kernels.toml", Path.cwd())


@pytest.mark.parametrize("told", KINDS, ids=str)
def test_a_unit_is_what_the_library_gives(told: dict[str, Any]) -> None:
    """Draws of one path share their frequencies, which come from the path's stream; other paths have others."""
    family = FAMILY.on_kernel(2, **told)
    study = Study(Extent(GRID, 3, 2), SOURCES["f2"](test_points=12), only(family), SEEDS)
    block = compute_unit(study, unit(30, range(1, 3), range(2)))
    assert (block.values["status"] == Status.OK).all()
    for path in (1, 2):
        for draw in (0, 1):
            sample = study.source.path(SEEDS.make_path_streams(path)).draw(SEEDS.make_draw_streams(path, draw), 30, {})
            assert sample.noise is not None
            seed = SEEDS.make_path_streams(path)("frequencies")
            for g, gamma in enumerate(GRID.gamma):
                y = sample.y + np.sqrt(gamma) * sample.noise
                inputs = ckrr.Inputs(sample.X, sample.X_test, **{"seed": seed, **told})
                seed = SEEDS.make_path_streams(path)("frequencies")
                regions = inputs.factor(10.0, 1e-3).fit(y).regions(sample.X_test, "RRCM-loo", 0.1)
                ours = block.values["width_mean"][path - 1, draw, 0, g, 0, 0, 0]
                assert ours == np.float32((regions.upper - regions.lower).mean())
    ((_, looked),) = draw_cell(study, 30, 1, 0, 0, 0, 0).factors
    assert isinstance(looked, ckrr.Factor)


def test_the_fingerprint_has_what_isnt_the_default() -> None:
    assert "kernel" not in scenario().fingerprint
    assert scenario().fingerprint == scenario(kernel="gaussian").fingerprint
    for told in KINDS:
        assert scenario(**told).fingerprint["kernel"] == told
    assert scenario(scales=[1, 2]).fingerprint == scenario(scales=[1.0, 2.0]).fingerprint


def test_a_store_remembers_its_kernel(tmp_path: Path) -> None:
    """Workers make the family again from the store alone."""
    url = str(tmp_path / "k.zarr")
    prepared = prepare.prepare(
        scenario(kernel="matern52-rff", features=15, scales=[1.0, 2.0]), url, workers=1, speed=1e9
    )
    lifecycle.begin_run(prepared)
    record = load_manifest(prepared.backend)
    assert record is not None
    assert build_study(url, record).families[0].family == FAMILY.on_kernel(2, "matern52-rff", [1.0, 2.0], 15)
    with pytest.raises(UserError, match=r"features was 15 and is left out"):
        prepare.prepare(scenario(), url, workers=1, speed=1e9)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"kernel": "matern"}, r"kernel must be one of gaussian, .*, got 'matern' \(did you mean"),
        ({"kernel": "matern", "features": 3}, r"kernel must be one of gaussian"),
        ({"kernel": 3}, r"kernel must be a string, got 3"),
        ({"features": 3}, r"features must be left out unless kernel ends in -rff, got 3"),
        ({"kernel": "gaussian-rff", "features": 0}, r"features must be >= 1, got 0"),
        ({"scales": [1.0]}, r"scales must be 2 numbers, one for each column of X, got \[1.0\]"),
        ({"scales": [1.0, -1.0]}, r"scales\[1\] must be > 0, got -1.0"),
    ],
)
def test_mistakes_are_told(told: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"^kernels.toml: {message}"):
        scenario(**told)


def test_a_family_without_kernels_says_so() -> None:
    with pytest.raises(
        UserError, match=r"kernel must be left out: the family 'tests.harness.toy:FAMILY' has no kernel options"
    ):
        check(toy(kernel="matern52"), "toy.toml", Path.cwd())


def test_a_million_points_are_planned_without_a_square() -> None:
    """Memory is a few gigabytes, and it is what a sample takes within a factor of two; time grows with n alone."""
    family = FAMILY.on_kernel(2, "gaussian-rff", None, 500)
    assert 1e9 < family.memory(1_000_000, 100) < 6e9
    assert family.memory(1_000_000, 10_000) < 6e9
    assert FAMILY.memory(1_000_000, 100) > 8e12
    double = family.flops(1_000_000, 100, 1, False) / family.flops(500_000, 100, 1, False)
    assert 1.9 < double < 2.1
    assert family.flops(1000, 100, 1, True) > 30 * family.flops(1000, 100, 1, False)


@pytest.mark.parametrize("spread", [0.5, 0.75, 1.0, 2.9, 3.0, 30.0])
@pytest.mark.parametrize("n", [12_000, 20_000])
def test_memory_is_planned_for_the_way_that_is_taken(spread: float, n: int) -> None:
    """Low rank needs θs² ≥ 3: ranges that may be wider in a larger sample mustn't promise it."""
    family = FAMILY.on_ranges((1.0,), spread, 0.01)
    dense = 8.0 * n * n
    assert (family.memory(n, 200) < dense) == is_low_rank(n, np.ones(1), spread, 0.01)
