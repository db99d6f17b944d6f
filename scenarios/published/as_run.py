"""Sources that reproduce the data of the published study as it was run, replication by replication.

They have data only for the published γ, λ, n, θ and 25 replications, which `only` lists. y already includes the noise.
In the studies of functions, γ is the standard deviation of the noise, and every replication drew all its data anew.
In the studies of Gaussian processes, γ is the variance of the noise, and there is one path for each γ, from which 25
samples were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scenarios.published import tiles
from scenarios.published.streams import EXPERIMENTS, GAMMA, LAM, REPLICATIONS, THETA, Cell, Experiment, replay_stream
from scenarios.sources import functions
from scenarios.sources.domain import make_grid
from scenarios.sources.marking import source
from scenarios.sources.types import Array, Layout, Sample, Streams, make_read_only

Find = Callable[[str], Array]
"""Returns a prepared array by its name."""

_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], tuple[float, float]]] = {
    "f6": (functions.f6, (0.0, 1.0)),
    "heaviside": (functions.heaviside, (0.0, 1.0)),
    "pressure2": (functions.pressure2, (0.0, 1.0)),
    "f2": (functions.f2, (-1.0, 1.0)),
    "f5": (functions.f5, (-1.0, 1.0)),
}
_GP_THETA = 100.0


@dataclass(frozen=True)
class _SourceAsRun:
    """Properties shared by all published sources: everything except how data are drawn."""

    study: str
    experiment: Experiment

    test: ClassVar[Layout] = "grid"
    knows_f: ClassVar[bool] = False
    redraws: ClassVar[tuple[str, ...]] = ("gamma", "theta", "lam", "path", "draw")
    largest_n: ClassVar[int | None] = None  # `only` lists the available n

    @property
    def dimension(self) -> int:
        """Number of input columns."""
        return self.experiment.dimension

    @property
    def test_points(self) -> int:
        """Number of points of the regular test grid."""
        return self.experiment.test_points

    def locate_cell(self, n: int, at: Mapping[str, object], replication: object) -> Cell:
        """Return the cell of the stream for these values; raise ValueError if it wasn't part of the published run."""
        for axis, known in self.only.items():
            value = n if axis == "n" else at[axis]
            if value not in known:
                raise ValueError(
                    f"{axis} must be one of {', '.join(map(str, known))} ({self.study} as run), got {value}"
                )
        gamma, lam = at["gamma"], at["lam"]
        assert isinstance(gamma, float)
        assert isinstance(lam, float)
        assert isinstance(replication, int)
        return self.study, gamma, lam, n, at["theta"], replication

    @property
    def only(self) -> Mapping[str, Sequence[object]]:
        """Values of each axis for which there are data: those of the published run."""
        replications = {"path": range(1), "draw": range(REPLICATIONS)}
        if self.experiment.pool is None:
            replications = {"path": range(REPLICATIONS), "draw": range(1)}
        return {"gamma": GAMMA, "lam": LAM, "n": self.experiment.n, "theta": THETA, **replications}


@dataclass(frozen=True)
class FunctionAsRun(_SourceAsRun):
    """Published data of a function, y = f(x) + γ·e; the 25 replications are 25 paths with one draw each."""

    def path(self, streams: Streams) -> FunctionAsRun:
        """Return this source: `draw` finds each replication in the published stream."""
        return self

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Return the author's sample for this γ, λ, n, θ and replication."""
        cell = self.locate_cell(n, at, at["path"])
        f, (low, high) = _FUNCTIONS[self.study]
        unit, e = replay_stream(self.experiment).draw_fresh(cell)
        X, X_test = low + (high - low) * unit, make_grid(self.test_points, self.dimension, (low, high))
        m, gamma = self.test_points, cell[1]
        return Sample(X, f(X) + gamma * e[m:], None, X_test, f(X_test) + gamma * e[:m], None)


@dataclass(frozen=True)
class PathAsRun(_SourceAsRun):
    """Published data of a Gaussian process: one path of GP(0, K + γ·δ) for each γ, with θ = 100 on the unit cube.

    The 25 replications are draws on that path. The path is prepared before the first replication: it takes a
    factorisation for the 11001 (1-d) or 17602 (2-d) points of test grid and pool.
    """

    find: Find | None = None

    def path(self, streams: Streams) -> PathAsRun:
        """Return this source: its path is prepared, not drawn."""
        return self

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Return the author's pick of n points from the pool for this γ, λ, n, θ and replication."""
        cell = self.locate_cell(n, at, at["draw"])
        if self.find is None:
            raise ValueError("the path has to be prepared first")
        y, m = self.find(_format_name(cell[1])), self.test_points
        stream = replay_stream(self.experiment)
        picked = stream.draw_picks(cell)
        X_test = make_grid(m, self.dimension, (0.0, 1.0))
        return Sample(stream.pool[picked], y[m:][picked], None, X_test, make_read_only(y[:m]), None)

    def preparations(self, grid: Mapping[str, Sequence[object]]) -> Mapping[str, tuple[float, float]]:
        """Return the paths that a grid needs, one for each γ, with the operations and bytes that each takes."""
        points = self.test_points + (self.experiment.pool or 0)
        cost = tiles.count_operations(points), tiles.estimate_memory(points)
        return {_format_name(gamma): cost for gamma in GAMMA if gamma in grid["gamma"]}

    def prepare(self, name: str) -> Array:
        """Compute the path L·e, where LL′ = K + γI: test points first, then the pool."""
        (gamma,) = (gamma for gamma in GAMMA if _format_name(gamma) == name)
        stream = replay_stream(self.experiment)
        X = np.concatenate([make_grid(self.test_points, self.dimension, (0.0, 1.0)), stream.pool])
        return tiles.correlate_noise(X, _GP_THETA, gamma, stream.draw_normals(gamma))

    def given(self, find: Find) -> PathAsRun:
        """Return a copy of this source that reads prepared arrays through `find`."""
        return PathAsRun(self.study, self.experiment, find)


def _format_name(gamma: float) -> str:
    return f"path-gamma={gamma:g}"


@source
def published_study(study: str) -> FunctionAsRun | PathAsRun:
    """Make the source of a published study as it was run: gp1, gp2, f6, heaviside, pressure2, f2 or f5.

    Examples
    --------
    >>> source = published_study("f2")
    >>> at = {"gamma": 0.1, "lam": 0.1, "theta": 10.0, "path": 24, "draw": 0}
    >>> source.draw(np.random.default_rng, 150, at).y[:2].round(4)
    array([ 1.0156, -0.0229])
    """
    known = {name: one for one in EXPERIMENTS for name in one.studies}
    if study not in known:
        raise ValueError(f"study must be one of {', '.join(known)}, got {study!r}")
    experiment = known[study]
    return FunctionAsRun(study, experiment) if experiment.pool is None else PathAsRun(study, experiment)
