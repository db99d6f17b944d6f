"""Check that a store's Zarr metadata describe exactly the arrays of a ckrr store, before Zarr uses them.

Codecs and data types can run code (as a pickle filter of Zarr format 2 did), and shapes can claim any size. Everything
except attributes must be what the manifest implies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.schema.axes import CODES, COORDINATES, QUANTILES, THETA_USES_LAM, USED_AXES
from harness.core.schema.cube import CUBE_DIMS, list_cube_variables
from harness.core.schema.measures import Variable, list_variables
from harness.parsing.json import MalformedError, check_list, check_table, require
from harness.store.layout import (
    COORDINATE_CHUNK,
    COUNT_CHUNK,
    get_chunk_shape,
    get_cube_chunks,
    get_group_name,
    get_inner_chunks,
    get_shape,
)
from harness.store.manifest import Group, Manifest

_DECODING = ("_FillValue", "scale_factor", "add_offset", "dtype", "calendar", "_Unsigned", "_Encoding")
"""Attributes that make xarray change values when it decodes an array."""
_TEXT_LABELS, _WHOLE_LABELS = ("procedure", "theta"), {"n": "int64", **dict.fromkeys(CODES, "int32")}
_CODECS = ["bytes", "zstd", "crc32c"]


@dataclass(frozen=True)
class _ArraySpec:
    """Expected metadata of an array."""

    data_type: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    codecs: tuple[str, ...] = tuple(_CODECS)
    inner: tuple[int, ...] | None = None
    """Shape of the chunks within a shard; None without shards."""


def check_layout(root: Mapping[str, Any], manifest: Manifest) -> None:
    """Raise `MalformedError` for the first array or group that does not match the manifest.

    Parameters
    ----------
    root : Mapping
        The parsed root, with consolidated metadata of everything below it.
    manifest : Manifest
        The manifest from its attributes.
    """
    if root.get("zarr_format") != 3 or root.get("node_type") != "group":
        raise MalformedError("the root", "a group in Zarr format 3")
    inline = check_table(require(root, "consolidated_metadata", ""), "consolidated_metadata")
    nodes = check_table(require(inline, "metadata", "consolidated_metadata"), "metadata")
    groups, arrays = {"replications", *map(get_group_name, manifest.groups)}, dict(_list_arrays(manifest))
    for path, value in nodes.items():
        node = check_table(value, path)
        if node.get("zarr_format") != 3:
            raise MalformedError(path, "in Zarr format 3")
        if path in groups:
            _check_group(node, path)
        elif path in arrays:
            _check_array(node, arrays[path], path)
        else:
            raise MalformedError(repr(path), "an array of a ckrr store")


def _list_arrays(manifest: Manifest) -> Iterator[tuple[str, _ArraySpec]]:
    """Yield the path and the expected metadata of every array that a store with this manifest may have."""
    yield from _list_labels(manifest, "")
    procedures = (len(manifest.extent.grid.procedure),)
    for name in USED_AXES:
        yield name, _ArraySpec("bool", ("procedure",), procedures, (COORDINATE_CHUNK,), ("bytes", "zstd"))
    thetas = (len(manifest.extent.grid.theta),)
    yield THETA_USES_LAM, _ArraySpec("bool", ("theta",), thetas, (COORDINATE_CHUNK,), ("bytes", "zstd"))
    now = get_cube_chunks(manifest)
    for summary in list_cube_variables(manifest.keep):
        dims = (*CUBE_DIMS, "quantile") if summary.quantile else CUBE_DIMS
        shape, chunks = (tuple(sizes[dim] for dim in dims) for sizes in now)
        yield summary.name, _ArraySpec(summary.dtype, dims, shape, chunks)
    for n, group in manifest.groups.items():
        yield from _list_labels(manifest, f"{get_group_name(n)}/")
        for variable in list_variables(manifest.keep):
            yield f"{get_group_name(n)}/{variable.name}", _describe_variable(manifest, group, variable)


def _describe_variable(manifest: Manifest, group: Group, variable: Variable) -> _ArraySpec:
    dims, chunks = ("path", "draw", *variable.dims), get_chunk_shape(variable, group, manifest)
    inner = get_inner_chunks(dims, chunks) if group.sharded else None
    codecs = ("sharding_indexed",) if group.sharded else tuple(_CODECS)
    return _ArraySpec(variable.dtype, dims, tuple(get_shape(variable, manifest)), chunks, codecs, inner)


def _list_labels(manifest: Manifest, prefix: str) -> Iterator[tuple[str, _ArraySpec]]:
    """Yield the coordinates of the root, or those of a group of replications."""
    grid = manifest.extent.grid
    for name in COORDINATES:
        dim = CODES.get(name, name.removesuffix("_value"))
        length = len(QUANTILES) if dim == "quantile" else len(getattr(grid, dim))
        text = name in _TEXT_LABELS
        kind = "string" if text else _WHOLE_LABELS.get(name, "float64")
        codecs = ("vlen-utf8" if text else "bytes", "zstd")
        if not (prefix and name == "n"):
            yield f"{prefix}{name}", _ArraySpec(kind, (dim,), (length,), (COORDINATE_CHUNK,), codecs)
    for name, length in (("path", manifest.extent.paths), ("draw", manifest.extent.draws)) if prefix else ():
        yield f"{prefix}{name}", _ArraySpec("int64", (name,), (length,), (COUNT_CHUNK,), ("bytes", "zstd"))


def _check_group(node: Mapping[str, Any], path: str) -> None:
    inline = node.get("consolidated_metadata")
    if node.get("node_type") != "group" or (inline is not None and check_table(inline, path).get("metadata")):
        raise MalformedError(path, "a group")
    check_table(node.get("attributes", {}), f"{path}.attributes")


def _check_array(node: Mapping[str, Any], meant: _ArraySpec, path: str) -> None:
    facts = {
        "node_type": "array",
        "data_type": meant.data_type,
        "shape": list(meant.shape),
        "dimension_names": list(meant.dims),
    }
    for name, value in facts.items():
        if node.get(name) != value:
            raise MalformedError(f"{path}.{name}", f"{value!r}")
    if _get_configuration(node.get("chunk_grid"), "regular", path).get("chunk_shape") != list(meant.chunks):
        raise MalformedError(f"{path}.chunk_grid", f"regular, with chunks of {list(meant.chunks)}")
    if _get_configuration(node.get("chunk_key_encoding"), "default", path).get("separator", "/") not in (".", "/"):
        raise MalformedError(f"{path}.chunk_key_encoding", "the default one")
    if node.get("storage_transformers"):
        raise MalformedError(f"{path}.storage_transformers", "empty")
    _check_fill(node.get("fill_value"), meant.data_type, path)
    _check_codecs(node.get("codecs"), meant.codecs, path)
    if meant.inner is not None:
        _check_shards(node["codecs"][0], meant.inner, path)
    if set(check_table(node.get("attributes", {}), f"{path}.attributes")) & set(_DECODING):
        raise MalformedError(f"{path}.attributes", "free of attributes that change values on decoding")


def _get_configuration(value: object, name: str, path: str) -> dict[str, Any]:
    table = check_table(value, path)
    if table.get("name") != name:
        raise MalformedError(path, f"of the kind {name!r}")
    return check_table(table.get("configuration", {}), path)


def _check_fill(value: object, data_type: str, path: str) -> None:
    number = value in ("NaN", 0.0)
    fine = {"string": value == "", "float64": number, "float32": number, "bool": value is False}
    if not fine.get(data_type, isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63):
        raise MalformedError(f"{path}.fill_value", "a fill value that ckrr uses")


def _check_codecs(value: object, names: tuple[str, ...] | list[str], path: str) -> None:
    found = [check_table(each, f"{path}.codecs") for each in check_list(value, f"{path}.codecs", 4)]
    if [each.get("name") for each in found] != list(names):
        raise MalformedError(f"{path}.codecs", ", ".join(names))
    for each in found:
        options = check_table(each.get("configuration", {}), f"{path}.codecs")
        if each["name"] == "bytes" and options.get("endian", "little") != "little":
            raise MalformedError(f"{path}.codecs", "little-endian")
        if each["name"] == "zstd" and not (
            isinstance(options.get("level", 0), int) and isinstance(options.get("checksum", False), bool)
        ):
            raise MalformedError(f"{path}.codecs", "zstd with a level and a flag")


def _check_shards(codec: Mapping[str, Any], inner: tuple[int, ...], path: str) -> None:
    options = check_table(codec.get("configuration", {}), f"{path}.codecs")
    _check_codecs(options.get("codecs"), _CODECS, path)
    _check_codecs(options.get("index_codecs"), ("bytes", "crc32c"), path)
    if options.get("chunk_shape") != list(inner) or options.get("index_location", "end") not in ("start", "end"):
        raise MalformedError(f"{path}.codecs", f"shards with chunks of {list(inner)}")
