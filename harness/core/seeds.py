"""Seeds from content, never from a place in a grid.

Every stream is `SeedSequence(scenario seed, spawn_key)` with a key of seven words of 32 bits: four from a hash of the
source and its parameters, then path, draw, and a word for the stream's name. So no extension, block size, order or
worker changes a number, and two sources, paths, draws or streams never share one.
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
"""In the place of a draw: streams that belong to the path."""


def hash_words(text: str, count: int) -> tuple[int, ...]:
    """The first words of 32 bits of the SHA-256 of a text."""
    digest = sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[4 * i : 4 * i + 4], "big") for i in range(count))


@cache
def _hash_stream(name: str) -> int:
    return hash_words(name, 1)[0]


@dataclass(frozen=True)
class Seeds:
    """All random streams of a study.

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
        """For a scenario's seed and its source, told by name and parameters."""
        return cls(seed, hash_words(json.dumps(source, sort_keys=True), 4))

    def make_spawn_key(self, path: int, draw: int, stream: str) -> tuple[int, ...]:
        """The spawn key of one stream."""
        return (*self.source, path, draw, _hash_stream(stream))

    def make_path_streams(self, path: int) -> Streams:
        """The streams of a path."""
        return lambda name: self._make_generator(path, _WHOLE_PATH, name)

    def make_draw_streams(self, path: int, draw: int) -> Streams:
        """The streams of a draw."""
        return lambda name: self._make_generator(path, draw, name)

    def _make_generator(self, path: int, draw: int, stream: str) -> np.random.Generator:
        return np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=self.make_spawn_key(path, draw, stream))
        )
