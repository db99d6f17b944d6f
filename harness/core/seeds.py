"""Derive random streams from the content of a study, never from positions in a grid.

Every stream is `SeedSequence(scenario seed, spawn_key)` with a key of seven words of 32 bits: four from a hash of the
source and its parameters, then path, draw, and a hash of the stream's name. So random numbers do not depend on growth,
block size, order or workers, and no two sources, paths, draws or streams share them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

import numpy as np

from harness.core.types import Streams

_WHOLE_PATH = 2**32 - 1
"""Stands for the draw in the key of streams that belong to a whole path."""


def hash_words(text: str, count: int) -> tuple[int, ...]:
    """Return the first `count` words of 32 bits of the SHA-256 of a text."""
    digest = sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[4 * i : 4 * i + 4], "big") for i in range(count))


@cache
def _hash_stream(name: str) -> int:
    return hash_words(name, 1)[0]


@dataclass(frozen=True)
class Seeds:
    """Generator of all random streams of a study.

    Examples
    --------
    >>> seeds = Seeds.from_source(2016, {"function": "gp", "theta": 100.0})
    >>> first, again, other = (seeds.make_draw_streams(path=3, draw=draw)("noise").random() for draw in (7, 7, 8))
    >>> first == again, first == other
    (True, False)
    """

    seed: int
    source: tuple[int, ...]

    @classmethod
    def from_source(cls, seed: int, source: Mapping[str, object]) -> Seeds:
        """Make the seeds of a study from the scenario's seed and from the name and parameters of its source."""
        return cls(seed, hash_words(json.dumps(source, sort_keys=True), 4))

    def make_spawn_key(self, path: int, draw: int, stream: str) -> tuple[int, ...]:
        """Return the spawn key of one stream."""
        return (*self.source, path, draw, _hash_stream(stream))

    def make_path_streams(self, path: int) -> Streams:
        """Return the streams shared by all draws of a path."""
        return lambda name: self._make_generator(path, _WHOLE_PATH, name)

    def make_draw_streams(self, path: int, draw: int) -> Streams:
        """Return the streams of one draw on a path."""
        return lambda name: self._make_generator(path, draw, name)

    def _make_generator(self, path: int, draw: int, stream: str) -> np.random.Generator:
        return np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=self.make_spawn_key(path, draw, stream))
        )
