"""Collect results, failures and times of a unit into its block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter

import numpy as np

from harness.compute.measures import OutcomeLaw, compute_measures
from harness.compute.study import Study
from harness.compute.watchdog import start_step
from harness.core.errors import StoreUnreachableError
from harness.core.extent import find_included
from harness.core.protocols import Factor, Scores, Target, TimedScores
from harness.core.schema import COVERAGE_EXPECTED, QUANTILES, Variable, list_variables
from harness.core.text import format_error
from harness.core.types import Block, Bools, Failure, Status, Unit, Values

PROCEDURE_TIME_PREFIX = "score "
"""Prefix of a procedure's name in a block's times: seconds spent on this procedure alone."""


@dataclass(frozen=True)
class CellGroup:
    """Cells that share a sample or a factor: indices on the axes, and the values for which the source draws data."""

    gammas: Sequence[int]
    thetas: Sequence[int]
    lams: Sequence[int]
    at: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FactorJob:
    """A factor with its targets, one for each γ, and the indices of its results in the block."""

    path: int
    draw: int
    gammas: Sequence[int]
    theta: int
    lam: int
    factor: Factor
    target: Target
    law: OutcomeLaw | None = None
    """Distribution of the test values, if the store keeps expected coverage."""

    @property
    def cells(self) -> CellGroup:
        """Cells that the results belong to."""
        return CellGroup(self.gammas, [self.theta], [self.lam])


class BlockBuilder:
    """Collect the results of a unit, replication by replication.

    Parameters
    ----------
    study : Study
        The study that the unit belongs to.
    unit : Unit
        The unit to compute.
    todo : array of bool, optional
        Cells to compute, over path, draw, γ, θ and λ. Default: all that the scenario includes.
    """

    def __init__(self, study: Study, unit: Unit, todo: Bools | None = None) -> None:
        self.study, self.unit, self._todo = study, unit, todo
        self.included: Bools = find_included(study.extent, unit.n)
        """Cells that the scenario includes, over procedure, γ, θ and λ."""
        self._values = {v.name: _allocate_values(v, study, unit) for v in list_variables(study.keep)}
        self._values["status"][:] = np.where(self.included, np.uint8(Status.NOT_RUN), np.uint8(Status.EXCLUDED))
        self._failures: list[Failure] = []
        self._seconds: dict[str, float] = {}

    def build(self) -> Block:
        """Return the block with everything collected so far."""
        return Block(self.unit, self._values, self._failures, self._seconds)

    @contextmanager
    def time_step(self, what: str, weight: int = 1) -> Iterator[None]:
        """Add the time spent in the context to `what`, and restart the watchdog for a step of `weight` replications."""
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
        """All cells of a replication."""
        _, gammas, thetas, lams = self.included.shape
        return CellGroup(range(gammas), range(thetas), range(lams))

    def requested(self, path: int, draw: int) -> Bools:
        """Return which cells of a replication to compute, over γ, θ and λ."""
        wanted = np.asarray(self.included.any(axis=0))
        return wanted if self._todo is None else wanted & self._todo[self._get_index(path, draw)]

    def add_scores(self, job: FactorJob, scores: Scores) -> None:
        """Compute the measures of a job from its scores and store them in the block."""
        study, grid = self.study, self.study.extent.grid
        reference = None if study.family.reference is None else study.scored_procedures.index(study.family.reference)
        found = compute_measures(scores, job.target.Y_test.T, grid.alpha, reference, study.keep, job.law)
        kept = len(grid.procedure)
        sums = found["coverage"] + found["width_mean"] + found.get(COVERAGE_EXPECTED, 0.0)
        bad = np.asarray(np.isnan(sums).any(axis=2))[:, :kept]
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
        """Copy a replication that was computed in another process, given as a block with one replication."""
        here = self._get_index(block.unit.paths.start, block.unit.draws.start)
        for name, values in block.values.items():
            self._values[name][here] = values[0, 0]
        self._failures += block.failures
        for what, seconds in block.seconds.items():
            self._add_seconds(what, seconds)

    def record_exception(self, path: int, draw: int, part: CellGroup, error: Exception) -> None:
        """Record an exception as the failure of some cells; raise it again if the store is unreachable."""
        if isinstance(error, StoreUnreachableError):
            raise error
        self.record_failure(path, draw, part, classify_error(error), format_error(error))

    def record_failure(self, path: int, draw: int, part: CellGroup, kind: Status, message: str) -> None:
        """Record the failure in every affected cell, as a status and a message."""
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
        """Set the status of each procedure in a cell: OK, NaN, or excluded (whose results become fill values)."""
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
    """Return an array for a unit's part of a variable, filled with its fill value."""
    sizes = {"quantile": len(QUANTILES), "point": study.source.test_points}
    grid = study.extent.grid
    inner = [sizes[dim] if dim in sizes else len(getattr(grid, dim)) for dim in variable.dims]
    return np.full((len(unit.paths), len(unit.draws), *inner), variable.fill, dtype=variable.dtype)


def classify_error(error: BaseException) -> Status:
    """Return the status that stands for an exception."""
    kinds = {np.linalg.LinAlgError: Status.SINGULAR, MemoryError: Status.MEMORY, TimeoutError: Status.SLOW}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), Status.ERROR)
