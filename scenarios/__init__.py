"""Scenario files, and the sources of data that they name.

A source is made from the keys of a scenario's [source] table, `function` naming it:

>>> source = SOURCES["gp"](theta=100.0, pool=1000)
>>> source.test, source.test_points, source.largest_n
('iid', 201, 1000)

A source of your own is a function of its keys that returns a `Synthetic` or a `Table`:

>>> import numpy as np
>>> def noisy_sine(frequency: float = 5.0, test_points: int = 201) -> Synthetic:
...     return Synthetic(lambda X: np.sin(frequency * X[:, 0]), test_points=test_points)

A file beside the scenario needs no more. In a package, for `function = "package.module:noisy_sine"`, it has the mark
`@scenarios.source`: nothing else that a scenario file names there is called.
"""

from collections.abc import Callable

from scenarios.published.as_run import published_study
from scenarios.published.sources import f2, f5, f6, gp, heaviside, pressure2
from scenarios.sources.gaussian_process import GaussianProcess
from scenarios.sources.marking import is_source, source
from scenarios.sources.synthetic import Synthetic
from scenarios.sources.tables import Table, table
from scenarios.sources.types import Array, Layout, Path, Sample, Source, Streams
from scenarios.sources.world import World

__all__ = [
    "SOURCES",
    "Array",
    "GaussianProcess",
    "Layout",
    "Path",
    "Sample",
    "Source",
    "Streams",
    "Synthetic",
    "Table",
    "World",
    "is_source",
    "source",
]

SOURCES: dict[str, Callable[..., Source]] = {
    "gp": gp,
    "heaviside": heaviside,
    "f6": f6,
    "pressure2": pressure2,
    "f2": f2,
    "f5": f5,
    "table": table,
    "published": published_study,
}
"""The sources that a scenario file may name; its other keys are their keywords, and those of `World`."""

VERSION = 1
"""Raised by any change that moves a bit of what a source draws."""
