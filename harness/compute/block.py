"""Collect results, failures and times of a unit into its block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import cast

import numpy as np
import numpy.typing as npt

from harness.compute.measures import OutcomeLaw, compute_measures
from harness.compute.study import Study
from harness.compute.watchdog import start_step
from harness.core.errors import StoreUnreachableError
from harness.core.extent import find_computed, find_included
from harness.core.families import StudyFamily
from harness.core.protocols import Factor, FoundModel, Scores, Target, TimedScores
from harness.core.schema.axes import get_other_lengths
from harness.core.schema.measures import COVERAGE_EXPECTED, LAM_HAT, ON_BOUND, SCALE_HAT, Variable, list_variables
from harness.core.text import format_error
from harness.core.types import Block, Bools, Failure, Status, Unit, Values

Places = tuple[slice, ...] | tuple[npt.NDArray[np.intp], ...]
"""Positions on several axes."""
PROCEDURE_TIME_PREFIX = "score "
"""Prefix of a procedure's name in a block's times: seconds spent on this procedure alone."""


@dataclass(frozen=True)
class CellGroup:
    """Cells that share a sample or a factor: indices on the axes, and the values for which the source draws data."""

    gammas: Sequence[int]
    thetas: Sequence[int]
    lams: Sequence[int]
    at: Mapping[str, object] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return product(self.gammas, self.thetas, self.lams)


@dataclass(frozen=True, eq=False)
class FactorJob:
    """A factor of one family with its targets, one for each γ of the cells that its results belong to."""

    path: int
    draw: int
    family: StudyFamily
    cells: CellGroup
    factor: Factor
    target: Target
    law: OutcomeLaw | None = None
    """Distribution of the test values, if the store keeps expected coverage."""
    bins: npt.NDArray[np.intp] | None = None
    """Bin of each test point, if the store keeps coverage in bins of x."""


class BlockBuilder:
    """Collect the results of a unit, replication by replication.

    Parameters
    ----------
    study : Study
        The study that the unit belongs to.
    unit : Unit
        The unit to compute.
    todo : array of bool, optional
        Results to compute, over path, draw, procedure, γ, θ and λ. Default: all that the scenario includes.
    """

    def __init__(self, study: Study, unit: Unit, todo: Bools | None = None) -> None:
        self.study, self.unit, self._todo = study, unit, todo
        self.included: Bools = find_included(study.extent, unit.n)
        """Cells that the scenario includes, over procedure, γ, θ and λ."""
        self._computed: Bools = find_computed(study.extent, unit.n)
        self._values = {v.name: _allocate_values(v, study, unit) for v in list_variables(study.keep)}
        self._values["status"][:] = np.where(self.included, np.uint8(Status.NOT_RUN), np.uint8(Status.EXCLUDED))
        self._failures: list[Failure] = []
        self._seconds: dict[str, float] = {}
        grid = study.extent.grid
        self._places = {one.name: one.find_places(grid) for one in study.families}
        self._scored = {one.name: one.list_scored(grid) for one in study.families}
        self._cells: dict[tuple[object, ...], Places] = {}

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
        """Return which results of a replication to compute, over procedure, γ, θ and λ."""
        return self._computed if self._todo is None else self._computed & self._todo[self._get_index(path, draw)]

    def requested_of(self, path: int, draw: int, family: StudyFamily) -> Bools:
        """Return which cells of a replication a family is to compute, over γ, θ and λ."""
        return np.asarray(self.requested(path, draw)[self._places[family.name]].any(axis=0))

    def get_scored(self, family: StudyFamily) -> tuple[str, ...]:
        """Return what a family is to score: its procedures of the grid, and its reference."""
        return self._scored[family.name]

    def compute_measures(self, jobs: Sequence[FactorJob], scores: Sequence[Scores]) -> Mapping[str, Values]:
        """Compute the measures of jobs of one family from their scores, over all of their targets."""
        study, family = self.study, jobs[0].family
        reference = None if family.family.reference is None else self.get_scored(family).index(family.family.reference)
        y_test, laws = [job.target.Y_test.T for job in jobs], [job.law for job in jobs if job.law is not None]
        bins = [job.bins for job in jobs if job.bins is not None]
        found = compute_measures(scores, y_test, study.extent.grid.alpha, reference, study.keep, laws, bins)
        kept = len(self._places[family.name])
        return {name: values[:, :kept] for name, values in found.items()}

    def add_measures(self, jobs: Sequence[FactorJob], scores: Sequence[Scores], found: Mapping[str, Values]) -> None:
        """Store measures in all cells of each job, and the time of each procedure where scores have it."""
        sums = found["coverage"] + found["width_mean"] + found.get(COVERAGE_EXPECTED, 0.0)
        bad = np.asarray(np.isnan(sums).any(axis=2))
        start = 0
        for job, one in zip(jobs, scores, strict=True):
            rows = slice(start, start := start + len(one.lower))
            self._store(job, {name: values[rows] for name, values in found.items()}, bad[rows])
        if isinstance(scores[0], TimedScores):  # all are of one family, and asking each would take a while
            for timed in cast(Sequence[TimedScores], scores):
                self._add_procedure_seconds(jobs[0].family, timed.seconds)

    def _store(self, job: FactorJob, found: Mapping[str, Values], bad: Bools) -> None:
        """Store the measures of a job, over (γ, procedure, …), and the status of its procedures.

        `bad` marks those that returned NaN. Cells that the scenario excludes have fill values.
        """
        here, at = self._get_index(job.path, job.draw), self._find_cells(job.family.name, job.cells)
        wanted = self.included[at]
        for variable in list_variables(self.study.keep):
            if variable.name in found:
                new = found[variable.name].swapaxes(0, 1)[:, :, None, None]
                if not wanted.all():
                    new = np.where(wanted.reshape(*wanted.shape, *[1] * (new.ndim - 4)), new, variable.fill)
                self._values[variable.name][here][at] = new
        if job.family.name == self.study.theta_owner:
            self._values["theta_hat"][here][at[1:]] = job.factor.theta
            if LAM_HAT.name in self._values and isinstance(job.factor, FoundModel):
                self._store_model(job.factor, here, at[1:])
        status = np.where(bad.T[:, :, None, None], np.uint8(Status.NOT_A_NUMBER), np.uint8(Status.OK))
        self._values["status"][here][at] = np.where(wanted, status, np.uint8(Status.EXCLUDED))
        if bad.any():
            self._record_nans(job, bad)

    def _store_model(self, model: FoundModel, here: tuple[int, int], at: Places) -> None:
        """Store what a search found, where the store keeps it."""
        self._values[LAM_HAT.name][here][at] = model.lam
        self._values[ON_BOUND.name][here][at] = np.nan if model.on_bound is None else float(model.on_bound)
        if SCALE_HAT.name in self._values:
            self._values[SCALE_HAT.name][here][at] = 1.0 if model.scales is None else model.scales

    def _find_cells(self, family: str, cells: CellGroup) -> Places:
        """Return the places of a family's procedures and some cells in arrays over procedure, γ, θ and λ."""
        key = (family, *map(tuple, (cells.gammas, cells.thetas, cells.lams)))
        if key not in self._cells:
            self._cells[key] = find_places(self._places[family], cells.gammas, cells.thetas, cells.lams)
        return self._cells[key]

    def _add_procedure_seconds(self, family: StudyFamily, seconds: Mapping[str, float]) -> None:
        """Add the time of each procedure, under its name in the grid."""
        labels = {family.get_own_name(label): label for label in family.labels}
        for name, each in seconds.items():
            self._add_seconds(f"{PROCEDURE_TIME_PREFIX}{labels.get(name, name)}", each)

    def add_replication(self, block: Block, family: StudyFamily) -> None:
        """Copy a family's results of a replication from a block that was computed in another process."""
        here, places = self._get_index(block.unit.paths.start, block.unit.draws.start), self._places[family.name]
        for variable in list_variables(self.study.keep):
            mine, new = self._values[variable.name][here], block.values[variable.name][0, 0]
            if variable.dims[0] == "procedure":
                mine[places] = new[places]
            elif family.name == self.study.theta_owner:
                mine[:] = new
        self._failures += [one for one in block.failures if one not in self._failures]  # data fail for each family
        for what, seconds in block.seconds.items():
            self._add_seconds(what, seconds)

    def record_exception(
        self, path: int, draw: int, part: CellGroup, error: Exception, family: StudyFamily | None = None
    ) -> None:
        """Record an exception as the failure of some cells; raise it again if the store is unreachable."""
        if isinstance(error, StoreUnreachableError):
            raise error
        self.record_failure(path, draw, part, classify_error(error), format_error(error), family)

    def record_failure(
        self, path: int, draw: int, part: CellGroup, kind: Status, message: str, family: StudyFamily | None = None
    ) -> None:
        """Record the failure in every affected cell as a status, and once for each fit as a message.

        Parameters
        ----------
        path, draw : int
            The replication that failed.
        part : CellGroup
            The cells that it affects.
        kind, message
            What happened.
        family : StudyFamily, optional
            The family that failed. Default: all of them, because data could not be drawn.
        """
        some = range(len(self.included)) if family is None else self._places[family.name]
        affected = np.zeros_like(self.included)
        affected[some] = self.requested(path, draw)[some]
        status, told = self._values["status"][self._get_index(path, draw)], set[tuple[int, int, int]]()
        for g, t, r in part:
            status[affected[:, g, t, r], g, t, r] = kind
            fit = (g, t, r) if family is None else self._find_fit(family, (g, t, r))
            if affected[:, g, t, r].any() and fit not in told:
                told.add(fit)
                self._add_failure(path, draw, (g, t, r), kind, message, family)

    def _add_failure(
        self,
        path: int,
        draw: int,
        cell: tuple[int, int, int],
        kind: Status,
        message: str,
        family: StudyFamily | None,
    ) -> None:
        grid, (g, t, r) = self.study.extent.grid, cell
        name = "" if family is None or len(self.study.families) == 1 else family.name
        values = (grid.gamma[g], grid.theta[t], grid.lam[r])
        self._failures.append(Failure(path, draw, *values, kind.name, message, name))

    def _find_fit(self, family: StudyFamily, cell: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the first of the cells that share a fit with this one, because the family doesn't use θ or λ."""
        g, t, r = cell
        return g, t if "theta" in family.axes else 0, r if family.uses_lam(self.study.extent.grid.theta[t]) else 0

    def _get_index(self, path: int, draw: int) -> tuple[int, int]:
        return path - self.unit.paths.start, draw - self.unit.draws.start

    def _record_nans(self, job: FactorJob, bad: Bools) -> None:
        """Record the procedures of a job that returned NaN, once for each γ."""
        grid, places = self.study.extent.grid, self._places[job.family.name]
        for row, g in enumerate(job.cells.gammas):
            for t, r in product(job.cells.thetas, job.cells.lams):
                wrong = bad[row] & self.included[places, g, t, r]
                if wrong.any():
                    names = ", ".join(grid.procedure[place] for place, one in zip(places, wrong, strict=True) if one)
                    kind, cell = Status.NOT_A_NUMBER, (g, t, r)
                    self._add_failure(job.path, job.draw, cell, kind, f"NaN from {names}", job.family)
                    break


def find_places(*axes: Sequence[int]) -> Places:
    """Return indices that select some positions on each axis: slices if they are consecutive, which is much faster.

    Examples
    --------
    >>> find_places([0, 1], [3])
    (slice(0, 2, None), slice(3, 4, None))
    >>> find_places([0, 2], [3])
    (array([[0],
           [2]]), array([[3]]))
    """
    if all(list(each) == list(range(each[0], each[0] + len(each))) for each in axes):
        return tuple(slice(each[0], each[0] + len(each)) for each in axes)
    return np.ix_(*axes)


def _allocate_values(variable: Variable, study: Study, unit: Unit) -> Values:
    """Return an array for a unit's part of a variable, filled with its fill value."""
    sizes = get_other_lengths(study.source.test_points, study.source.dimension)
    grid = study.extent.grid
    inner = [sizes[dim] if dim in sizes else len(getattr(grid, dim)) for dim in variable.dims]
    return np.full((len(unit.paths), len(unit.draws), *inner), variable.fill, dtype=variable.dtype)


def classify_error(error: BaseException) -> Status:
    """Return the status that stands for an exception."""
    kinds = {np.linalg.LinAlgError: Status.SINGULAR, MemoryError: Status.MEMORY, TimeoutError: Status.SLOW}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), Status.ERROR)
