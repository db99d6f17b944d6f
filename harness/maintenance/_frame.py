"""The frame of a store: all that its units aren't, checked against what its record and its units say it should be.

Metadata and labels come from the record, the cube from the replications: what is damaged there is written anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from harness.backends.base import Place
from harness.core.hashing import content_hash
from harness.core.types import Unreachable, Values
from harness.cube.aggregate import cube_at
from harness.store import arrays
from harness.store._settled import ended
from harness.store.layout import template
from harness.store.manifest import FILES, LARGEST_FILE, ROOT, Record


def damaged(there: Place, record: Record) -> list[str]:
    """The keys of metadata, labels and the source's files that aren't as the record says."""
    files = {f"{FILES}/{name}": hashed for name, hashed in record.fingerprint["files"].items()}
    wrong = [key for key, hashed in files.items() if content_hash(key, there.get(key, LARGEST_FILE) or b"") != hashed]
    return wrong + [key for key, data in template(record).items() if not _alike(key, there.get(key), data)]


def _alike(key: str, found: bytes | None, meant: bytes) -> bool:
    """Metadata may be spelled in another way, and the root's attributes are the record itself."""
    if found == meant or found is None or not key.endswith(ROOT):
        return found == meant
    try:
        one, other = json.loads(found), json.loads(meant)
    except ValueError:
        return False
    for each in (one, other) if key == ROOT else ():
        each["attributes"] = None
    return bool(one == other)


def unlike(there: Place, record: Record, sizes: Collection[int]) -> Iterator[tuple[int, str]]:
    """At each of these n the variables of the cube that can't be read, or aren't what the replications give."""
    for n in sizes:
        for name, values in _meant(there, record, n).items():
            if not _reads(there.url, record, n, name, values):
                yield n, name


def _meant(there: Place, record: Record, n: int) -> Mapping[str, Values]:
    """The cube at an n; nothing if a chunk can't be read that no receipt signs for: its unit is yet to be computed."""
    try:
        return cube_at(record, n, lambda name, where: arrays.read(there.url, n, name, record.generation, where))
    except Unreachable:
        raise
    except Exception:
        return {}


def _reads(url: str, record: Record, n: int, name: str, meant: Values) -> bool:
    where = record.extent.grid.n.index(n)
    try:
        found = arrays.array(url, name, record.generation)[:, :, :, :, where]
    except Exception:
        return False
    return np.array_equal(np.asarray(found), meant, equal_nan=True) or not ended(record)
