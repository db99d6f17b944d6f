"""The manifest of a store: its scenario, extents, layout and history, kept in the attributes of the root group.

It is read and written as plain JSON, without Zarr, so that `ckrr status` starts fast.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import prod
from typing import Any

from harness.core.extent import from_json, get_axis_lengths, to_json, union
from harness.core.families import MODEL_AXES, FamilyRecord, Uses
from harness.core.labels import is_number
from harness.core.schema.axes import BESIDE_LABELS, COORDINATES, THETA_USES_LAM, USED_AXES
from harness.core.schema.cube import CUBE, CUBE_VERSION
from harness.core.types import INNER, Extent, Unit
from harness.parsing.json import check_text, check_whole, load_json, require
from harness.store.checks.manifest import check_manifest

SCHEMA = 2
"""Version of the store format."""
ROOT = "zarr.json"
"""Metadata of the root group, whose attributes contain the manifest."""
COPY = "manifest.json"
"""Second copy of the root's attributes, written before them. A lost or damaged root is rebuilt from it."""
FILES = "files"
"""Folder of the files that the source and the families need."""
LARGEST_FILE = 1 << 30
"""Largest file that a source may need, in bytes."""
DRIVER = "driver.json"
"""Heartbeat of the active driver."""
CANCEL = "cancel.json"
"""Request to the driver to stop."""
SUBMISSION = "submission"
"""Folder of a submission and its logs. It exists before the driver creates the store."""
CLAIM = "claim.json"
"""Lock of the driver that creates or grows the store. Without a root, the store may then be created afresh."""
TOP_LEVEL = {
    ROOT,
    COPY,
    CLAIM,
    FILES,
    "prepared",
    "receipts",
    "replications",
    "rounds",
    *COORDINATES,
    *USED_AXES,
    THETA_USES_LAM,
    *(one.name for one in CUBE),
}
"""Names of files and folders that a store has directly under its root."""
LARGEST_ROOT = 16 << 20
"""Largest root in bytes; with 256 values of n and a small grid it has 8 MB."""
_SHARD_ABOVE = 1 << 20
"""Bytes of a variable in one unit above which the group is sharded, so that reading a slice reads little.

Below it, a slice reads up to some hundred times the bytes it needs, but they are few: shards would double its requests
and its time, and make reading everything with Zarr 10 to 40 times slower (`python -m tests.benchmarks.slices`).
"""
RESAMPLED = ("table", "dataset")
"""Sources whose data are the rows of one table."""
TORN = "torn"
"""Key of a history entry: `ckrr status --verify` found damage, and the next run rewrites metadata, labels and cube."""
SUPERSEDED = "superseded"
"""Key of a history entry: all units were complete before the graph of this entry ended, so it has nothing to write."""
Levels = Mapping[str, Mapping[int, Mapping[float, float]]]
"""Exact coverage by procedure, n and α."""


@dataclass(frozen=True)
class Group:
    """Chunking of the replications at one n, fixed when the group is created."""

    block: tuple[int, int]
    """Paths × draws of a unit."""
    chunks: Mapping[str, int]
    """Length of a chunk (or shard) along each inner axis: that of the axis when the group was created."""
    sharded: bool


@dataclass(frozen=True)
class Manifest:
    """The content of a store, the study that it belongs to, and the history of its runs."""

    scenario: Mapping[str, Any]
    """The scenario of the latest run, with `--set` applied."""
    fingerprint: Mapping[str, Any]
    """Everything that the numbers depend on: a store belongs to one fingerprint."""
    extents: tuple[Extent, ...]
    """Extents of the store: the first one, and one more after each growth."""
    groups: Mapping[int, Group]
    """Chunking of the replications, by n."""
    keep: tuple[str, ...]
    """Optional variables that the replications of this store have: some of `schema.KEPT`."""
    test_points: int
    test: str = "iid"
    """Layout of test points ("iid", "grid", "shifted"). Exact levels hold only for "iid"."""
    exact_levels: Levels = field(default_factory=dict)
    """Exact coverage of procedures that have one, by procedure, n and α."""
    history: Sequence[Mapping[str, Any]] = field(default=())
    """Start, end, host, command and versions of each run."""
    holdout_levels: Mapping[str, Levels] = field(default_factory=dict)
    """Exact levels with each search for θ that holds out training points, by the name of the search."""
    is_smoke: bool = False
    """Whether `ckrr run --smoke` created the store, so that the next smoke run may replace it."""
    had_rounds: bool = False
    """Whether a run of this store had `until`, so that its results were looked at while it grew."""
    fixed_paths: int = 0
    """Largest number of paths that was asked for as such, not as a budget; only for stores that had rounds."""
    cube_version: int = CUBE_VERSION
    """Version of the variables and attributes that the cube has; 1 for stores of version 0.1."""
    families: Mapping[str, FamilyRecord] = field(default_factory=dict)
    """Families of the store's procedures, by their names in the study."""
    box: tuple[tuple[float, float], ...] = ()
    """Range of each input variable, if the store keeps coverage in bins of x."""
    dimension: int = 0
    """Number of input variables, if the store keeps their scales."""
    root_is_lost: bool = field(default=False, compare=False)
    """Whether the manifest was read from the second copy, because the root is missing or damaged."""

    @cached_property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """Those of θ and λ that results depend on, for each procedure that doesn't use both."""
        return {name: one.axes for one in self.families.values() if one.axes != MODEL_AXES for name in one.procedures}

    @cached_property
    def uses(self) -> Uses:
        """Which of θ and λ the results of each procedure depend on."""
        records = self.families.values()
        return Uses(self.axes, {name: one.finds_lam for one in records if one.finds_lam for name in one.procedures})

    def uses_lam(self, theta: str) -> bool:
        """Return whether any results at a θ, given by its label, depend on λ."""
        return any(self.uses.uses_lam(name, theta) for name in self.extent.grid.procedure)

    @property
    def has_found_lam(self) -> bool:
        """Whether the store has searches for θ that find λ, too."""
        return any(one.finds_lam for one in self.families.values())

    @property
    def files(self) -> Mapping[str, str]:
        """Hash of each file that the source or a family needs, by its name in the store."""
        mine: dict[str, str] = dict(self.fingerprint["files"])
        return mine | {one.file_keys[name]: each for one in self.families.values() for name, each in one.files.items()}

    def get_levels(self, theta: str, procedure: str) -> Mapping[int, Mapping[float, float]]:
        """Return the exact levels of a procedure, by n and α, for a θ given by its label."""
        held_out = theta in self.holdout_levels and self._uses_theta(procedure)
        return (self.holdout_levels[theta] if held_out else self.exact_levels).get(procedure, {})

    def _uses_theta(self, procedure: str) -> bool:
        return "theta" in self.axes.get(procedure, MODEL_AXES)

    def is_independent(self, theta: str, procedure: str | None = None) -> bool:
        """Return whether a θ does not depend on the training points that it is used with, or a procedure not on θ."""
        given = is_number(theta) or theta in self.holdout_levels
        return given or (procedure is not None and not self._uses_theta(procedure))

    @property
    def is_resampled(self) -> bool:
        """Whether every replication splits the rows of one table anew.

        Nobody knows f then, and all numbers are conditional on these rows. Rows of a table are exchangeable, so exact
        levels hold. A custom source that does the same isn't recognised, since a store doesn't record that.
        """
        return self.scenario.get("source", {}).get("function") in RESAMPLED

    @property
    def has_ended(self) -> bool:
        """Whether the last run ended normally, so that the cube is as new as the replications."""
        return bool(self.history) and "end" in self.history[-1]

    @property
    def is_torn(self) -> bool:
        """Whether damage was found, and no run has begun since."""
        return bool(self.history) and TORN in self.history[-1]

    @property
    def is_settled(self) -> bool:
        """Whether metadata, labels and cube are current: the last run ended, and no damage was found since.

        A graph may still write units, whatever was run since it was made.
        """
        return self.has_ended and not self.is_torn and not any(map(is_open_graph, self.history))

    @property
    def extent(self) -> Extent:
        """The latest extent: what the store holds, or will hold when it is complete."""
        return self.extents[-1]

    @property
    def generation(self) -> int:
        """Index of the latest extent."""
        return len(self.extents) - 1

    @property
    def asked_paths(self) -> int:
        """Largest number of paths that was asked for as such; 0 if there were only budgets."""
        return self.fixed_paths if self.had_rounds else self.extent.paths

    def extend(self, asked: Extent) -> Manifest:
        """Return the manifest grown to include `asked`; the same object if it already does."""
        whole = union(self.extent, asked)
        return self if whole == self.extent else replace(self, extents=(*self.extents, whole))

    def count_units(self, n: int) -> int:
        """Return the number of units at one n."""
        rows, columns = self.groups[n].block
        return -(-self.extent.paths // rows) * -(-self.extent.draws // columns)

    def list_units(self, n: int, asked: Extent) -> list[Unit]:
        """Return the units at one n that hold the paths and draws of `asked`."""
        rows, columns = self.groups[n].block
        blocks = range(-(-asked.paths // rows)), range(-(-asked.draws // columns))
        return [self.make_unit(n, p, d) for p in blocks[0] for d in blocks[1]]

    def make_unit(self, n: int, path_block: int, draw_block: int) -> Unit:
        """Return the unit at one n that has these numbers."""
        rows, columns = self.groups[n].block
        paths = _make_range(path_block, rows, self.extent.paths)
        return Unit(n, path_block, draw_block, paths, _make_range(draw_block, columns, self.extent.draws))


def is_open_graph(entry: Mapping[str, Any]) -> bool:
    """Return whether a history entry is that of a Dask graph that may still write units."""
    return "graph" in entry and not {"end", SUPERSEDED} & entry.keys()


def _make_range(block: int, size: int, end: int) -> range:
    return range(block * size, min((block + 1) * size, end))


def get_initial_chunks(extent: Extent) -> dict[str, int]:
    """Return the chunk lengths along the inner axes for a group that is created at this extent."""
    lengths = get_axis_lengths(extent.grid)
    return {axis: lengths[axis] for axis in INNER}


def is_large(block: tuple[int, int], chunks: Mapping[str, int]) -> bool:
    """Return whether a unit's part of a variable is so large that it should be sharded, to read slices fast."""
    return 8 * block[0] * block[1] * prod(chunks.values()) > _SHARD_ABOVE


def hash_fingerprint(fingerprint: Mapping[str, Any]) -> str:
    """Return a hash of a fingerprint: sixteen hexadecimal digits.

    Examples
    --------
    >>> hash_fingerprint({"seed": 1}) == hash_fingerprint({"seed": 1}) != hash_fingerprint({"seed": 2})
    True
    """
    return sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()[:16]


def merge_levels(one: Levels, other: Levels) -> Levels:
    """Return the levels of both; `other` takes precedence."""
    return {
        name: {
            n: {**one.get(name, {}).get(n, {}), **other.get(name, {}).get(n, {})}
            for n in {**one.get(name, {}), **other.get(name, {})}
        }
        for name in {**one, **other}
    }


def cache_key(manifest: Manifest) -> str:
    """Return a key under which a process may cache data of a store; it changes if the store is replaced or grown."""
    parts = to_attributes(manifest)
    return hash_fingerprint({name: parts[name] for name in ("fingerprint", "extents", "groups", "families")})


def merge_holdout_levels(one: Mapping[str, Levels], other: Mapping[str, Levels]) -> Mapping[str, Levels]:
    """Return the levels of both for every search for θ; `other` takes precedence."""
    return {theta: merge_levels(one.get(theta, {}), other.get(theta, {})) for theta in {**one, **other}}


_PARTS = ("scenario", "fingerprint", "extents", "groups", "keep", "levels", "history")


def to_attributes(manifest: Manifest) -> dict[str, Any]:
    """Convert a manifest to attributes of the root: texts and numbers, with nested parts encoded as JSON."""
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
        "families": {name: _record_to_json(one) for name, one in manifest.families.items()},
        **({"spared": dict(manifest.holdout_levels)} if manifest.holdout_levels else {}),
        **({"box": [list(side) for side in manifest.box]} if manifest.box else {}),
        **({"dimension": manifest.dimension} if manifest.dimension else {}),
    }
    return {
        "ckrr_schema": SCHEMA,
        **({"smoke": 1} if manifest.is_smoke else {}),  # NetCDF attributes can't be booleans
        **({"had_rounds": 1, "fixed_paths": manifest.fixed_paths} if manifest.had_rounds else {}),
        "coordinates": " ".join((*BESIDE_LABELS, *USED_AXES, *([THETA_USES_LAM] if manifest.has_found_lam else []))),
        "title": manifest.scenario.get("name", ""),
        "description": f"{describe_study(manifest)} {_GROUPS}",
        "references": REFERENCES,
        "test_points": manifest.test_points,
        "test": manifest.test,
        "cube_version": manifest.cube_version,
        **{name: json.dumps(part) for name, part in parts.items()},
    }


def _record_to_json(record: FamilyRecord) -> dict[str, Any]:
    return {key: value for key, value in asdict(record).items() if value or key != "finds_lam"}


def describe_study(manifest: Manifest) -> str:
    """Return a few sentences on a study for somebody who opens its store, or an exported file, without ckrr.

    Nothing here is read back. What the scenario says of itself comes first.
    """
    about, source = manifest.scenario.get("description", ""), manifest.scenario.get("source", {}).get("function", "")
    whole = manifest.extent
    return (
        (f"{about}. " if about else "")
        + "Coverage and width of prediction intervals for regression, estimated by simulation at every point of a grid "
        "of procedures, noise variances (gamma), kernel parameters (theta), ridge parameters (lam), sizes of the "
        f"training sample (n) and error rates (alpha). Data: {source}; up to {whole.paths} independent realisations "
        f"(paths) with {whole.draws} training sample{'s' * (whole.draws != 1)} (draws) each, "
        f"{manifest.test_points} test points."
    )


_GROUPS = "The groups replications/n=... have the result of every replication."
REFERENCES = "Burnaev & Nazarov (2016), Conformalized Kernel Ridge Regression, arXiv:1609.05959"
"""The paper whose procedures are studied."""


def from_attributes(plain: Mapping[str, Any]) -> Manifest:
    """Parse a manifest from the attributes of the root.

    Raises
    ------
    MalformedError
        For the first invalid value.
    """
    names = (*_PARTS, *(name for name in ("spared", "families", "box", "dimension") if name in plain))
    parts = {name: load_json(check_text(require(plain, name, ""), name, LARGEST_ROOT), name) for name in names}
    cube_version = plain.get("cube_version", 1)
    single = {"test_points": require(plain, "test_points", ""), "test": require(plain, "test", "")}
    check_manifest({**parts, **single, "cube_version": cube_version})
    groups = {
        int(n): Group((one["block"][0], one["block"][1]), one["chunks"], one["sharded"])
        for n, one in parts["groups"].items()
    }
    spared = {theta: _parse_levels(rows) for theta, rows in parts.get("spared", {}).items()}
    extents = tuple(from_json(one) for one in parts["extents"])
    shared = (parts["scenario"], parts["fingerprint"], extents, groups, tuple(parts["keep"]))
    levels, history = _parse_levels(parts["levels"]), tuple(parts["history"])
    smoke, looked = _is_set(plain, "smoke"), _is_set(plain, "had_rounds")
    fixed = check_whole(plain.get("fixed_paths", 0), "fixed_paths", 0, extents[-1].paths) if looked else 0
    points, test = plain["test_points"], plain["test"]
    families = _parse_families(parts.get("families", {})) or _find_only_family(parts["fingerprint"], extents[-1])
    box = tuple((float(low), float(high)) for low, high in parts.get("box", ()))
    made = Manifest(*shared, points, test, levels, history, spared, smoke, looked, fixed, cube_version, families)
    return replace(made, box=box, dimension=parts.get("dimension", 0))


def _is_set(plain: Mapping[str, Any], name: str) -> bool:
    """Return whether a flag is set: 1, or True as older versions wrote it."""
    return type(plain.get(name)) in (bool, int) and plain[name] == 1


def _parse_families(plain: Mapping[str, Any]) -> dict[str, FamilyRecord]:
    lists = ("procedures", "axes", "given", "finds_lam")
    return {
        name: FamilyRecord(**{**one, **{key: tuple(one[key]) for key in lists if key in one}})
        for name, one in plain.items()
    }


def _find_only_family(fingerprint: Mapping[str, Any], extent: Extent) -> dict[str, FamilyRecord]:
    """Return the only family of a store of version 0.1, which has it in its fingerprint."""
    if "family" not in fingerprint:
        return {}
    version = fingerprint["numerics"].get("procedures", 0)
    return {fingerprint["family"]: FamilyRecord(fingerprint["family"], extent.grid.procedure, version=version)}


def split_fingerprint(fingerprint: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a fingerprint into that of the study, and what older stores have in it of their only family."""
    numerics = fingerprint["numerics"]
    study = {key: value for key, value in fingerprint.items() if key != "family"}
    study["numerics"] = {key: value for key, value in numerics.items() if key != "procedures"}
    older = {"family": fingerprint["family"], "numerics": dict(numerics)} if "family" in fingerprint else {}
    return study, older


def _parse_levels(plain: Mapping[str, Any]) -> Levels:
    return {
        name: {int(n): {float(alpha): level for alpha, level in row.items()} for n, row in rows.items()}
        for name, rows in plain.items()
    }
