"""Random streams as a harness hands them out, and a record of what was asked of them."""

from __future__ import annotations

import numpy as np

from scenarios.sources.types import Array, Sample


class Recorded:
    """Streams from one seed; each name may be asked for once, since a stream is used for one thing only."""

    def __init__(self, *seed: int) -> None:
        self.seed = seed
        self.names: list[str] = []

    def __call__(self, name: str) -> np.random.Generator:
        assert name not in self.names, f"stream {name!r} is used twice"
        self.names.append(name)
        return np.random.default_rng([*self.seed, *name.encode()])


def parts(sample: Sample) -> dict[str, Array]:
    """The arrays of a sample that has noise."""
    assert sample.noise is not None
    assert sample.noise_test is not None
    return {
        "X": sample.X,
        "y": sample.y,
        "noise": sample.noise,
        "X_test": sample.X_test,
        "y_test": sample.y_test,
        "noise_test": sample.noise_test,
    }


def assert_same(one: Sample, other: Sample) -> None:
    for name, array in parts(one).items():
        assert (array == parts(other)[name]).all(), name


def assert_begins(short: Sample, long: Sample) -> None:
    """The train part of `short` begins that of `long`; their test parts are the same."""
    for name, array in parts(short).items():
        assert (array == parts(long)[name][: len(array)]).all(), name
        if name.endswith("test"):
            assert len(array) == len(parts(long)[name])
