"""One unit, on whatever machine: data → factors → scores → a block of numbers.

What can be shared is: the path by its draws, a sample by all cells the source doesn't redraw it for, a factor by all γ.
A replication that fails is data: a status and a message. The others go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from harness.compute.block import Desk, Job, Part
from harness.compute.study import Study
from harness.core.protocols import Factor, Family, Inputs, Path, Pathbound, Sample, Target
from harness.core.types import Array, Block, Bools, Theta, Unit

Looked = tuple[Sample, Target, Factor]
_BATCH_BYTES, _MOST = 64e6, 64
"""Factors that are scored together: as many as fit into this, and no more than that."""
_BATCH_MEMORY = 256e6
"""Nor more than what their family says fits into this."""


def compute(study: Study, unit: Unit, todo: Bools | None = None) -> Block:
    """All replications of a unit, every cell of them; or only those to do, over path, draw, γ, θ and λ."""
    desk, batch = Desk(study, unit, todo), list[Job]()
    for path in unit.paths:
        for job in _jobs(desk, path):
            batch.append(job)
            del job  # the next factor is made while a name for the last one would keep its memory
            if len(batch) >= _batch_size(study, unit.n):
                _score(desk, batch)
                batch = []
    _score(desk, batch)
    return desk.block()


def _batch_size(study: Study, n: int) -> int:
    grid, points = study.extent.grid, study.source.test_points
    results = 50.0 * len(grid.gamma) * len(grid.procedure) * len(grid.alpha) * points
    most = min(_BATCH_MEMORY // study.family.memory(n, points), _MOST)
    return int(max(min(_BATCH_BYTES // (16.0 * n * n + 16.0 * n * points + results), most), 1))


def _family(study: Study, path: int) -> Family:
    """As it is on a path: features are drawn there."""
    family = study.family
    return family.on_path(study.seeds.path(path)) if isinstance(family, Pathbound) else family


def _jobs(desk: Desk, path: int) -> Iterator[Job]:
    """Everything that is to be scored on one path, in a fixed order."""
    study = desk.study
    if not any(desk.asked(path, draw).any() for draw in desk.unit.draws):
        return
    try:
        with desk.timed("data"):
            world = study.source.path(study.seeds.path(path))
            family = _family(study, path)
    except Exception as error:
        for draw in desk.unit.draws:
            desk.fail(path, draw, desk.everything, error)
        return
    for draw in desk.unit.draws:
        for part in _parts(desk, path, draw):
            yield from _jobs_of_draw(desk, world, family, path, draw, part)


def _parts(desk: Desk, path: int, draw: int) -> Iterator[Part]:
    """The cells that share a sample: all of them, unless the source redraws at some axes."""
    grid, redraws, asked = desk.study.extent.grid, desk.study.source.redraws, desk.asked(path, draw)
    axes = ("gamma", "theta", "lam")
    sizes = [range(len(getattr(grid, axis))) for axis in axes]
    choices = [[[i] for i in size] if axis in redraws else [list(size)] for axis, size in zip(axes, sizes, strict=True)]
    for places in product(*choices):
        cell = {axis: getattr(grid, axis)[where[0]] for axis, where in zip(axes, places, strict=True)}
        at = {axis: {**cell, "path": path, "draw": draw}[axis] for axis in redraws}
        if asked[np.ix_(*places)].any():
            yield Part(places[0], places[1], places[2], at)


def _jobs_of_draw(desk: Desk, world: Path, family: Family, path: int, draw: int, part: Part) -> Iterator[Job]:
    study, asked = desk.study, desk.asked(path, draw)
    try:
        with desk.timed("data"):
            sample = world.draw(study.seeds.draw(path, draw), desk.unit.n, part.at)
            inputs = family.inputs(sample.X, sample.X_test)
    except Exception as error:
        desk.fail(path, draw, part, error)
        return
    for theta, lam in product(part.thetas, part.lams):
        gammas = [g for g in part.gammas if asked[g, theta, lam]]
        searched = isinstance(study.extent.grid.theta[theta], str)
        for some in [[g] for g in gammas] if searched else [gammas] if gammas else []:
            try:
                target = _target(sample, [study.extent.grid.gamma[g] for g in some], study.source.knows_f)
                yield Job(path, draw, some, theta, lam, _factor(desk, inputs, target, theta, lam), target)
            except Exception as error:
                desk.fail(path, draw, Part(some, [theta], [lam]), error)


def _factor(desk: Desk, inputs: Inputs, target: Target, theta: int, lam: int) -> Factor:
    grid = desk.study.extent.grid
    how = grid.theta[theta]
    with desk.timed("search" if isinstance(how, str) else "factor"):
        return _made(inputs, target, how, grid.lam[lam])


def _made(inputs: Inputs, target: Target, theta: Theta, lam: float) -> Factor:
    """For the θ that is given, or for the one that a search finds for the first target."""
    return inputs.factor_ml(target.Y[:, 0], lam, theta) if isinstance(theta, str) else inputs.factor(theta, lam)


def sample_of(study: Study, n: int, path: int, draw: int, gamma: int, theta: int, lam: int) -> Looked:
    """The data and the factor of one cell of one replication, for a look."""
    grid, source = study.extent.grid, study.source
    at = {"gamma": grid.gamma[gamma], "theta": grid.theta[theta], "lam": grid.lam[lam], "path": path, "draw": draw}
    world = source.path(study.seeds.path(path))
    sample = world.draw(study.seeds.draw(path, draw), n, {axis: at[axis] for axis in source.redraws})
    target = _target(sample, [grid.gamma[gamma]], source.knows_f)
    inputs = _family(study, path).inputs(sample.X, sample.X_test)
    return sample, target, _made(inputs, target, grid.theta[theta], grid.lam[lam])


def _target(sample: Sample, gammas: Sequence[float], knows_f: bool) -> Target:
    """Noise of variance γ on top of what the source gave, one column for each γ."""
    Y = np.stack([_noisy(sample.y, sample.noise, gamma) for gamma in gammas], axis=1)
    Y_test = np.stack([_noisy(sample.y_test, sample.noise_test, gamma) for gamma in gammas], axis=1)
    return Target(Y, Y_test, sample.y_test if knows_f else None)


def _noisy(y: Array, noise: Array | None, gamma: float) -> Array:
    """y + sqrt(γ)·noise."""
    return y if noise is None else y + np.sqrt(gamma) * noise


def _score(desk: Desk, batch: Sequence[Job]) -> None:
    """Scores jobs together; if that fails, one at a time, to find the guilty."""
    study = desk.study
    if not batch:
        return
    try:
        with desk.timed("score", len(batch)):
            streams = [study.seeds.draw(job.path, job.draw) for job in batch]
            factors, targets = [job.factor for job in batch], [job.target for job in batch]
            scores = study.family.score(factors, targets, study.scored, study.extent.grid.alpha, streams)
        with desk.timed("measure", len(batch)):
            for job, one in zip(batch, scores, strict=True):
                desk.keep(job, one)
    except Exception as error:
        if len(batch) > 1:
            for job in batch:
                _score(desk, [job])
        else:
            desk.fail(batch[0].path, batch[0].draw, batch[0].part, error)
