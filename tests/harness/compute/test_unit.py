"""A unit against loops over its cells, each computed alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import ckrr
from harness.compute import unit as module
from harness.compute.block import BlockBuilder, FactorJob, classify_error
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.protocols import Family, Path, Sample, Scores
from harness.core.schema.measures import list_variables
from harness.core.seeds import Seeds
from harness.core.types import Extent, Grid, Status, Streams
from harness.families.baselines import FAMILY as BASELINES
from harness.families.krr import FAMILY
from scenarios import SOURCES
from tests.harness.studies import only, unit
from tests.harness.toy import FAMILY as TOY, Toy, ToySample

GRID = Grid(("RRCM-loo", "GPR-p", "CRR"), (1e-6, 0.1), (10.0, "ml", 100.0), (1e-6, 0.1), (30,), (0.05, 0.1, 0.25))
SEEDS = Seeds.from_source(7, {"function": "heaviside"})
UNIT = unit(30, range(1), range(2))


def study(extent: Extent | None = None, keep: tuple[str, ...] = ()) -> Study:
    return Study(extent or Extent(GRID, 3, 2), SOURCES["heaviside"](test_points=25), only(FAMILY), SEEDS, keep)


def alone(path: int, draw: int, gamma: float, theta: float | str, lam: float, procedure: str, alpha: float) -> Any:
    """One replication of one cell with the library's plain calls."""
    source = SOURCES["heaviside"](test_points=25)
    sample = source.path(SEEDS.make_path_streams(path)).draw(SEEDS.make_draw_streams(path, draw), 30, {})
    assert sample.noise is not None
    assert sample.noise_test is not None
    y, y_test = sample.y + np.sqrt(gamma) * sample.noise, sample.y_test + np.sqrt(gamma) * sample.noise_test
    fit = ckrr.fit(sample.X, y, theta, lam)
    regions, other = (fit.regions(sample.X_test, name, alpha) for name in (procedure, "GPR-f"))
    score = (regions.upper - regions.lower)[:, 0]
    score = score + 2 / alpha * np.maximum(np.maximum(regions.lower[:, 0] - y_test, y_test - regions.upper[:, 0]), 0)
    return {
        "coverage": regions.contains(y_test).mean(),
        "coverage_f": regions.contains(sample.y_test).mean(),
        "width_mean": (regions.upper - regions.lower).mean(),
        "length_mean": regions.length.mean(),
        "interval_score": score.mean(),
        "distance_lower": np.abs(regions.lower - other.lower).mean(),
        "unbounded": np.isinf(regions.upper - regions.lower).mean(),
        "disconnected": (regions.count > 1).mean(),
        "theta_hat": fit.theta,
    }


def test_a_unit_is_what_its_cells_are_alone() -> None:
    block = compute_unit(study(), unit(30, range(1, 3), range(2)))
    assert (block.values["status"] == Status.OK).all()
    assert not block.failures
    axes = (GRID.procedure, GRID.gamma, GRID.theta, GRID.lam, GRID.alpha)
    for (p, path), (d, draw) in product(enumerate((1, 2)), enumerate((0, 1))):
        for places in list(np.ndindex(*(len(axis) for axis in axes)))[:: 7 if (p, d) != (0, 0) else 1]:
            procedure, gamma, theta, lam, alpha = (axis[i] for axis, i in zip(axes, places, strict=True))
            for name, expected in alone(path, draw, gamma, theta, lam, procedure, alpha).items():  # type: ignore[arg-type]
                at = (p, d, *(places[1:4] if name == "theta_hat" else places))
                exact = name in ("coverage", "coverage_f", "theta_hat")
                assert block.values[name][at] == (expected if exact else pytest.approx(expected, rel=1e-6)), name


def test_how_many_are_scored_together_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compute_unit(study(keep=("pointwise",)), unit(30, range(3), range(2)))
    monkeypatch.setattr(module, "_LARGEST_BATCH", 1)
    single = compute_unit(study(keep=("pointwise",)), unit(30, range(3), range(2)))
    for name, values in whole.values.items():
        assert values.tobytes() == single.values[name].tobytes(), name


def test_what_is_measured_together_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample whose measures can't be computed leaves the others theirs, and nothing is recorded twice."""
    whole, original = compute_unit(study(), unit(30, range(4), range(1))), BlockBuilder.compute_measures

    def breaking(builder: BlockBuilder, jobs: Sequence[FactorJob], scores: Sequence[Scores]) -> Any:
        if any(job.path == 2 for job in jobs):
            raise ValueError("no measures of path 2")
        found = dict(original(builder, jobs, scores))
        return found | {"width_mean": np.full_like(found["width_mean"], np.nan)} if jobs[0].path == 0 else found

    monkeypatch.setattr(BlockBuilder, "compute_measures", breaking)
    monkeypatch.setattr(module, "_MEASURED_TOGETHER", 1)
    block = compute_unit(study(), unit(30, range(4), range(1)))
    assert (block.values["status"][2] == Status.ERROR).all()
    for name, values in whole.values.items():
        assert values[[1, 3]].tobytes() == block.values[name][[1, 3]].tobytes(), name
    assert {(one.path, one.message.split()[0]) for one in block.failures} == {(0, "NaN"), (2, "ValueError:")}
    assert len(block.failures) == len(set(map(repr, block.failures)))


def test_a_part_of_a_grid_has_the_bits_of_the_whole() -> None:
    """One γ, θ, λ, α and procedure alone are what they are among others."""
    whole = compute_unit(study(), unit(30, range(1), range(1))).values
    small = Grid(("CRR",), (0.1,), ("ml",), (1e-6,), (30,), (0.1,))
    part = compute_unit(study(Extent(small, 3, 2)), unit(30, range(1), range(1))).values
    assert part["coverage"][0, 0, 0, 0, 0, 0, 0] == whole["coverage"][0, 0, 2, 1, 1, 0, 1]
    assert part["interval_score"][0, 0, 0, 0, 0, 0, 0] == whole["interval_score"][0, 0, 2, 1, 1, 0, 1]


@dataclass(frozen=True)
class Redrawn(Toy):
    """A toy whose data depend on λ and θ as well: it says so in the level of its values."""

    redraws: tuple[str, ...] = ("theta", "lam")

    def path(self, streams: Streams) -> Any:
        return _RedrawnPath(super().path(streams))


@dataclass(frozen=True)
class _RedrawnPath:
    inner: Path

    def draw(self, streams: Streams, n: int, at: Mapping[str, Any]) -> Sample:
        one = self.inner.draw(streams, n, at)
        level = at["theta"] * 100 + at["lam"]
        assert isinstance(one, ToySample)
        return replace(one, y_test=np.full_like(one.y_test, level), noise_test=None)


def test_a_source_may_redraw_at_axes_it_names() -> None:
    grid = Grid(("exact",), (1.0, 4.0), (0.0, 1.0), (0.5, 1e6), (10,), (0.05,))
    block = compute_unit(Study(Extent(grid, 1, 1), Redrawn(), only(TOY), SEEDS), unit(10, range(1), range(1)))
    covered = block.values["coverage"][0, 0, 0, :, :, :, 0]
    np.testing.assert_array_equal(covered, [[[1, 0], [0, 0]]] * 2)


def test_one_bad_factor_costs_its_neighbours_nothing() -> None:
    grid = replace(GRID, theta=(100.0,), lam=(1e-18, 0.1))
    block = compute_unit(study(Extent(grid, 3, 2)), unit(30, range(3), range(2)))
    assert (block.values["status"][..., 0] == Status.SINGULAR).all()
    assert (block.values["status"][..., 1] == Status.OK).all()
    assert len(block.failures) == 3 * 2 * 2
    assert block.failures[0].message.startswith("FactorisationError: ")


@pytest.mark.parametrize(
    ("family", "search"),
    [
        *((FAMILY, search) for search in ("ml", "holdout", "ml-cobyla")),
        (BASELINES, "ml"),
        (FAMILY.on_kernel(1, "matern32"), "ml"),
        (FAMILY.on_kernel(1, "gaussian-rff", features=20), "ml"),
    ],
)
def test_gammas_that_share_a_search_have_the_bits_they_have_alone(family: Family, search: str) -> None:
    grid = Grid(("RRCM", "GPR-p"), (1e-6, 0.1), (search, 100.0), (1e-6, 0.1), (30,), (0.1,))
    source = SOURCES["heaviside"](test_points=5)
    whole = compute_unit(Study(Extent(grid, 1, 2), source, only(family), SEEDS, ("pointwise",)), UNIT)
    assert (whole.values["status"] == Status.OK).all()
    assert len(set(whole.values["theta_hat"][0, 0, :, 0].ravel())) >= 3, "each γ and λ has a θ of its own"
    for g, gamma in enumerate(grid.gamma):
        extent = Extent(replace(grid, gamma=(gamma,)), 1, 2)
        alone = compute_unit(Study(extent, source, only(family), SEEDS, ("pointwise",)), UNIT)
        for variable in list_variables(("pointwise",)):
            if "gamma" in variable.dims:
                axis = variable.dims.index("gamma") + 2  # after path and draw
                mine = whole.values[variable.name].take([g], axis)
                assert mine.tobytes() == alone.values[variable.name].tobytes(), variable.name


@dataclass(frozen=True)
class Overflowing(Toy):
    """A toy whose noise overflows where γ is large."""

    def path(self, streams: Streams) -> Any:
        return _OverflowingPath(super().path(streams))


@dataclass(frozen=True)
class _OverflowingPath:
    inner: Path

    def draw(self, streams: Streams, n: int, at: Mapping[str, Any]) -> Sample:
        one = self.inner.draw(streams, n, at)
        assert isinstance(one, ToySample)
        return replace(one, noise=np.full(n, 1e160))


@pytest.mark.parametrize("family", [FAMILY, BASELINES])
def test_a_search_that_fails_for_one_gamma_costs_the_others_nothing(family: Family) -> None:
    """Its message is the one that it has alone."""
    grid = Grid(("RRCM",), (0.0, 1e300, 1e-300), ("ml",), (0.1,), (10,), (0.1,))
    with np.errstate(over="ignore"):
        block, alone = (
            compute_unit(Study(Extent(some, 1, 1), Overflowing(), only(family), SEEDS), unit(10, range(1), range(1)))
            for some in (grid, replace(grid, gamma=(1e300,)))
        )
    assert block.values["status"].ravel().tolist() == [Status.OK, Status.ERROR, Status.OK]
    assert [one.message for one in block.failures] == [one.message for one in alone.failures]
    assert block.failures[0].message.startswith("ValueError: y ")
    assert block.failures[0].gamma == 1e300


def test_exceptions_become_kinds() -> None:
    assert classify_error(MemoryError()) is Status.MEMORY
    assert classify_error(TimeoutError()) is Status.SLOW
    assert classify_error(np.linalg.LinAlgError()) is Status.SINGULAR
    assert classify_error(KeyError("x")) is Status.ERROR
