"""A constant mean, θ from inputs alone and length scales in scenarios."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ckrr
from ckrr.likelihood.median import choose_median_theta
from harness.backends.base import open_backend
from harness.compute.block import BlockBuilder
from harness.compute.study import Study
from harness.compute.unit import _iter_jobs, compute_unit
from harness.core.errors import UserError
from harness.core.seeds import Seeds
from harness.core.types import Extent, Grid, Status
from harness.execution import prepare
from harness.families.baselines import FAMILY as BASELINES, BaselineFactor, BaselineInputs
from harness.families.krr import FAMILY
from harness.results.validity import verdicts
from harness.scenario.load import Loaded, check
from harness.store.manifest_io import load_manifest
from scenarios import SOURCES
from tests.harness.studies import only, replications, serially, unit

SEEDS = Seeds.from_source(7, {"function": "f2"})


def scenario(grid: dict[str, Any], **changes: Any) -> Loaded:
    """A small study of a function on the plane."""
    plain = {
        "name": "median",
        "seed": 5,
        "source": {"function": "f2", "test_points": 12},
        "grid": {"gamma": [0.1, 0.2], "n": [20], "lam": [0.1], "alpha": [0.2], "procedure": ["RRCM-loo"], **grid},
        "replications": {"paths": 3},
        **changes,
    }
    return check(plain, "median.toml", Path.cwd())


def test_targets_share_one_fit_where_inputs_alone_decide() -> None:
    """One for each λ; "ml" has one for each γ. Each γ has the bits that it has alone, and the θ of the library."""
    grid = Grid(("RRCM-loo", "GPR-f"), (1e-6, 0.1), ("median", "ml", 10.0), (1e-3, 0.1), (30,), (0.1,))
    source, here = SOURCES["f2"](test_points=12), unit(30, range(1), range(2))
    study = Study(Extent(grid, 1, 2), source, only(FAMILY), SEEDS)
    jobs = [
        (grid.theta[job.cells.thetas[0]], len(job.cells.gammas))
        for job in _iter_jobs(BlockBuilder(study, here, None), 0)
    ]
    assert sorted(jobs, key=str) == sorted([("median", 2), ("ml", 1), ("ml", 1), (10.0, 2)] * 4, key=str)
    whole = compute_unit(study, here)
    assert (whole.values["status"] == Status.OK).all()
    for g, gamma in enumerate(grid.gamma):
        extent = Extent(replace(grid, gamma=(gamma,)), 1, 2)
        alone = compute_unit(Study(extent, source, only(FAMILY), SEEDS), here)
        for name in ("coverage", "width_mean"):
            assert (whole.values[name][:, :, :, g] == alone.values[name][:, :, :, 0]).all()
    for draw in (0, 1):
        sample = source.path(SEEDS.make_path_streams(0)).draw(SEEDS.make_draw_streams(0, draw), 30, {})
        assert (whole.values["theta_hat"][0, draw, :, 0] == choose_median_theta(sample.X, sample.X_test)).all()


def test_the_level_is_stated_and_exact(tmp_path: Path) -> None:
    """As for a given θ, for split, too; a store that has none of it is as it was."""
    grid = {"theta": ["median", "ml", 3], "procedure": ["RRCM-loo", "split", "GPR-f"]}
    url = str(tmp_path / "m.zarr")
    serially(prepare.prepare(scenario(grid, family="baselines", mean="constant"), url, workers=1, speed=1e9))
    record = load_manifest(open_backend(url))
    assert record is not None
    assert record.holdout_levels == {"median": record.exact_levels}
    assert record.exact_levels["split"][20][0.2] == ckrr.baselines.split_level(20, 0.2)
    found = verdicts(url).squeeze().sel(procedure="RRCM-loo", gamma=0.1)
    assert {theta: bool(found["exchangeable"].sel(theta=theta)) for theta in ("median", "ml", "3")} == {
        "median": True,
        "ml": False,
        "3": True,
    }
    theta_hat = replications(Path(url), 20, "theta_hat")
    assert (theta_hat[:, :, 0, 0] == theta_hat[:, :, 1, 0]).all()


def test_the_half_of_split_has_the_theta_of_all_points() -> None:
    """With a θ from its half and the test points, it would tell these from the points to calibrate on."""
    rng = np.random.default_rng(0)
    X, X_test, y = rng.random((20, 2)), rng.random((5, 2)), rng.standard_normal(20)
    inputs = BASELINES.on_kernel(2, mean="constant").inputs(X, X_test)
    assert isinstance(inputs, BaselineInputs)
    for factor in (inputs.factor_ml(y, 0.1, "median"), inputs.search_ml(y[:, None], 0.1, "median")[0]()):
        assert isinstance(factor, BaselineFactor)
        half = factor.make_factor(X[:10], y[:10])
        assert half.theta == factor.theta == choose_median_theta(X, X_test)
        assert half.fit(y[:10]).mean != 0


def test_length_scales_are_values_of_theta() -> None:
    """The same study as with θ = 1/(2ℓ²), rules of exclude included."""
    rule = [{"lengthscale": 0.2, "gamma": 0.1}]
    one = scenario({"lengthscale": [0.2, 0.5]}, exclude=rule)
    other = scenario({"theta": [12.5, 2.0]}, exclude=[{"theta": 12.5, "gamma": 0.1}])
    assert one.extent == other.extent
    assert one.fingerprint == other.fingerprint
    assert scenario({"lengthscale": 0.2}).extent.grid.theta == (12.5,)


@pytest.mark.parametrize(
    ("grid", "changes", "message"),
    [
        ({"lengthscale": [0.2], "theta": [1]}, {}, r"grid.lengthscale must be left out where grid.theta is given"),
        ({"lengthscale": [0.2, 0]}, {}, r"grid.lengthscale\[1\] must be a number from 1e-150 to 1e\+150, got 0$"),
        ({"lengthscale": [True]}, {}, r"grid.lengthscale\[0\] must be a number from 1e-150 to 1e\+150, got True$"),
        ({"lengthscale": [[1]]}, {}, r"grid.lengthscale\[0\] must be a number .*, got \[1\]$"),
        ({"lengthscale": ["ml"]}, {}, r"grid.lengthscale\[0\] must be a number .*, got 'ml'$"),
        ({"lengthscale": [float("nan")]}, {}, r"grid.lengthscale\[0\] must be a number .*, got nan$"),
        ({"lengthscale": [0.2, 0.2]}, {}, r"grid.lengthscale must not have a value twice: 0.2$"),
        ({"lengthscale": []}, {}, r"grid.lengthscale must have at least 1 value$"),
        ({"theta": [1]}, {"exclude": [{"lengthscale": -1}]}, r"exclude\[0\].lengthscale\[0\] must be a number"),
        ({}, {}, r"grid.theta is missing: krr needs it"),
    ],
)  # fmt: skip
def test_mistakes_are_told(grid: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"(?m)^median.toml: ({message})"):
        scenario(grid, **changes)
