"""What figures 3, 5, 6 and 7 draw: how coverage spreads over replications, and widths over test points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness import store
from harness.labels import axis_values
from harness.nouns import Array, Bools, Status, Values
from harness.results.runs import Runs

QUARTILES = (0.25, 0.5, 0.75)
WIDTHS = (0.05, 0.5, 1.0)


@dataclass(frozen=True)
class Cells:
    """A procedure at one γ, θ and λ, for all α and some n."""

    procedure: str
    gamma: float
    theta: str
    lam: float
    sizes: tuple[int, ...]


def coverage(runs: Runs, cells: Cells) -> Array:
    """Quartiles of coverage over replications: over quartile, n and α."""
    found = []
    for n in cells.sizes:
        values, ok = _read(runs, cells, n, "coverage")
        found.append(np.quantile(values[ok], QUARTILES, axis=0) if ok.any() else _nothing(runs))
    return np.stack(found, axis=1)


def width(runs: Runs, cells: Cells) -> Array:
    """The mean width at each test point, then its 5 % quantile, median and maximum: over those, n and α.

    A mean is infinite where a region of one replication is.
    """
    found = []
    for n in cells.sizes:
        values, ok = _read(runs, cells, n, "point_width")
        mean = values[ok].mean(axis=0, dtype=float) if ok.any() else np.full(values.shape[1:], np.nan)
        found.append(np.quantile(mean, WIDTHS, axis=1, method="inverted_cdf"))
    return np.stack(found, axis=1)


def _read(runs: Runs, cells: Cells, n: int, variable: str) -> tuple[Values, Bools]:
    """Over replications, α (and test points), and which replications are there."""
    grid, everything = runs.record.extent.grid, slice(None)
    at = {"procedure": cells.procedure, "gamma": cells.gamma, "theta": cells.theta, "lam": cells.lam}
    where = (everything, everything, *(list(axis_values(grid, axis)).index(value) for axis, value in at.items()))
    values, status = (store.read(runs.url, n, name, runs.record.generation, where) for name in (variable, "status"))
    return values.reshape(-1, *values.shape[2:]), np.asarray(status.ravel() == Status.OK)


def _nothing(runs: Runs) -> Array:
    return np.full((len(QUARTILES), len(runs.record.extent.grid.alpha)), np.nan)
