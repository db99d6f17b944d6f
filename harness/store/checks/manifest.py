"""Check the values of a manifest before they are used.

A store may be damaged, or come from an untrusted source. Everything that later code relies on is checked here, once:
types, names of files, the sizes of axes and blocks, and the products of these, so that a false size can't cause a huge
listing or allocation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from math import prod
from typing import Any

from harness.core.families import MODEL_AXES, FamilyRecord
from harness.core.schema.axes import BINS
from harness.core.schema.measures import DISTRIBUTION, KEPT, SCALE_HAT
from harness.core.types import INNER
from harness.parsing import hashing
from harness.parsing.json import (
    MalformedError,
    check_base_name,
    check_flag,
    check_list,
    check_number,
    check_optional,
    check_table,
    check_text,
    check_whole,
    require,
)

AXES = ("procedure", "gamma", "theta", "lam", "n", "alpha")
MOST_REPLICATIONS = 10**9
"""Largest number of replications of a study: paths × draws."""
MOST_UNITS = 300_000
"""Largest number of units of a study at one n."""
MOST_CELLS = 10**7
"""Largest number of cells of a study, over all axes of its grid."""
_LONGEST_AXIS = 256
_LARGEST_N, _LARGEST_COUNT, _LARGEST_SEED = 10**6, 2**31, 2**63 - 1
_LONGEST_LABEL = 200
_MOST_POINTS = 10**6
_MOST_INPUTS = 10_000
_MOST_CHUNK = 2**36
"""Largest size of one variable in one unit, in bytes, computed from the manifest."""
SCENARIO_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,110}"
"""Regular expression of a scenario's name, which becomes part of the names of files and jobs."""
_TEXTS = ("start", "end", "host", "command", "python", "commit", "stopped", "broke")
_NUMBERS = ("seconds", "torn")


def check_manifest(parts: Mapping[str, Any]) -> None:
    """Raise `MalformedError` for the first invalid value of a manifest.

    Parameters
    ----------
    parts : Mapping
        The parsed parts: scenario, fingerprint, extents, groups, keep, levels, history, test_points, test,
        cube_version, and optionally `spared`, the levels with searches for θ that hold out training points, `box`, the
        ranges that bins of x are cut from, and `families`, which stores of one family may lack.
    """
    check_whole(parts["test_points"], "test_points", 1, _MOST_POINTS)
    check_text(parts["test"], "test", _LONGEST_LABEL)
    check_whole(parts["cube_version"], "cube_version", 1, 1000)
    _check_keep(parts["keep"], "keep")
    _check_box(parts.get("box", []), "bins" in parts["keep"])
    has_scales = SCALE_HAT.name in parts["keep"]
    check_whole(parts.get("dimension", 0), "dimension", int(has_scales), _MOST_INPUTS if has_scales else 0)
    extents = check_list(parts["extents"], "extents", 10_000)
    if not extents:
        raise MalformedError("extents", "a list of at least one extent")
    for i, extent in enumerate(extents):
        _check_extent(extent, f"extents[{i}]")
    for i, (old, new) in enumerate(pairwise(extents)):
        _check_growth(old, new, f"extents[{i + 1}]")
    _check_groups(parts, extents[-1])
    _check_scenario(parts["scenario"], extents[-1])
    _check_fingerprint(parts["fingerprint"])
    if "families" in parts:
        _check_families(parts["families"], extents[-1])
    _check_levels(parts["levels"], "levels")
    for theta, levels in check_table(parts.get("spared", {}), "spared", _LONGEST_AXIS).items():
        _check_levels(levels, f"spared.{theta}")
    for i, entry in enumerate(check_list(parts["history"], "history")):
        _check_entry(entry, f"history[{i}]")


def _check_keep(value: object, key: str) -> None:
    if any(each not in KEPT for each in check_list(value, key, len(KEPT))):
        raise MalformedError(key, f"a list of some of {', '.join(KEPT)}")


def _check_box(value: object, is_used: bool) -> None:
    sides = check_list(value, "box", 2)
    for side in sides:
        ends = [check_number(each, "box") for each in check_list(side, "box", 2)]
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise MalformedError("box", "a list of ranges [low, high]")
    if bool(sides) != is_used:
        raise MalformedError("box", "there where bins are kept, and nowhere else")


def _check_extent(extent: object, key: str) -> None:
    table = check_table(extent, key)
    _check_grid(require(table, "grid", key), f"{key}.grid")
    _check_counts(table, key)
    for each in check_optional(table, "left_out", key, check_list) or []:
        check_text(each, f"{key}.left_out", _LONGEST_LABEL)
    for i, rule in enumerate(check_list(require(table, "exclude", key), f"{key}.exclude")):
        for axis, values in check_table(rule, f"{key}.exclude[{i}]").items():
            if axis not in AXES:
                raise MalformedError(f"{key}.exclude[{i}]", f"a table with keys of {', '.join(AXES)}")
            check_list(values, f"{key}.exclude[{i}].{axis}", _LONGEST_AXIS)


def _check_counts(table: Mapping[str, Any], key: str) -> None:
    counts = [check_whole(require(table, name, key), f"{key}.{name}", 1, _LARGEST_COUNT) for name in ("paths", "draws")]
    if prod(counts) > MOST_REPLICATIONS:
        raise MalformedError(f"{key}.paths × draws", f"at most {MOST_REPLICATIONS}")


def _check_grid(value: object, key: str) -> None:
    grid = check_table(value, key)
    if set(grid) != set(AXES):
        raise MalformedError(key, f"a table of {', '.join(AXES)}")
    for axis, values in grid.items():
        _check_axis(axis, check_list(values, f"{key}.{axis}", _LONGEST_AXIS), f"{key}.{axis}")
    if prod(map(len, grid.values())) > MOST_CELLS:
        raise MalformedError(key, f"a grid of at most {MOST_CELLS} cells")


def _check_axis(axis: str, values: list[Any], key: str) -> None:
    if not values or len(set(map(repr, values))) < len(values):
        raise MalformedError(key, "a list of distinct values")
    for each in values:
        if axis == "n":
            check_whole(each, key, 1, _LARGEST_N)
        elif axis == "procedure" or (axis == "theta" and isinstance(each, str)):
            check_text(each, key, _LONGEST_LABEL, r"[^\x00-\x1f\x7f-\x9f]+")
        else:
            check_number(each, key)


def _check_growth(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> None:
    """Raise `MalformedError` unless `new` contains `old`: a store only grows, and old values keep their positions."""
    same = all(new["grid"][axis][: len(old["grid"][axis])] == old["grid"][axis] for axis in AXES)
    if not same or new["paths"] < old["paths"] or new["draws"] < old["draws"]:
        raise MalformedError(key, "an extent that contains the one before it")


def _check_groups(parts: Mapping[str, Any], extent: Mapping[str, Any]) -> None:
    groups, sizes = check_table(parts["groups"], "groups", _LONGEST_AXIS), {str(n) for n in extent["grid"]["n"]}
    if set(groups) != sizes:
        raise MalformedError("groups", "a table with an entry for each n")
    points = max(
        parts.get("dimension", 0),
        parts["test_points"] if "pointwise" in parts["keep"] else 1,
        BINS if "bins" in parts["keep"] else 1,
    )
    points = max(points, 4) if DISTRIBUTION in parts["keep"] else points  # bins of PIT histograms
    for n, value in groups.items():
        key = f"groups.{n}"
        group = check_table(value, key)
        check_flag(require(group, "sharded", key), f"{key}.sharded")
        block = check_list(require(group, "block", key), f"{key}.block", 2)
        chunks = check_table(require(group, "chunks", key), f"{key}.chunks")
        if len(block) != 2 or set(chunks) != set(INNER):
            raise MalformedError(key, f"a table of block (paths, draws), chunks ({', '.join(INNER)}) and sharded")
        for each in block:
            check_whole(each, f"{key}.block", 1, _LARGEST_COUNT)
        for axis, size in chunks.items():
            check_whole(size, f"{key}.chunks.{axis}", 1, len(extent["grid"][axis]))
        units = prod(-(-extent[name] // size) for name, size in zip(("paths", "draws"), block, strict=True))
        if units > MOST_UNITS:
            raise MalformedError(f"{key}.block", f"so large that there are at most {MOST_UNITS} units")
        if 8 * 3 * points * prod(block) * prod(chunks.values()) > _MOST_CHUNK:
            raise MalformedError(f"{key}.block", "so small that a unit fits into memory")


def _check_scenario(value: object, extent: Mapping[str, Any]) -> None:
    """Raise `MalformedError` unless the scenario is valid and requests a part of the store's extent."""
    scenario = check_table(value, "scenario")
    check_text(require(scenario, "name", "scenario"), "scenario.name", pattern=SCENARIO_NAME)
    check_whole(require(scenario, "seed", "scenario"), "scenario.seed", 0, _LARGEST_SEED)
    _check_named_families(require(scenario, "family", "scenario"), "scenario.family")
    check_optional(scenario, "description", "scenario", check_text)
    _check_source(require(scenario, "source", "scenario"), "scenario.source")
    _check_kernel(scenario, "scenario")
    _check_keep(scenario.get("keep", []), "scenario.keep")
    check_list(scenario.get("exclude", []), "scenario.exclude")
    grid = require(scenario, "grid", "scenario")
    _check_grid(grid, "scenario.grid")
    replications = check_table(require(scenario, "replications", "scenario"), "scenario.replications")
    _check_replications(replications, "scenario.replications")
    known = {axis: {repr(_normalise_value(each)) for each in extent["grid"][axis]} for axis in AXES}
    if not all({repr(_normalise_value(each)) for each in grid[axis]} <= known[axis] for axis in AXES):
        raise MalformedError("scenario.grid", "a part of the last extent")
    paths = replications["budget"]["paths"] if replications.get("until") else replications["paths"]
    if paths > extent["paths"] or replications["draws"] > extent["draws"]:
        raise MalformedError("scenario.replications", "a part of the last extent")


def _check_replications(replications: Mapping[str, Any], key: str) -> None:
    """Raise `MalformedError` unless paths or a budget of paths, draws and limits are numbers."""
    until, counts = check_optional(replications, "until", key, check_table), replications
    if until is not None:
        budget = check_table(require(replications, "budget", key), f"{key}.budget", 10)
        counts = {**replications, "paths": require(budget, "paths", f"{key}.budget")}
        check_optional(budget, "hours", f"{key}.budget", check_number)
        for name in ("verdict", "se", "width"):
            check_optional(until, name, f"{key}.until", check_number)
        for name in ("conservative", "exact"):
            check_optional(until, name, f"{key}.until", check_flag)
    _check_counts(counts, key)
    check_optional(replications, "seconds", key, check_number)


def _normalise_value(value: object) -> object:
    """Convert whole numbers to float, because 1 and 1.0 are the same value of an axis."""
    return float(value) if isinstance(value, int) else value


def _check_source(value: object, key: str) -> None:
    source = check_table(value, key, 1000)
    check_text(require(source, "function", key), f"{key}.function", 1000)
    check_optional(source, "file", key, lambda text, where: check_text(text, where, 4096))


def _check_kernel(table: Mapping[str, Any], key: str) -> None:
    check_optional(table, "kernel", key, lambda text, where: check_text(text, where, _LONGEST_LABEL))
    for i, each in enumerate(check_optional(table, "scales", key, check_list) or []):
        check_number(each, f"{key}.scales[{i}]")
    check_optional(table, "mean", key, lambda text, where: check_text(text, where, _LONGEST_LABEL))
    check_optional(table, "features", key, lambda count, where: check_whole(count, where, 1, 10**6))
    check_optional(table, "smoothed", key, check_flag)
    check_optional(table, "sigma", key, lambda text, where: check_text(text, where, _LONGEST_LABEL))
    check_optional(table, "weights", key, _check_weights)


def _check_weights(value: object, key: str) -> None:
    if value not in ("exact", "estimated"):
        check_number(value, key)


def _check_fingerprint(value: object) -> None:
    fingerprint = check_table(value, "fingerprint", 100)
    key = "fingerprint"
    check_whole(require(fingerprint, "seed", key), f"{key}.seed", 0, _LARGEST_SEED)
    check_whole(require(fingerprint, "blas_threads", key), f"{key}.blas_threads", 1, 10**4)
    check_optional(fingerprint, "family", key, lambda text, where: check_text(text, where, _LONGEST_LABEL))
    _check_source(require(fingerprint, "source", key), f"{key}.source")
    _check_kernel(check_table(fingerprint.get("kernel", {}), f"{key}.kernel"), f"{key}.kernel")
    check_optional(fingerprint, "smoothed", key, check_flag)
    check_optional(fingerprint, "weights", key, _check_weights)
    check_optional(fingerprint, "sigma", key, lambda text, where: check_text(text, where, _LONGEST_LABEL))
    numerics = check_table(require(fingerprint, "numerics", key), f"{key}.numerics", 100)
    for name, version in numerics.items():  # a custom family may have any names; versions are only compared
        if not isinstance(version, str):
            check_number(version, f"{key}.numerics.{name}")
    _check_files(require(fingerprint, "files", key), f"{key}.files")


def _check_files(value: object, key: str) -> None:
    for name, hashed in check_table(value, key, 100).items():
        check_base_name(name, key)
        check_text(hashed, f"{key}.{name}", pattern=hashing.PATTERN)


def _check_named_families(value: object, key: str) -> None:
    """Raise `MalformedError` unless a value is the name of a family, or a list of names and tables with `use`."""
    if value == []:
        raise MalformedError(key, "the name of a family, or a list of families")
    for i, each in enumerate(check_list(value, key, _LONGEST_AXIS) if isinstance(value, list) else [value]):
        name = require(each, "use", f"{key}[{i}]") if isinstance(each, dict) else each
        check_text(name, f"{key}[{i}]", _LONGEST_LABEL)


def _check_families(value: object, extent: Mapping[str, Any]) -> None:
    """Raise `MalformedError` unless the families of a store have its procedures, each in one of them."""
    found: list[str] = []
    for name, one in check_table(value, "families", _LONGEST_AXIS).items():
        key = f"families.{name}"
        table = check_table(one, key)
        if {*table, "finds_lam"} != {each.name for each in fields(FamilyRecord)}:
            raise MalformedError(key, f"a table of {', '.join(each.name for each in fields(FamilyRecord))}")
        check_text(table["use"], f"{key}.use", _LONGEST_LABEL)
        if not isinstance(table["version"], str):
            check_number(table["version"], f"{key}.version")
        check_text(table["description"], f"{key}.description", 1000)
        check_table(table["parameters"], f"{key}.parameters", 1000)
        _check_files(table["files"], f"{key}.files")
        for name in ("axes", "given"):
            if any(axis not in MODEL_AXES for axis in check_list(table[name], f"{key}.{name}", 2)):
                raise MalformedError(f"{key}.{name}", f"a list of some of {', '.join(MODEL_AXES)}")
        for i, search in enumerate(check_optional(table, "finds_lam", key, check_list) or []):
            check_text(search, f"{key}.finds_lam[{i}]", _LONGEST_LABEL)
        found += check_list(table["procedures"], f"{key}.procedures", _LONGEST_AXIS)
    if sorted(map(repr, found)) != sorted(map(repr, extent["grid"]["procedure"])):
        raise MalformedError("families", "a table in which each procedure of the store has one family")


def _check_levels(value: object, key: str) -> None:
    for name, rows in check_table(value, key, _LONGEST_AXIS).items():
        for n, row in check_table(rows, f"{key}.{name}", _LONGEST_AXIS).items():
            check_text(n, f"{key}.{name}", pattern=r"\d{1,9}")
            for alpha, level in check_table(row, f"{key}.{name}.{n}", _LONGEST_AXIS).items():
                check_text(alpha, f"{key}.{name}.{n}", pattern=r"[-+.\deE]{1,40}")
                _check_float(alpha, f"{key}.{name}.{n}")
                if level == level:  # a custom family may return NaN for no exact level
                    check_number(level, f"{key}.{name}.{n}.{alpha}")


def _check_float(text: str, key: str) -> None:
    try:
        float(text)
    except ValueError:
        raise MalformedError(key, "a table with numbers as keys") from None


def _check_entry(value: object, key: str) -> None:
    entry = check_table(value, key, 100)
    check_text(require(entry, "start", key), f"{key}.start", 100)
    for name in _TEXTS:
        check_optional(entry, name, key, check_text)
    for name in _NUMBERS:
        check_optional(entry, name, key, check_number)
    for name, version in (check_optional(entry, "versions", key, check_table) or {}).items():
        check_text(version, f"{key}.versions.{name}", 200)
    for each in check_optional(entry, "mended", key, check_list) or []:
        check_text(each, f"{key}.mended", 255)
