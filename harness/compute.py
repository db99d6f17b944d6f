"""One unit, on whatever machine: data → factors → scores → a block of numbers.

What can be shared is: the path by its draws, a sample by all cells the source doesn't redraw it for, a factor by all γ.
A replication that fails is data: a status and a message. The others go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter

import numpy as np

from harness.extents import included
from harness.measures import measures
from harness.nouns import (
    Array,
    Block,
    Bools,
    Extent,
    Factor,
    Failure,
    Family,
    Inputs,
    Path,
    Sample,
    Scores,
    Source,
    Status,
    Target,
    Unit,
    Values,
)
from harness.seeds import Seeds
from harness.variables import QUANTILES, Variable, replication_variables

_BATCH_BYTES, _MOST = 64e6, 64
"""Factors that are scored together: as many as fit into this, and no more than that."""


@dataclass(frozen=True)
class Study:
    """All that a worker needs to know to compute any unit."""

    extent: Extent
    source: Source
    family: Family
    seeds: Seeds
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Job:
    """A factor with its targets, and the places of its results."""

    path: int
    draw: int
    gammas: Sequence[int]
    theta: int
    lam: int
    factor: Factor
    target: Target


@dataclass(eq=False)
class _Desk:
    """The block while it is filled."""

    study: Study
    unit: Unit
    wanted: Bools
    values: dict[str, Values]
    failures: list[Failure] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Adds the time that is spent within to `what`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + perf_counter() - start

    def place(self, path: int, draw: int) -> tuple[int, int]:
        """Where a replication is in the block."""
        return path - self.unit.paths.start, draw - self.unit.draws.start


def compute(study: Study, unit: Unit) -> Block:
    """All replications of a unit, every cell of them."""
    desk = _desk(study, unit)
    batch: list[_Job] = []
    for path in unit.paths:
        for job in _jobs(desk, path):
            batch.append(job)
            if len(batch) >= _batch_size(study, unit.n):
                _score(desk, batch)
                batch = []
    _score(desk, batch)
    return Block(unit, desk.values, desk.failures, desk.seconds)


def _desk(study: Study, unit: Unit) -> _Desk:
    wanted = included(study.extent, unit.n)
    values = {v.name: blank(v, study, unit) for v in replication_variables(study.keep)}
    values["status"][:] = np.where(wanted, np.uint8(Status.NOT_RUN), np.uint8(Status.EXCLUDED))
    return _Desk(study, unit, wanted, values)


def blank(variable: Variable, study: Study, unit: Unit) -> Values:
    """An array for a unit's part of a variable, full of its fill."""
    sizes = {"quantile": len(QUANTILES), "point": study.source.test_points}
    grid = study.extent.grid
    inner = [sizes[dim] if dim in sizes else len(getattr(grid, dim)) for dim in variable.dims]
    return np.full((len(unit.paths), len(unit.draws), *inner), variable.fill, dtype=variable.dtype)


def _batch_size(study: Study, n: int) -> int:
    grid, points = study.extent.grid, study.source.test_points
    results = 50.0 * len(grid.gamma) * len(grid.procedure) * len(grid.alpha) * points
    return int(min(max(_BATCH_BYTES // (16.0 * n * n + 16.0 * n * points + results), 1), _MOST))


def _jobs(desk: _Desk, path: int) -> Iterator[_Job]:
    """Everything that is to be scored on one path, in a fixed order."""
    try:
        with desk.timed("data"):
            world = desk.study.source.path(desk.study.seeds.path(path))
    except Exception as error:
        for draw in desk.unit.draws:
            _fail(desk, path, draw, _all(desk), error)
        return
    for draw, part in product(desk.unit.draws, _parts(desk)):
        yield from _jobs_of_draw(desk, world, path, draw, part)


@dataclass(frozen=True)
class _Part:
    """Cells that share a sample: places on the axes, and the values at which the source draws it."""

    gammas: Sequence[int]
    thetas: Sequence[int]
    lams: Sequence[int]
    at: Mapping[str, object]


def _parts(desk: _Desk) -> Iterator[_Part]:
    grid, redraws = desk.study.extent.grid, desk.study.source.redraws
    axes = ("gamma", "theta", "lam")
    choices = [
        [[i] for i in range(len(getattr(grid, axis)))] if axis in redraws else [list(range(len(getattr(grid, axis))))]
        for axis in axes
    ]
    for places in product(*choices):
        at = {axis: getattr(grid, axis)[where[0]] for axis, where in zip(axes, places, strict=True) if axis in redraws}
        part = _Part(places[0], places[1], places[2], at)
        if desk.wanted[np.ix_(range(len(grid.procedure)), *places)].any():
            yield part


def _all(desk: _Desk) -> _Part:
    _, gammas, thetas, lams = desk.wanted.shape
    return _Part(range(gammas), range(thetas), range(lams), {})


def _jobs_of_draw(desk: _Desk, world: Path, path: int, draw: int, part: _Part) -> Iterator[_Job]:
    study = desk.study
    try:
        with desk.timed("data"):
            sample = world.draw(study.seeds.draw(path, draw), desk.unit.n, part.at)
            inputs = study.family.inputs(sample.X, sample.X_test)
    except Exception as error:
        _fail(desk, path, draw, part, error)
        return
    for theta, lam in product(part.thetas, part.lams):
        gammas = [g for g in part.gammas if desk.wanted[:, g, theta, lam].any()]
        searched = isinstance(study.extent.grid.theta[theta], str)
        for some in [[g] for g in gammas] if searched else [gammas] if gammas else []:
            yield from _job(desk, inputs, sample, path, draw, some, theta, lam)


def _job(
    desk: _Desk, inputs: Inputs, sample: Sample, path: int, draw: int, gammas: Sequence[int], theta: int, lam: int
) -> Iterator[_Job]:
    grid = desk.study.extent.grid
    how, ridge = grid.theta[theta], grid.lam[lam]
    try:
        target = _target(sample, [grid.gamma[g] for g in gammas], desk.study.source.knows_f)
        if isinstance(how, str):
            with desk.timed("search"):
                factor = inputs.factor_ml(target.Y[:, 0], ridge, how)
        else:
            with desk.timed("factor"):
                factor = inputs.factor(how, ridge)
    except Exception as error:
        _fail(desk, path, draw, _Part(gammas, [theta], [lam], {}), error)
        return
    yield _Job(path, draw, gammas, theta, lam, factor, target)


def _target(sample: Sample, gammas: Sequence[float], knows_f: bool) -> Target:
    """Noise of variance γ on top of what the source gave, one column for each γ."""
    Y = np.stack([noisy(sample.y, sample.noise, gamma) for gamma in gammas], axis=1)
    Y_test = np.stack([noisy(sample.y_test, sample.noise_test, gamma) for gamma in gammas], axis=1)
    return Target(Y, Y_test, sample.y_test if knows_f else None)


def noisy(y: Array, noise: Array | None, gamma: float) -> Array:
    """y + sqrt(γ)·noise."""
    return y if noise is None else y + np.sqrt(gamma) * noise


def _score(desk: _Desk, batch: Sequence[_Job]) -> None:
    """Scores jobs together; if that fails, one at a time, to find the guilty."""
    if not batch:
        return
    try:
        with desk.timed("score"):
            scores = _scores(desk, batch)
        with desk.timed("measure"):
            _keep(desk, batch, scores)
    except Exception as error:
        if len(batch) > 1:
            for job in batch:
                _score(desk, [job])
        else:
            (job,) = batch
            _fail(desk, job.path, job.draw, _Part(job.gammas, [job.theta], [job.lam], {}), error)


def _scores(desk: _Desk, batch: Sequence[_Job]) -> Sequence[Scores]:
    study = desk.study
    return study.family.score(
        [job.factor for job in batch],
        [job.target for job in batch],
        asked_procedures(study),
        study.extent.grid.alpha,
        [study.seeds.draw(job.path, job.draw)("procedure") for job in batch],
    )


def asked_procedures(study: Study) -> Sequence[str]:
    """Those of the grid, and the reference that their ends are measured from, last if it isn't among them."""
    names, reference = study.extent.grid.procedure, study.family.reference
    return names if reference is None or reference in names else (*names, reference)


def _keep(desk: _Desk, batch: Sequence[_Job], scores: Sequence[Scores]) -> None:
    """Writes the measures of a batch to their places in the block: a job at a time, which stays in the cache."""
    study = desk.study
    names, reference = list(asked_procedures(study)), study.family.reference
    place_of_reference = None if reference is None else names.index(reference)
    kept, alpha, pointwise = len(study.extent.grid.procedure), study.extent.grid.alpha, "pointwise" in study.keep
    for job, one in zip(batch, scores, strict=True):
        found = measures(one, job.target.Y_test.T, alpha, place_of_reference, pointwise)
        bad = np.asarray(np.isnan(found["coverage"] + found["width_mean"]).any(axis=2))
        p, d = desk.place(job.path, job.draw)
        for name, values in found.items():
            place = desk.values[name][p, d]
            for row, g in enumerate(job.gammas):
                place[:, g, job.theta, job.lam] = values[row, :kept]
        for row, g in enumerate(job.gammas):
            desk.values["theta_hat"][p, d, g, job.theta, job.lam] = job.factor.theta
            _mark(desk, job, g, bad[row, :kept])


def _mark(desk: _Desk, job: _Job, gamma: int, bad: Bools) -> None:
    """The status of a cell's procedures: ok, NaN, or excluded (and then without numbers)."""
    p, d = desk.place(job.path, job.draw)
    here = (p, d, slice(None), gamma, job.theta, job.lam)
    wanted = desk.wanted[:, gamma, job.theta, job.lam]
    desk.values["status"][here] = np.where(wanted, np.where(bad, Status.NOT_A_NUMBER, Status.OK), Status.EXCLUDED)
    if not wanted.all():
        for variable in replication_variables(desk.study.keep):
            if variable.dims[0] == "procedure" and variable.name != "status":
                np.asarray(desk.values[variable.name][here])[~wanted] = variable.fill
    if (bad & wanted).any():
        grid = desk.study.extent.grid
        names = ", ".join(name for name, is_bad in zip(grid.procedure, bad & wanted, strict=True) if is_bad)
        cell = (grid.gamma[gamma], grid.theta[job.theta], grid.lam[job.lam])
        desk.failures.append(Failure(job.path, job.draw, *cell, Status.NOT_A_NUMBER.name, f"NaN from {names}"))


def _fail(desk: _Desk, path: int, draw: int, part: _Part, error: Exception) -> None:
    """A status and a message for every cell that a failure cost."""
    grid, kind = desk.study.extent.grid, kind_of(error)
    p, d = desk.place(path, draw)
    message = " ".join(f"{type(error).__name__}: {error}".split())
    for g, t, r in product(part.gammas, part.thetas, part.lams):
        wanted = desk.wanted[:, g, t, r]
        desk.values["status"][p, d, wanted, g, t, r] = kind
        if wanted.any():
            desk.failures.append(Failure(path, draw, grid.gamma[g], grid.theta[t], grid.lam[r], kind.name, message))


def kind_of(error: BaseException) -> Status:
    """The status that an exception becomes."""
    kinds = {np.linalg.LinAlgError: Status.SINGULAR, MemoryError: Status.MEMORY, TimeoutError: Status.SLOW}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), Status.ERROR)
