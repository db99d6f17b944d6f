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

from harness.backends.base import Backend
from harness.core.environment import describe_machine
from harness.core.errors import UserError
from harness.core.protocols import Source, SupportsPreparation
from harness.core.text import fold_whitespace, get_timestamp
from harness.core.types import Array, Grid, Preparation
from harness.parsing.json import MalformedError, check_table, load_json

FOLDER = "prepared"
LARGEST_ARRAY = 4 << 30
"""Bytes of an array that was prepared."""


def list_needed(source: Source, grid: Grid) -> list[Preparation]:
    """What the data of a grid need."""
    if not isinstance(source, SupportsPreparation):
        return []
    return [Preparation(name, *cost) for name, cost in source.preparations(vars(grid)).items()]


def list_missing(backend: Backend, asked: Iterable[Preparation]) -> list[Preparation]:
    """Those that have no array with a receipt that fits it."""
    return [one for one in asked if why_invalid(backend, one.name) is not None]


def why_invalid(backend: Backend, name: str) -> str | None:
    """Why an array can't be used, in words; None if it can."""
    found = _read_bytes(backend, name)
    return found if isinstance(found, str) else None


def _read_bytes(backend: Backend, name: str) -> bytes | str:
    """The bytes of an array that fit its receipt; or why there are none, in words."""
    told = read_receipt(backend, name)
    if told is None:
        return "is missing"
    data = backend.get(_make_key(name, "npy"), LARGEST_ARRAY)
    if data is None:
        return "its array is missing"
    return data if sha256(data).hexdigest() == told.get("sha256") else "isn't what its receipt says"


def write(backend: Backend, name: str, array: Array, seconds: float) -> None:
    """The array, then the receipt for it."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    data = buffer.getvalue()
    backend.put(_make_key(name, "npy"), data)
    backend.put(_make_key(name, "json"), json.dumps(_make_receipt(name, array, data, seconds), indent=1).encode())


def read(backend: Backend, name: str) -> Array:
    """An array, checked against its receipt."""
    found = _read_bytes(backend, name)
    if isinstance(found, str):
        raise UserError(f"{backend.url}: {FOLDER}/{name} {found}: `ckrr run` prepares it again")
    array: Array = _parse_array(found, f"{backend.url}/{FOLDER}/{name}")
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
        raise UserError(f"{where} can't be read ({fold_whitespace(error)}): `ckrr run` prepares it again") from None
    return found


def read_receipt(backend: Backend, name: str) -> Mapping[str, Any] | None:
    """What stands in the receipt of an array; None if there is none that can be read."""
    try:
        return check_table(load_json(backend.get(_make_key(name, "json")) or b"null", name), name)
    except MalformedError:
        return None


def list_signed(backend: Backend) -> list[str]:
    """The names of all that have a receipt."""
    return sorted(name.removesuffix(".json") for name in backend.list_names(FOLDER) if name.endswith(".json"))


def invalidate(backend: Backend, name: str) -> None:
    """Drops a receipt, so that the next run prepares it again."""
    backend.delete(_make_key(name, "json"))


def check_same(places: Iterable[Backend]) -> None:
    """Refuses stores of one study that have other arrays: their numbers don't belong together."""
    known: dict[str, object] = {}
    for backend in places:
        for name in list_signed(backend):
            hashed = (read_receipt(backend, name) or {}).get("sha256")
            if known.setdefault(name, hashed) != hashed:
                raise UserError(
                    f"{backend.url} has another {FOLDER}/{name} than the stores before it (from another CPU?)"
                )


def copy(source: Backend, target: Backend) -> None:
    """Everything to another store, each receipt after its array."""
    for name, ending in product(list_signed(source), ("npy", "json")):
        target.put(_make_key(name, ending), source.get(_make_key(name, ending), LARGEST_ARRAY) or b"")


def attach(source: Source, backend: Backend) -> Source:
    """A source that finds in the store what was prepared for it: read when it is needed, and once."""
    return (
        source.given(lru_cache(lambda name: read(backend, name))) if isinstance(source, SupportsPreparation) else source
    )


def _make_receipt(name: str, array: Array, data: bytes, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "sha256": sha256(data).hexdigest(),
        "shape": list(array.shape),
        "seconds": round(seconds, 3),
        "written": get_timestamp(),
        **describe_machine(),
    }


def _make_key(name: str, ending: str) -> str:
    return f"{FOLDER}/{name}.{ending}"
