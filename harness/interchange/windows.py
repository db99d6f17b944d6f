"""Read the replications of a study window by window, so that memory doesn't grow with the number of paths.

A window is a block of paths and draws at one n, with all selected cells. It has as many replications as fit into
`WINDOW_BYTES`: several paths with all of their draws, or some draws of one path. So windows follow each other in the
order n, path, draw, however large they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from harness.core.schema.axes import get_other_lengths
from harness.core.schema.cube import CUBE_DIMS
from harness.core.schema.measures import Variable
from harness.core.types import Values
from harness.interchange.study import StoredStudy
from harness.store import arrays

WINDOW_BYTES = 16e6
"""Largest size of all variables of a window together, in bytes."""


@dataclass(frozen=True)
class Window:
    """A block of replications at one n."""

    n: int
    paths: range
    draws: range

    @property
    def box(self) -> tuple[slice, slice]:
        """Index along path and draw."""
        return slice(self.paths.start, self.paths.stop), slice(self.draws.start, self.draws.stop)


def count_paths(study: StoredStudy, n: int) -> int:
    """Return how many paths are exported at one n: those that results are made from, up to the last that was run."""
    rows, _ = study.manifest.groups[n].block
    run = max((block + 1 for block, _ in study.signed[n]), default=0) * rows
    return min(study.runs.count_paths(n), run)


def choose_window(study: StoredStudy, n: int, variables: Sequence[Variable]) -> tuple[int, int]:
    """Return the numbers of paths and draws of a window for these variables."""
    draws, rows = study.manifest.extent.draws, study.manifest.groups[n].block[0]
    size = sum(np.dtype(one.dtype).itemsize * prod(get_cell_shape(study, one)) for one in variables)
    fitting = max(1, int(WINDOW_BYTES // size))
    if fitting < draws:
        return 1, fitting
    paths = min(fitting // draws, max(count_paths(study, n), 1))
    return paths - paths % rows or paths, draws  # whole blocks, if a window has several: each chunk is read once


def get_cell_shape(study: StoredStudy, variable: Variable) -> tuple[int, ...]:
    """Return the shape of the selected cells of a variable in one replication."""
    lengths = get_other_lengths(study.manifest.test_points, study.manifest.dimension)
    return tuple(len(study.axes[dim]) if dim in study.axes else lengths[dim] for dim in variable.dims)


def iter_windows(study: StoredStudy, n: int, variables: Sequence[Variable]) -> Iterator[Window]:
    """Yield the windows at one n that have results, in order."""
    paths, draws = choose_window(study, n, variables)
    whole = range(count_paths(study, n)), range(study.manifest.extent.draws)
    for i in whole[0][::paths]:
        for k in whole[1][::draws]:
            window = Window(n, whole[0][i : i + paths], whole[1][k : k + draws])
            if _has_results(study, window):
                yield window


def _has_results(study: StoredStudy, window: Window) -> bool:
    """Return whether a unit with a receipt is in the window."""
    rows, columns = study.manifest.groups[window.n].block
    paths = range(window.paths.start // rows, -(-window.paths.stop // rows))
    draws = range(window.draws.start // columns, -(-window.draws.stop // columns))
    return any((p, d) in study.signed[window.n] for p in paths for d in draws)


def read_window(study: StoredStudy, window: Window, variable: Variable) -> Values:
    """Read the selected cells of a variable, over path, draw and its further axes, sorted as the cube."""
    places = {dim: study.get_positions(dim) for dim in variable.dims if dim in CUBE_DIMS}
    inner = [slice(min(places[dim]), max(places[dim]) + 1) if dim in places else slice(None) for dim in variable.dims]
    found = arrays.read(study.url, window.n, variable.name, study.manifest.generation, (*window.box, *inner))
    for axis, dim in enumerate(variable.dims, start=2):
        at = [place - min(places[dim]) for place in places[dim]] if dim in places else []
        if at != list(range(len(at))):
            found = np.take(found, at, axis=axis)
    return found
