"""The desk: a unit's block while it is filled. Results, failures and time go to their places here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter

import numpy as np

from harness.compute.measures import compute_measures
from harness.compute.study import Study
from harness.compute.watchdog import start_step
from harness.core.errors import StoreUnreachableError
from harness.core.extent import find_included
from harness.core.protocols import Factor, Scores, Target, TimedScores
from harness.core.schema import QUANTILES, Variable, list_variables
from harness.core.text import format_error
from harness.core.types import Block, Bools, Failure, Status, Unit, Values

PROCEDURE_TIME_PREFIX = "score "
"""Before a procedure's name: what is timed of it alone."""


@dataclass(frozen=True)
class CellGroup:
    """Cells that share a sample or a factor: places on the axes, and the values at which the source draws it."""

    gammas: Sequence[int]
    thetas: Sequence[int]
    lams: Sequence[int]
    at: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FactorJob:
    """A factor with its targets, one for each γ, and the places of its results."""

    path: int
    draw: int
    gammas: Sequence[int]
    theta: int
    lam: int
    factor: Factor
    target: Target

    @property
    def cells(self) -> CellGroup:
        """Its cells."""
        return CellGroup(self.gammas, [self.theta], [self.lam])


class BlockBuilder:
    """A block that is being filled."""

    def __init__(self, study: Study, unit: Unit, todo: Bools | None = None) -> None:
        self.study, self.unit, self._todo = study, unit, todo
        self.included: Bools = find_included(study.extent, unit.n)
        """Over procedure, γ, θ and λ."""
        self._values = {v.name: _allocate_values(v, study, unit) for v in list_variables(study.keep)}
        self._values["status"][:] = np.where(self.included, np.uint8(Status.NOT_RUN), np.uint8(Status.EXCLUDED))
        self._failures: list[Failure] = []
        self._seconds: dict[str, float] = {}

    def build(self) -> Block:
        """What it has become."""
        return Block(self.unit, self._values, self._failures, self._seconds)

    @contextmanager
    def time_step(self, what: str, weight: int = 1) -> Iterator[None]:
        """Adds the time that is spent within to `what`: a step for so many replications, which the watch is told of."""
        start_step(weight)
        start = perf_counter()
        try:
            yield
        finally:
            self._add_seconds(what, perf_counter() - start)

    def _add_seconds(self, what: str, seconds: float) -> None:
        self._seconds[what] = self._seconds.get(what, 0.0) + seconds

    @property
    def all_cells(self) -> CellGroup:
        """All cells."""
        _, gammas, thetas, lams = self.included.shape
        return CellGroup(range(gammas), range(thetas), range(lams))

    def requested(self, path: int, draw: int) -> Bools:
        """Which cells of a replication are to be computed: over γ, θ and λ."""
        wanted = np.asarray(self.included.any(axis=0))
        return wanted if self._todo is None else wanted & self._todo[self._get_index(path, draw)]

    def add_scores(self, job: FactorJob, scores: Scores) -> None:
        """Writes the measures of a job to their places."""
        study, grid = self.study, self.study.extent.grid
        reference = None if study.family.reference is None else study.scored_procedures.index(study.family.reference)
        found = compute_measures(scores, job.target.Y_test.T, grid.alpha, reference, "pointwise" in study.keep)
        kept = len(grid.procedure)
        bad = np.asarray(np.isnan(found["coverage"] + found["width_mean"]).any(axis=2))[:, :kept]
        here = self._get_index(job.path, job.draw)
        for name, values in found.items():
            for row, g in enumerate(job.gammas):
                self._values[name][here][:, g, job.theta, job.lam] = values[row, :kept]
        for row, g in enumerate(job.gammas):
            self._values["theta_hat"][here][g, job.theta, job.lam] = job.factor.theta
            self._set_status(job, g, bad[row])
        if isinstance(scores, TimedScores):
            for name, seconds in scores.seconds.items():
                self._add_seconds(f"{PROCEDURE_TIME_PREFIX}{name}", seconds)

    def add_replication(self, block: Block) -> None:
        """Takes a replication that was computed elsewhere, as a block of its own."""
        here = self._get_index(block.unit.paths.start, block.unit.draws.start)
        for name, values in block.values.items():
            self._values[name][here] = values[0, 0]
        self._failures += block.failures
        for what, seconds in block.seconds.items():
            self._add_seconds(what, seconds)

    def record_exception(self, path: int, draw: int, part: CellGroup, error: Exception) -> None:
        """What an exception cost. One that is the store's, not the replication's, goes on."""
        if isinstance(error, StoreUnreachableError):
            raise error
        self.record_failure(path, draw, part, classify_error(error), format_error(error))

    def record_failure(self, path: int, draw: int, part: CellGroup, kind: Status, message: str) -> None:
        """A status and a message for every cell that a failure cost."""
        grid = self.study.extent.grid
        for g, t, r in product(part.gammas, part.thetas, part.lams):
            wanted = self.included[:, g, t, r] & self.requested(path, draw)[g, t, r]
            self._values["status"][self._get_index(path, draw)][wanted, g, t, r] = kind
            if wanted.any():
                cell = (grid.gamma[g], grid.theta[t], grid.lam[r])
                self._failures.append(Failure(path, draw, *cell, kind.name, message))

    def _get_index(self, path: int, draw: int) -> tuple[int, int]:
        return path - self.unit.paths.start, draw - self.unit.draws.start

    def _set_status(self, job: FactorJob, gamma: int, bad: Bools) -> None:
        """The status of a cell's procedures: ok, NaN, or excluded (and then without numbers)."""
        here, cell = self._get_index(job.path, job.draw), (slice(None), gamma, job.theta, job.lam)
        wanted = self.included[cell]
        status = np.where(bad, Status.NOT_A_NUMBER, Status.OK)
        self._values["status"][here][cell] = np.where(wanted, status, Status.EXCLUDED)
        if not wanted.all():
            for variable in list_variables(self.study.keep):
                if variable.dims[0] == "procedure" and variable.name != "status":
                    np.asarray(self._values[variable.name][here][cell])[~wanted] = variable.fill
        if (bad & wanted).any():
            grid = self.study.extent.grid
            names = ", ".join(name for name, one in zip(grid.procedure, bad & wanted, strict=True) if one)
            values = (grid.gamma[gamma], grid.theta[job.theta], grid.lam[job.lam])
            kind = Status.NOT_A_NUMBER.name
            self._failures.append(Failure(job.path, job.draw, *values, kind, f"NaN from {names}"))


def _allocate_values(variable: Variable, study: Study, unit: Unit) -> Values:
    """An array for a unit's part of a variable, full of its fill."""
    sizes = {"quantile": len(QUANTILES), "point": study.source.test_points}
    grid = study.extent.grid
    inner = [sizes[dim] if dim in sizes else len(getattr(grid, dim)) for dim in variable.dims]
    return np.full((len(unit.paths), len(unit.draws), *inner), variable.fill, dtype=variable.dtype)


def classify_error(error: BaseException) -> Status:
    """The status that an exception becomes."""
    kinds = {np.linalg.LinAlgError: Status.SINGULAR, MemoryError: Status.MEMORY, TimeoutError: Status.SLOW}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), Status.ERROR)
