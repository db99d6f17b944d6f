"""Stage one: what a source needs that is expensive and shared, made once and kept in the store.

First the array, `prepared/<name>.npy`, then its receipt, `prepared/<name>.json`: an array without a receipt that fits
counts as missing, and the next run makes it again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any

import numpy as np

from harness.backends.base import Place
from harness.core.environment import machine
from harness.core.errors import Mistake
from harness.core.protocols import Preparing, Source
from harness.core.text import one_line, timestamp
from harness.core.types import Array, Grid, Preparation
from harness.parsing.json import Malformed, check_table, load_json

FOLDER = "prepared"
LARGEST_ARRAY = 4 << 30
"""Bytes of an array that was prepared."""


def needed(source: Source, grid: Grid) -> list[Preparation]:
    """What the data of a grid need."""
    if not isinstance(source, Preparing):
        return []
    return [Preparation(name, *cost) for name, cost in source.preparations(vars(grid)).items()]


def missing(there: Place, asked: Iterable[Preparation]) -> list[Preparation]:
    """Those that have no array with a receipt that fits it."""
    return [one for one in asked if wrong(there, one.name) is not None]


def wrong(there: Place, name: str) -> str | None:
    """Why an array can't be used, in words; None if it can."""
    found = _found(there, name)
    return found if isinstance(found, str) else None


def _found(there: Place, name: str) -> bytes | str:
    """The bytes of an array that fit its receipt; or why there are none, in words."""
    told = receipt(there, name)
    if told is None:
        return "is missing"
    data = there.get(_key(name, "npy"), LARGEST_ARRAY)
    if data is None:
        return "its array is missing"
    return data if sha256(data).hexdigest() == told.get("sha256") else "isn't what its receipt says"


def write(there: Place, name: str, array: Array, seconds: float) -> None:
    """The array, then the receipt for it."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    data = buffer.getvalue()
    there.put(_key(name, "npy"), data)
    there.put(_key(name, "json"), json.dumps(_content(name, array, data, seconds), indent=1).encode())


def read(there: Place, name: str) -> Array:
    """An array, checked against its receipt."""
    found = _found(there, name)
    if isinstance(found, str):
        raise Mistake(f"{there.url}: {FOLDER}/{name} {found}: `ckrr run` prepares it again")
    array: Array = _parse_array(found, f"{there.url}/{FOLDER}/{name}")
    array.flags.writeable = False
    return array


def _parse_array(data: bytes, where: str) -> Array:
    """An array of numbers whose header doesn't claim more than there is."""
    stream = io.BytesIO(data)
    try:
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.kind not in "biufc" or prod(shape) * dtype.itemsize != len(data) - stream.tell():
            raise ValueError("its header isn't that of an array of numbers")
        found: Array = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError as error:
        raise Mistake(f"{where} can't be read ({one_line(error)}): `ckrr run` prepares it again") from None
    return found


def receipt(there: Place, name: str) -> Mapping[str, Any] | None:
    """What stands in the receipt of an array; None if there is none that can be read."""
    try:
        return check_table(load_json(there.get(_key(name, "json")) or b"null", name), name)
    except Malformed:
        return None


def signed(there: Place) -> list[str]:
    """The names of all that have a receipt."""
    return sorted(name.removesuffix(".json") for name in there.names(FOLDER) if name.endswith(".json"))


def forget(there: Place, name: str) -> None:
    """Drops a receipt, so that the next run prepares it again."""
    there.delete(_key(name, "json"))


def check_same(places: Iterable[Place]) -> None:
    """Refuses stores of one study that have other arrays: their numbers don't belong together."""
    known: dict[str, object] = {}
    for there in places:
        for name in signed(there):
            hashed = (receipt(there, name) or {}).get("sha256")
            if known.setdefault(name, hashed) != hashed:
                raise Mistake(f"{there.url} has another {FOLDER}/{name} than the stores before it (from another CPU?)")


def copy(source: Place, target: Place) -> None:
    """Everything to another store, each receipt after its array."""
    for name, ending in product(signed(source), ("npy", "json")):
        target.put(_key(name, ending), source.get(_key(name, ending), LARGEST_ARRAY) or b"")


def provided(source: Source, there: Place) -> Source:
    """A source that finds in the store what was prepared for it: read when it is needed, and once."""
    return source.given(lru_cache(lambda name: read(there, name))) if isinstance(source, Preparing) else source


def _content(name: str, array: Array, data: bytes, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "sha256": sha256(data).hexdigest(),
        "shape": list(array.shape),
        "seconds": round(seconds, 3),
        "written": timestamp(),
        **machine(),
    }


def _key(name: str, ending: str) -> str:
    return f"{FOLDER}/{name}.{ending}"
