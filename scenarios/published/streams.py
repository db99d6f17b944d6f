"""Replay the random streams of the published study.

Each experiment drew all its numbers from one stream of NumPy's legacy generator, so the data of a replication depend on
all replications before it. Here a stream is replayed once, in one to three seconds, and the generator's state before
each replication is kept. Then any replication can be drawn, in any order and in any process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from scenarios.sources.types import Array

GAMMA = (1e-6, 1e-1)
LAM = (1e-6, 1e-1)
THETA = (10.0, 100.0, 1000.0, "ml-cobyla")
REPLICATIONS = 25

Cell = tuple[str, float, float, int, object, int]
"""Study, γ, λ, n, θ, replication: the order in which the loops were nested, the last one innermost."""
State = Any
"""State of a legacy generator, as returned by `RandomState.get_state`."""


@dataclass(frozen=True)
class Experiment:
    """Studies that share a random stream."""

    seed: int
    studies: tuple[str, ...]
    """Names of the studies, in the order in which they were run."""
    dimension: int
    test_points: int
    n: tuple[int, ...]
    pool: int | None = None
    """Number of training points drawn once for all replications; None if each replication drew its own."""


_LINE = (25, 50, 100, 200, 400, 600, 800, 1000, 1200, 1400, 1600)
EXPERIMENTS = (
    Experiment(0x98E8576F, ("gp1",), 1, 1001, _LINE, pool=10000),
    Experiment(0xB5066DBC, ("gp2",), 2, 2601, (150, 1500), pool=15001),
    Experiment(0x08CCA9D9, ("f6", "heaviside", "pressure2"), 1, 1001, _LINE),
    Experiment(0x3161F88E, ("f2", "f5"), 2, 2601, (150, 1500)),
)


@dataclass(frozen=True, eq=False)
class ReplayedStream:
    """States of a stream before each path and each replication that was drawn from it."""

    experiment: Experiment
    pool: Array
    """The pooled training points; empty without a pool."""
    paths: Mapping[float, State]
    """For each γ, the state before the normal numbers of its path."""
    cells: Mapping[Cell, State]
    """For each cell, the state before its replication."""

    def draw_normals(self, gamma: float) -> Array:
        """Draw the normal numbers of the path for γ: test points first, then the pool."""
        return _restore_stream(self.paths[gamma]).normal(size=self.experiment.test_points + len(self.pool))

    def draw_picks(self, cell: Cell) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Draw the indices, in the pool, of a replication's training points."""
        return _restore_stream(self.cells[cell]).choice(len(self.pool), size=cell[3], replace=False)

    def draw_fresh(self, cell: Cell) -> tuple[Array, Array]:
        """Draw a replication's training points in [0, 1]^d and its noise: test points first, then training points."""
        return _draw_sample(_restore_stream(self.cells[cell]), self.experiment, cell[3])


@lru_cache(maxsize=len(EXPERIMENTS))
def replay_stream(experiment: Experiment) -> ReplayedStream:
    """Replay the whole stream of an experiment once, and keep its states."""
    stream = np.random.RandomState(experiment.seed)
    pool = stream.uniform(size=(experiment.pool or 0, experiment.dimension))
    paths: dict[float, State] = {}
    cells: dict[Cell, State] = {}
    for study, gamma in product(experiment.studies, GAMMA):
        if experiment.pool:
            paths[gamma] = stream.get_state()
            stream.normal(size=experiment.test_points + experiment.pool)
        for lam, n, theta, replication in product(LAM, experiment.n, THETA, range(REPLICATIONS)):
            cells[study, gamma, lam, n, theta, replication] = stream.get_state()
            if experiment.pool:
                stream.choice(experiment.pool, size=n, replace=False)
            else:
                _draw_sample(stream, experiment, n)
    return ReplayedStream(experiment, pool, paths, cells)


def _draw_sample(stream: np.random.RandomState, experiment: Experiment, n: int) -> tuple[Array, Array]:
    X = stream.uniform(size=(n, experiment.dimension))
    return X, stream.normal(size=(experiment.test_points + n, 1))[:, 0]


def _restore_stream(state: State) -> np.random.RandomState:
    stream = np.random.RandomState()
    stream.set_state(state)
    return stream
