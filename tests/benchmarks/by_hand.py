"""One replication as one would write it by hand, for `loops.py`: a module that processes can import."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from harness.compute.measures import compute_measures
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.labels import list_axis_values
from harness.core.protocols import Factor, Target
from harness.core.schema.axes import QUANTILES
from harness.core.schema.measures import list_variables
from harness.core.types import INNER, Unit, Values
from harness.families.krr import FAMILY
from tests.benchmarks.common import quickstart

VARIABLES = [variable for variable in list_variables(()) if variable.name != "status"]


@lru_cache
def the_study(paths: int, n: tuple[int, ...]) -> Study:
    loaded = quickstart(paths, n)
    return Study(loaded.extent, loaded.built.source, loaded.families, loaded.seeds)


def replication(paths: int, sizes: tuple[int, ...], n: int, path: int) -> dict[str, Values]:
    """As one would write it by hand: data, factors, all scores in one call, measures. Every array over INNER axes."""
    it = the_study(paths, sizes)
    grid, source = it.extent.grid, it.source
    sample = source.path(it.seeds.make_path_streams(path)).draw(it.seeds.make_draw_streams(path, 0), n, {})
    assert sample.noise is not None
    assert sample.noise_test is not None
    scale = np.sqrt(np.array(grid.gamma))
    Y, Y_test = (
        y[:, None] + scale * e[:, None] for y, e in ((sample.y, sample.noise), (sample.y_test, sample.noise_test))
    )
    inputs, places, factors, targets = (
        FAMILY.inputs(sample.X, sample.X_test),
        list[Any](),
        list[Factor](),
        list[Target](),
    )
    every = list(range(len(grid.gamma)))
    for (t, theta), (r, lam) in product(enumerate(grid.theta), enumerate(grid.lam)):
        for some in [[g] for g in every] if isinstance(theta, str) else [every]:
            factor = (
                inputs.factor_ml(Y[:, some[0]], lam, theta) if isinstance(theta, str) else inputs.factor(theta, lam)
            )
            places.append((some, t, r))
            factors.append(factor)
            targets.append(Target(Y[:, some], Y_test[:, some], sample.y_test))
    scores = FAMILY.score(factors, targets, grid.procedure, grid.alpha, [])
    lengths = {axis: len(getattr(grid, axis)) for axis in INNER} | {"quantile": len(QUANTILES)}
    found = {v.name: np.empty([lengths[dim] for dim in v.dims], v.dtype) for v in VARIABLES}
    for (some, t, r), factor, target, score in zip(places, factors, targets, scores, strict=True):
        found["theta_hat"][some, t, r] = factor.theta
        for name, values in compute_measures(
            [score], [target.Y_test.T], grid.alpha, grid.procedure.index("GPR-f")
        ).items():
            for row, g in enumerate(some):
                found[name][:, g, t, r] = values[row]
    return found


def unit_values(paths: int, sizes: tuple[int, ...], unit: Unit) -> Mapping[str, Values]:
    return compute_unit(the_study(paths, sizes), unit).values


def coordinates(sizes: tuple[int, ...]) -> dict[str, Any]:
    grid = the_study(1, sizes).extent.grid
    return {axis: list(list_axis_values(grid, axis)) for axis in INNER} | {"quantile": list(QUANTILES)}


def for_xyzpy(n: int, path: int, paths: int, sizes: tuple[int, ...]) -> tuple[Values, ...]:
    return tuple(replication(paths, sizes, n, path).values())
