"""The record: what a store says about itself, in the attributes of its root.

It is read and written as plain JSON, without Zarr, so that `ckrr status` starts at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import prod
from typing import Any

from harness.core.extent import from_json, get_axis_lengths, to_json, union
from harness.core.labels import is_number
from harness.core.schema import COORDINATES, CUBE
from harness.core.types import INNER, Extent, Unit
from harness.parsing.json import check_text, load_json, require
from harness.store.checks.manifest import check_manifest

SCHEMA = 2
ROOT = "zarr.json"
COPY = "manifest.json"
"""A second copy of the root's attributes, written before them: a root that is lost or damaged is rebuilt from it."""
FILES = "files"
"""Where the store keeps what a source needs."""
LARGEST_FILE = 1 << 30
"""Bytes of a file that a source needs."""
DRIVER = "driver.json"
"""The driver that is at work."""
CANCEL = "cancel.json"
"""There while somebody wants the driver to end."""
SUBMISSION = "submission"
"""What was handed over to a driver, and its logs: there before the driver makes the store."""
CLAIM = "claim.json"
"""There while a driver makes or grows the store: without a root, what is there may be made anew."""
TOP_LEVEL = {
    ROOT,
    COPY,
    CLAIM,
    FILES,
    "prepared",
    "receipts",
    "replications",
    *COORDINATES,
    *(one.name for one in CUBE),
}
"""Names of files and folders that a store has directly under its root."""
_LARGEST = 16 << 20
"""Bytes of a root: at 256 n it has 7 MB."""
_SHARD_ABOVE = 1 << 20
"""Bytes of a variable in one unit above which it is sharded, so that a slice reads little."""


TORN = "torn"
"""In that entry: the frame was found damaged, and the next run writes it anew."""
Levels = Mapping[str, Mapping[int, Mapping[float, float]]]


@dataclass(frozen=True)
class Group:
    """How the replications of one n are cut: decided once, read ever after."""

    block: tuple[int, int]
    """Paths × draws of a unit."""
    chunks: Mapping[str, int]
    """The size of a chunk (or shard) along each inner axis: as long as the axis was when the group was made."""
    sharded: bool


@dataclass(frozen=True)
class Manifest:
    """A store's account of itself."""

    scenario: Mapping[str, Any]
    """The scenario of the latest run, with `--set` applied."""
    fingerprint: Mapping[str, Any]
    extents: tuple[Extent, ...]
    """What it holds, after each growth."""
    groups: Mapping[int, Group]
    keep: tuple[str, ...]
    test_points: int
    test: str = "iid"
    """How test points are laid out ("iid", "grid", "shifted"): exact levels are for "iid" alone."""
    exact_levels: Levels = field(default_factory=dict)
    """For each procedure, n and α the coverage that is promised, if one is."""
    history: Sequence[Mapping[str, Any]] = field(default=())
    """Each run's start, end, host, command, versions."""
    holdout_levels: Mapping[str, Levels] = field(default_factory=dict)
    """For each search for θ that leaves some train points alone: the levels with those."""
    is_smoke: bool = False
    """Whether `ckrr run --smoke` made the store: the next one may replace it."""
    root_is_lost: bool = field(default=False, compare=False)
    """Whether it was read from the second copy, because the root is missing or damaged."""

    def get_levels(self, theta: str) -> Levels:
        """What is promised with a θ, by its label."""
        return self.holdout_levels.get(theta, self.exact_levels)

    def is_independent(self, theta: str) -> bool:
        """Whether a θ doesn't depend on the train points that it is used on."""
        return is_number(theta) or theta in self.holdout_levels

    @property
    def has_ended(self) -> bool:
        """Whether the last run ended in order: the cube is as new as the replications."""
        return bool(self.history) and "end" in self.history[-1]

    @property
    def is_torn(self) -> bool:
        """Whether damage was found, and no run has begun since."""
        return bool(self.history) and TORN in self.history[-1]

    @property
    def is_settled(self) -> bool:
        """Whether metadata, labels and cube are current: the last run ended, and no damage was found since."""
        return self.has_ended and not self.is_torn

    @property
    def extent(self) -> Extent:
        """What it holds now, or is meant to."""
        return self.extents[-1]

    @property
    def generation(self) -> int:
        """The number of its present extent."""
        return len(self.extents) - 1

    def extend(self, asked: Extent) -> Manifest:
        """With everything that is asked for; itself if it has that already."""
        whole = union(self.extent, asked)
        return self if whole == self.extent else replace(self, extents=(*self.extents, whole))

    def count_units(self, n: int) -> int:
        """How many units there are at an n."""
        rows, columns = self.groups[n].block
        return -(-self.extent.paths // rows) * -(-self.extent.draws // columns)

    def list_units(self, n: int, asked: Extent) -> list[Unit]:
        """The units at an n that hold what is asked for."""
        rows, columns = self.groups[n].block
        whole = self.extent
        return [
            Unit(n, p, d, range(p * rows, min((p + 1) * rows, whole.paths)), _make_range(d, columns, whole.draws))
            for p in range(-(-asked.paths // rows))
            for d in range(-(-asked.draws // columns))
        ]


def _make_range(block: int, size: int, end: int) -> range:
    return range(block * size, min((block + 1) * size, end))


def get_initial_chunks(extent: Extent) -> dict[str, int]:
    """The chunk sizes along the inner axes of a group that is made now."""
    lengths = get_axis_lengths(extent.grid)
    return {axis: lengths[axis] for axis in INNER}


def is_large(block: tuple[int, int], chunks: Mapping[str, int]) -> bool:
    """Whether a unit's part of a variable is so large that reading all of it for a slice would hurt."""
    return 8 * block[0] * block[1] * prod(chunks.values()) > _SHARD_ABOVE


def hash_fingerprint(fingerprint: Mapping[str, Any]) -> str:
    """A fingerprint in sixteen letters.

    Examples
    --------
    >>> hash_fingerprint({"seed": 1}) == hash_fingerprint({"seed": 1}) != hash_fingerprint({"seed": 2})
    True
    """
    return sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()[:16]


def merge_levels(one: Levels, other: Levels) -> Levels:
    """All levels of both."""
    return {
        name: {
            n: {**one.get(name, {}).get(n, {}), **other.get(name, {}).get(n, {})}
            for n in {**one.get(name, {}), **other.get(name, {})}
        }
        for name in {**one, **other}
    }


def cache_key(manifest: Manifest) -> str:
    """What a process may remember a store by: another one may come to its place after it was removed."""
    parts = to_attributes(manifest)
    return hash_fingerprint({name: parts[name] for name in ("fingerprint", "extents", "groups")})


def merge_holdout_levels(one: Mapping[str, Levels], other: Mapping[str, Levels]) -> Mapping[str, Levels]:
    """The levels of both for every search."""
    return {theta: merge_levels(one.get(theta, {}), other.get(theta, {})) for theta in {**one, **other}}


_PARTS = ("scenario", "fingerprint", "extents", "groups", "keep", "levels", "history")


def to_attributes(manifest: Manifest) -> dict[str, Any]:
    """As the attributes of the root: texts and numbers, JSON where there is more to say."""
    groups = {
        str(n): {"block": list(group.block), "chunks": dict(group.chunks), "sharded": group.sharded}
        for n, group in manifest.groups.items()
    }
    parts = {
        "scenario": dict(manifest.scenario),
        "fingerprint": dict(manifest.fingerprint),
        "extents": [to_json(extent) for extent in manifest.extents],
        "groups": groups,
        "keep": list(manifest.keep),
        "levels": manifest.exact_levels,
        "history": list(manifest.history),
        **({"spared": dict(manifest.holdout_levels)} if manifest.holdout_levels else {}),
    }
    return {
        "ckrr_schema": SCHEMA,
        **({"smoke": True} if manifest.is_smoke else {}),
        "coordinates": "theta_value",
        "title": manifest.scenario.get("name", ""),
        "test_points": manifest.test_points,
        "test": manifest.test,
        **{name: json.dumps(part) for name, part in parts.items()},
    }


def from_attributes(plain: Mapping[str, Any]) -> Manifest:
    """Back from the attributes.

    Raises
    ------
    Malformed
        For the first value that can't be right.
    """
    names = (*_PARTS, *(("spared",) if "spared" in plain else ()))
    parts = {name: load_json(check_text(require(plain, name, ""), name, _LARGEST), name) for name in names}
    check_manifest({**parts, "test_points": require(plain, "test_points", ""), "test": require(plain, "test", "")})
    groups = {
        int(n): Group((one["block"][0], one["block"][1]), one["chunks"], one["sharded"])
        for n, one in parts["groups"].items()
    }
    spared = {theta: _parse_levels(rows) for theta, rows in parts.get("spared", {}).items()}
    extents = tuple(from_json(one) for one in parts["extents"])
    shared = (parts["scenario"], parts["fingerprint"], extents, groups, tuple(parts["keep"]))
    levels, history = _parse_levels(parts["levels"]), tuple(parts["history"])
    smoke = plain.get("smoke") is True
    return Manifest(*shared, plain["test_points"], plain["test"], levels, history, spared, smoke)


def _parse_levels(plain: Mapping[str, Any]) -> Levels:
    return {
        name: {int(n): {float(alpha): level for alpha, level in row.items()} for n, row in rows.items()}
        for name, rows in plain.items()
    }
