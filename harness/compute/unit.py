"""Compute one unit: data → factors → scores → a block of results.

Work is shared wherever possible: a path by its draws, a sample by all families and all cells for which the source
doesn't redraw it, a factor by all γ and by all values of an axis that its family doesn't use. A replication that fails
is recorded as a status and a message, and the others continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from harness.compute.bins import find_bins
from harness.compute.block import BlockBuilder, CellGroup, FactorJob
from harness.compute.measures import OutcomeLaw
from harness.compute.study import Study
from harness.core.extent import find_included
from harness.core.families import NO_VALUE, StudyFamily
from harness.core.protocols import (
    Factor,
    Family,
    Inputs,
    Path,
    Sample,
    Source,
    SupportsDistributions,
    SupportsNoiseSd,
    SupportsPath,
    SupportsSharedSearch,
    Target,
)
from harness.core.schema.measures import DISTRIBUTION
from harness.core.types import Array, Block, Bools, Theta, Unit

_BATCH_BYTES, _LARGEST_BATCH = 64e6, 64
"""Limits on factors that are scored together: bytes of their arrays, and their number."""
_BATCH_MEMORY = 256e6
"""Limit on the bytes of factors that are scored together, by their family's memory estimate."""
_MEASURED_TOGETHER = 1 << 16
"""Regions whose measures are computed together, few enough to stay in the cache. Bits are independent of it."""


MakeFactor = Callable[[], Factor]


@dataclass(frozen=True, eq=False)
class CellData:
    """The data of one cell of one replication, with the fit of each family that has procedures there."""

    sample: Sample
    target: Target
    factors: Sequence[tuple[StudyFamily, Factor]]


def compute_unit(study: Study, unit: Unit, todo: Bools | None = None) -> Block:
    """Compute the replications of a unit.

    Parameters
    ----------
    study : Study
        The study that the unit belongs to.
    unit : Unit
        The unit to compute.
    todo : array of bool, optional
        Results to compute, over path, draw, procedure, γ, θ and λ. Default: all that the scenario includes.
    """
    builder = BlockBuilder(study, unit, todo)
    batches: dict[str, list[FactorJob]] = {one.name: [] for one in study.families}
    sizes = {one.name: _compute_batch_size(study, one, unit.n) for one in study.families}
    for path in unit.paths:
        for job in _iter_jobs(builder, path):
            name = job.family.name
            batches[name].append(job)
            del job  # otherwise this name would keep the factor in memory while the next one is made
            if len(batches[name]) >= sizes[name]:
                _score(builder, batches[name])
                batches[name] = []
    for batch in batches.values():
        _score(builder, batch)
    return builder.build()


def _compute_batch_size(study: Study, family: StudyFamily, n: int) -> int:
    grid, points = study.extent.grid, study.source.test_points
    results = 50.0 * len(grid.gamma) * len(family.find_places(grid)) * len(grid.alpha) * points
    most = min(_BATCH_MEMORY // family.family.memory(n, points), _LARGEST_BATCH)
    return int(max(min(_BATCH_BYTES // (16.0 * n * n + 16.0 * n * points + results), most), 1))


def _bind_family(study: Study, family: Family, path: int) -> Family:
    """Return the family for a path, with random features drawn from its streams where it uses any."""
    return family.on_path(study.seeds.make_path_streams(path)) if isinstance(family, SupportsPath) else family


def _ask_for_distributions(study: Study, family: Family) -> Family:
    """Return the family with scores of predictive distributions, if the store keeps these and the family has any."""
    if DISTRIBUTION in study.keep and isinstance(family, SupportsDistributions):
        return family.with_distributions()
    return family


def _iter_jobs(builder: BlockBuilder, path: int) -> Iterator[FactorJob]:
    """Yield the factors to score on one path, in a fixed order."""
    study = builder.study
    if not any(builder.requested(path, draw).any() for draw in builder.unit.draws):
        return
    try:
        with builder.time_step("data"):
            world = study.source.path(study.seeds.make_path_streams(path))
    except Exception as error:
        for draw in builder.unit.draws:
            builder.record_exception(path, draw, builder.all_cells, error)
        return
    bound = _bind_families(builder, path)
    for draw in builder.unit.draws:
        for part in _iter_cell_groups(builder, path, draw):
            yield from _iter_draw_jobs(builder, world, bound, path, draw, part)


def _bind_families(builder: BlockBuilder, path: int) -> list[tuple[StudyFamily, Family]]:
    """Return each family with the random numbers of a path; one that fails is recorded and left out."""
    found = []
    for family in builder.study.families:
        try:
            with builder.time_step("data"):
                found.append((family, _bind_family(builder.study, family.family, path)))
        except Exception as error:
            for draw in builder.unit.draws:
                builder.record_exception(path, draw, builder.all_cells, error, family)
    return found


def _iter_cell_groups(builder: BlockBuilder, path: int, draw: int) -> Iterator[CellGroup]:
    """Yield groups of cells that share a sample: one group, unless the source redraws along some axes."""
    grid, redraws = builder.study.extent.grid, builder.study.source.redraws
    asked = np.asarray(builder.requested(path, draw).any(axis=0))
    axes = ("gamma", "theta", "lam")
    sizes = [range(len(getattr(grid, axis))) for axis in axes]
    choices = [[[i] for i in size] if axis in redraws else [list(size)] for axis, size in zip(axes, sizes, strict=True)]
    for places in product(*choices):
        cell = {axis: getattr(grid, axis)[where[0]] for axis, where in zip(axes, places, strict=True)}
        at = {axis: {**cell, "path": path, "draw": draw}[axis] for axis in redraws}
        if asked[np.ix_(*places)].any():
            yield CellGroup(places[0], places[1], places[2], at)


def _iter_draw_jobs(
    builder: BlockBuilder,
    world: Path,
    bound: Sequence[tuple[StudyFamily, Family]],
    path: int,
    draw: int,
    part: CellGroup,
) -> Iterator[FactorJob]:
    """Yield the factors of all families on one sample."""
    study = builder.study
    try:
        with builder.time_step("data"):
            sample = world.draw(study.seeds.make_draw_streams(path, draw), builder.unit.n, part.at)
    except Exception as error:
        builder.record_exception(path, draw, part, error)
        return
    for family, mine in bound:
        fits = list(_iter_fits(builder, family, path, draw, part))
        if not fits:
            continue
        try:
            with builder.time_step("data"):
                inputs = mine.inputs(sample.X, sample.X_test)
        except Exception as error:
            builder.record_exception(path, draw, part, error, family)
            continue
        for some in fits:
            makers = _search_together(builder, family, inputs, sample, some)
            for cells, make in zip(some, makers, strict=True):
                try:
                    yield _make_job(builder, family, inputs, sample, cells, path, draw, make)
                except Exception as error:
                    builder.record_exception(path, draw, cells, error, family)
        del inputs  # before those of the next family are made


def _iter_fits(
    builder: BlockBuilder, family: StudyFamily, path: int, draw: int, part: CellGroup
) -> Iterator[list[CellGroup]]:
    """Yield the fits of a family with one θ and λ, each by its cells: values of an axis that it doesn't use share one.

    A given θ has one fit for all γ, and one that is searched for with the targets has a fit for each.
    """
    grid, asked = builder.study.extent.grid, builder.requested_of(path, draw, family)
    thetas = [[t] for t in part.thetas] if "theta" in family.axes else [list(part.thetas)]
    separate, together = [[r] for r in part.lams], [list(part.lams)]
    uses_lam = [family.uses_lam(grid.theta[some[0]]) for some in thetas]
    fits = [
        (some, each) for some, uses in zip(thetas, uses_lam, strict=True) for each in (separate if uses else together)
    ]
    for some, others in fits:
        gammas = [g for g in part.gammas if asked[g][some][:, others].any()]
        if gammas:
            groups = [[g] for g in gammas] if family.needs_target(grid.theta[some[0]]) else [gammas]
            yield [CellGroup(each, some, others) for each in groups]


def _search_together(
    builder: BlockBuilder, family: StudyFamily, inputs: Inputs, sample: Sample, fits: Sequence[CellGroup]
) -> Sequence[MakeFactor | None]:
    """Search for the θ of several fits at once, where the family can; return for each what makes its factor, or None.

    If that fails, return None for each: they are then searched one by one, and those that fail are recorded.
    """
    study = builder.study
    theta, lam = _get_model(study, family, fits[0].thetas[0], fits[0].lams[0])
    if len(fits) == 1 or not isinstance(theta, str) or not isinstance(inputs, SupportsSharedSearch):
        return [None] * len(fits)
    gammas = [study.extent.grid.gamma[cells.gammas[0]] for cells in fits]
    try:
        with builder.time_step("search", len(fits)):
            found = inputs.search_ml(make_target(study.source, sample, gammas).Y, lam, theta)
        return [make for make, _ in zip(found, fits, strict=True)]
    except Exception:
        return [None] * len(fits)


def _make_job(
    builder: BlockBuilder,
    family: StudyFamily,
    inputs: Inputs,
    sample: Sample,
    cells: CellGroup,
    path: int,
    draw: int,
    make: MakeFactor | None,
) -> FactorJob:
    study = builder.study
    gammas = [study.extent.grid.gamma[g] for g in cells.gammas]
    target, law = make_target(study.source, sample, gammas), _make_law(study, sample, gammas)
    theta, lam = _get_model(study, family, cells.thetas[0], cells.lams[0])
    with builder.time_step("search" if isinstance(theta, str) else "factor"):
        factor = make_factor(inputs, target, theta, lam) if make is None else make()
    bins = None if study.box is None else find_bins(sample.X_test, study.box)
    return FactorJob(path, draw, family, cells, factor, target, law, bins)


def _get_model(study: Study, family: StudyFamily, theta: int, lam: int) -> tuple[Theta, float]:
    """Return the θ and λ of a cell that a family is given: `NO_VALUE` for one that it doesn't use."""
    grid = study.extent.grid
    uses = ("theta" in family.given, "lam" in family.given)
    return grid.theta[theta] if uses[0] else NO_VALUE, grid.lam[lam] if uses[1] else NO_VALUE


def make_factor(inputs: Inputs, target: Target, theta: Theta, lam: float) -> Factor:
    """Return the factor for a given θ, or for the θ that a search finds for the first target."""
    return inputs.factor_ml(target.Y[:, 0], lam, theta) if isinstance(theta, str) else inputs.factor(theta, lam)


def draw_cell(study: Study, n: int, path: int, draw: int, gamma: int, theta: int, lam: int) -> CellData:
    """Return the sample, target and factors of one cell of one replication, for inspection."""
    grid, source = study.extent.grid, study.source
    at = {"gamma": grid.gamma[gamma], "theta": grid.theta[theta], "lam": grid.lam[lam], "path": path, "draw": draw}
    world = source.path(study.seeds.make_path_streams(path))
    sample = world.draw(study.seeds.make_draw_streams(path, draw), n, {axis: at[axis] for axis in source.redraws})
    target = make_target(source, sample, [grid.gamma[gamma]])
    included = find_included(study.extent, n)[:, gamma, theta, lam]
    factors = []
    for family in study.families:
        if included[family.find_places(grid)].any():
            inputs = _bind_family(study, family.family, path).inputs(sample.X, sample.X_test)
            factors.append((family, make_factor(inputs, target, *_get_model(study, family, theta, lam))))
    return CellData(sample, target, factors)


def make_target(source: Source, sample: Sample, gammas: Sequence[float]) -> Target:
    """Return training and test values with noise of variance γ added, one column for each γ."""
    Y = np.stack([_add_noise(sample.y, sample.noise, gamma) for gamma in gammas], axis=1)
    Y_test = np.stack([_add_noise(sample.y_test, sample.noise_test, gamma) for gamma in gammas], axis=1)
    unit = source.noise_sd if isinstance(source, SupportsNoiseSd) and sample.noise is not None else None
    known = None if unit is None else unit * np.sqrt(np.array(gammas))
    return Target(Y, Y_test, sample.y_test if source.knows_f else None, known)


def _make_law(study: Study, sample: Sample, gammas: Sequence[float]) -> OutcomeLaw | None:
    """Return the distribution of the test values, if the store keeps expected coverage."""
    if study.noise_cdf is None:
        return None
    scale = np.sqrt(np.array(gammas)) if sample.noise_test is not None else np.zeros(len(gammas))
    return OutcomeLaw(sample.X_test, sample.y_test, scale, study.noise_cdf)


def _add_noise(y: Array, noise: Array | None, gamma: float) -> Array:
    """Return y + sqrt(γ)·noise."""
    return y if noise is None else y + np.sqrt(gamma) * noise


def _score(builder: BlockBuilder, batch: Sequence[FactorJob]) -> None:
    """Score jobs of one family together; if that fails, score them one at a time to find those that fail."""
    study = builder.study
    if not batch:
        return
    try:
        with builder.time_step("score", len(batch)):
            streams = [study.seeds.make_draw_streams(job.path, job.draw) for job in batch]
            factors, targets = [job.factor for job in batch], [job.target for job in batch]
            family, alpha = batch[0].family, study.extent.grid.alpha
            mine = _ask_for_distributions(study, family.family)
            scores = mine.score(factors, targets, builder.get_scored(family), alpha, streams)
        with builder.time_step("measure", len(batch)):
            size = max(_MEASURED_TOGETHER // scores[0].lower.size, 1)
            parts = [slice(start, start + size) for start in range(0, len(batch), size)]
            measures = [builder.compute_measures(batch[part], scores[part]) for part in parts]
            for part, found in zip(parts, measures, strict=True):  # once nothing can fail any more
                builder.add_measures(batch[part], scores[part], found)
    except Exception as error:
        if len(batch) > 1:
            for job in batch:
                _score(builder, [job])
        else:
            builder.record_exception(batch[0].path, batch[0].draw, batch[0].cells, error, batch[0].family)
