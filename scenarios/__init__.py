"""Bundled scenario files, and the data sources that scenario files name.

`function` in the [source] table of a scenario names a source; the other keys of the table are its keyword arguments:

>>> source = SOURCES["gp"](theta=100.0, pool=1000)
>>> source.test, source.test_points, source.largest_n
('iid', 201, 1000)

A custom source is a function that takes those keys as keyword arguments and returns a `Synthetic` or a `Table`:

>>> import numpy as np
>>> def noisy_sine(frequency: float = 5.0, test_points: int = 201) -> Synthetic:
...     return Synthetic(lambda X: np.sin(frequency * X[:, 0]), test_points=test_points)

In a .py file beside the scenario, nothing more is needed. In an installed package, which a scenario names as
`function = "package.module:noisy_sine"`, the function needs the decorator `@scenarios.source`: the harness calls no
other function of a package.
"""

from collections.abc import Callable

from scenarios.published.as_run import published_study
from scenarios.published.sources import f2, f5, f6, gp, heaviside, linear, pressure2
from scenarios.sources.datasets import is_copy, make_dataset, read_dataset
from scenarios.sources.gaussian_process import GaussianProcess
from scenarios.sources.marking import is_source, source
from scenarios.sources.registry import DATASETS, Dataset
from scenarios.sources.synthetic import Synthetic
from scenarios.sources.tables import Table, table
from scenarios.sources.types import Array, Layout, Path, Sample, Source, Streams
from scenarios.sources.world import World

__all__ = [
    "DATASETS",
    "SOURCES",
    "Array",
    "Dataset",
    "GaussianProcess",
    "Layout",
    "Path",
    "Sample",
    "Source",
    "Streams",
    "Synthetic",
    "Table",
    "World",
    "is_copy",
    "is_source",
    "read_dataset",
    "source",
]

SOURCES: dict[str, Callable[..., Source]] = {
    "gp": gp,
    "heaviside": heaviside,
    "f6": f6,
    "pressure2": pressure2,
    "f2": f2,
    "f5": f5,
    "linear": linear,
    "table": table,
    "dataset": make_dataset,
    "published": published_study,
}
"""Sources by the name that a scenario file uses; the other keys of [source] are their keywords and those of `World`."""

VERSION = 1
"""Numerics version of the sources. Increase it with any change that alters a bit of the data that a source draws."""
