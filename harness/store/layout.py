"""Compute the layout of a store: all keys and bytes of an empty store, from its manifest. Writes nothing.

A store is created or grown by writing all keys of this template, the root last. The root contains the metadata of all
arrays (consolidated), so a reader sees the old store or the new one, never half of each. Coordinates only get longer,
and the length of their chunks is fixed, so that the old metadata also read the new chunks correctly.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.core.buffer import Buffer
from zarr.storage import MemoryStore

from harness.core.families import MODEL_AXES
from harness.core.labels import format_theta
from harness.core.schema.axes import (
    BESIDE_LABELS,
    CODES,
    OF_THETA,
    OF_Y,
    QUANTILES,
    REPLICATION_AXES,
    THETA_USES_LAM,
    USED_AXES,
    get_other_lengths,
)
from harness.core.schema.cube import CUBE_DIMS, list_cube_variables
from harness.core.schema.measures import Variable, list_variables
from harness.core.types import Grid
from harness.store.manifest import Group, Manifest, to_attributes

COORDINATE_CHUNK = 256
"""Length of a coordinate's chunk: longer than any axis, so that a coordinate always has one chunk."""
COUNT_CHUNK = 1 << 16
"""Length of a chunk of `path` and `draw`, which may have any number of chunks."""
_MOST_COUNTED = 2 * 10**7
"""Most values of `path`, or of `draw`, over all groups together; without these coordinates above.

They would take gigabytes, also of somebody who only checks what a stranger's manifest claims.
"""
_KEYS: Any = {"name": "default", "separator": "."}
"""Encoding of chunk keys: all chunks of an array in one folder. With slashes, each would be in eight nested folders."""
WRITE_EMPTY_CHUNKS: Any = {"write_empty_chunks": True}
"""Configuration of every array that is written: otherwise Zarr deletes a chunk that equals the fill value."""


def get_group_name(n: int) -> str:
    """Return the path of the group with the replications at one n."""
    return f"replications/n={n}"


def make_template(manifest: Manifest) -> dict[str, bytes]:
    """Return all keys of an empty store with their bytes, the root last."""
    held: dict[str, Buffer] = {}
    store = MemoryStore(held)
    root = zarr.create_group(store, attributes=to_attributes(manifest))
    grid = manifest.extent.grid
    _add_coordinates(root, grid)
    _add_label(root, "n", np.array(grid.n, dtype="int64"))
    for name, axis in USED_AXES.items():
        uses = [axis in manifest.axes.get(each, MODEL_AXES) for each in grid.procedure]
        _add_label(root, name, np.array(uses), "procedure")
    if manifest.has_found_lam:
        found = np.array([manifest.uses_lam(format_theta(theta)) for theta in grid.theta])
        _add_label(root, THETA_USES_LAM, found, "theta")
    _add_cube(root, manifest)
    root.create_group("replications")
    lengths = manifest.extent.paths, manifest.extent.draws
    for n, group in manifest.groups.items():
        here = root.create_group(get_group_name(n), attributes={"n": n, "coordinates": " ".join(BESIDE_LABELS)})
        _add_coordinates(here, grid)
        for axis, length in zip(REPLICATION_AXES, lengths, strict=True):
            if len(manifest.groups) * length <= _MOST_COUNTED:
                _add_count(here, axis, length)
        _add_replications(here, manifest, group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr warns that consolidated metadata aren't in the specification yet
        zarr.consolidate_metadata(store)
    keys = sorted(held, key=lambda key: (key == "zarr.json", key))
    return {key: held[key].to_bytes() for key in keys}


LABELS = {
    "procedure": ("procedure", "", "the prediction procedure"),
    "gamma": ("noise variance γ", f"{OF_Y} squared", "variance of the noise"),
    "theta": ("θ", "", "theta of the kernel, exp(-theta |x-x'|^2) for the Gaussian one, as text"),
    "theta_value": ("θ", OF_THETA, "theta as a number, NaN where it is searched for"),
    "lam": ("ridge λ", "1", "ridge lambda"),
    "n": ("training sample size n", "1", "size of the train sample"),
    "alpha": ("allowed error rate α", "1", "allowed error rate"),
    "quantile": ("quantile over test points", "1", "quantile over the test points of a replication"),
    "path": ("path", "1", "number of the path: an independent realisation of the data-generating process"),
    "draw": ("draw", "1", "number of the training sample on its path"),
    "procedure_code": ("procedure", "1", "number of the procedure, for readers that know no strings"),
    "theta_code": ("θ", "1", "number of the theta label, for readers that know no strings"),
    "uses_theta": ("whether θ is used", "1", "whether results depend on theta; otherwise they stand at each of them"),
    "uses_lam": ("whether λ is used", "1", "whether results depend on lambda; otherwise they stand at each of them"),
    THETA_USES_LAM: ("whether λ is used", "1", "whether results depend on lambda; False where the search finds it"),
}
"""Name in plots, units (none for text) and description of each coordinate."""


def _add_coordinates(group: zarr.Group, grid: Grid) -> None:
    text = np.array([format_theta(each) for each in grid.theta], dtype=object)
    number = np.array([np.nan if isinstance(each, str) else each for each in grid.theta])
    _add_label(group, "procedure", np.array(grid.procedure, dtype=object))
    _add_label(group, "gamma", np.array(grid.gamma))
    _add_label(group, "theta", text)
    _add_label(group, "theta_value", number, "theta")
    _add_label(group, "lam", np.array(grid.lam))
    _add_label(group, "alpha", np.array(grid.alpha))
    _add_label(group, "quantile", np.array(QUANTILES))
    for name, axis in CODES.items():
        labels = list(map(format_theta, grid.theta)) if axis == "theta" else grid.procedure
        flags = {"flag_values": list(range(len(labels))), "flag_meanings": make_flag_meanings(labels)}
        _add_label(group, name, np.arange(len(labels), dtype="int32"), axis, flags)


def make_flag_meanings(labels: Iterable[str]) -> str:
    """Return labels as different words, separated by blanks: the attribute `flag_meanings`.

    Examples
    --------
    >>> make_flag_meanings(["RRCM", "my own", "my_own"])
    'RRCM my_own my_own_2'
    """
    found: dict[str, None] = {}
    for i, label in enumerate(labels):
        word = "_".join(label.split()) or "_"
        found[word if word not in found else f"{word}_{i}"] = None
    return " ".join(found)


def _add_label(
    group: zarr.Group,
    name: str,
    values: np.ndarray[Any, Any],
    dim: str | None = None,
    flags: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Create a coordinate along the axis `dim`, which has its name by default, and write its values."""
    if len(values) > COORDINATE_CHUNK:
        raise ValueError(f"{name} must have at most {COORDINATE_CHUNK} values, got {len(values)}")
    _create_label(group, name, len(values), values.dtype, dim or name, COORDINATE_CHUNK, flags)[:] = values


def _add_count(group: zarr.Group, name: str, length: int) -> None:
    """Create a coordinate that counts from 0, and write it chunk by chunk, because it may be very long."""
    array = _create_label(group, name, length, np.dtype("int64"), name, COUNT_CHUNK)
    for start in range(0, length, COUNT_CHUNK):
        stop = min(start + COUNT_CHUNK, length)
        array[start:stop] = np.arange(start, stop)


def _create_label(
    group: zarr.Group,
    name: str,
    length: int,
    dtype: np.dtype[Any],
    dim: str,
    chunk: int,
    flags: Mapping[str, Any] = MappingProxyType({}),
) -> zarr.Array[Any]:
    title, units, what = LABELS[name]
    is_text = dtype.kind == "O"
    # xarray decodes labels with a missing value to objects; otherwise to StringDType, with which idxmin fails
    extra = {"missing_value": ""} if is_text else {"units": units}
    return group.create_array(
        name,
        shape=(length,),
        chunks=(chunk,),
        dtype=str if is_text else dtype,
        dimension_names=(dim,),
        attributes={"long_name": title, **extra, "description": what, **flags},
        config=WRITE_EMPTY_CHUNKS,
    )


def _add_cube(root: zarr.Group, manifest: Manifest) -> None:
    """Create the empty arrays of the cube. A chunk covers the original extent at one n."""
    now, chunks = get_cube_chunks(manifest)
    for summary in list_cube_variables(manifest.keep):
        dims = (*CUBE_DIMS, "quantile") if summary.quantile else CUBE_DIMS
        integer = np.dtype(summary.dtype).kind in "iu"
        root.create_array(
            summary.name,
            shape=[now[dim] for dim in dims],
            chunks=tuple(chunks[dim] for dim in dims),
            dtype=summary.dtype,
            fill_value=0 if integer else np.nan,
            compressors=make_compressors(),
            chunk_key_encoding=_KEYS,
            dimension_names=dims,
            attributes=summary.attributes,
        )


def get_cube_chunks(manifest: Manifest) -> tuple[dict[str, int], dict[str, int]]:
    """Return the current lengths of the cube's axes, and those of a chunk: the original lengths, and 1 along n."""
    return _get_axis_lengths(manifest.extent.grid), {**_get_axis_lengths(manifest.extents[0].grid), "n": 1}


def _get_axis_lengths(grid: Grid) -> dict[str, int]:
    return {dim: len(getattr(grid, dim)) for dim in CUBE_DIMS} | {"quantile": len(QUANTILES)}


def make_compressors() -> list[Any]:
    """Return the codecs that compress a chunk and protect it by a checksum."""
    return [ZstdCodec(level=1), Crc32cCodec()]


def _add_replications(group: zarr.Group, manifest: Manifest, cut: Group) -> None:
    for variable in list_variables(manifest.keep):
        chunks = get_chunk_shape(variable, cut, manifest)
        dims = ("path", "draw", *variable.dims)
        group.create_array(
            variable.name,
            shape=get_shape(variable, manifest),
            chunks=get_inner_chunks(dims, chunks) if cut.sharded else chunks,
            shards=chunks if cut.sharded else None,
            dtype=variable.dtype,
            fill_value=variable.fill,
            compressors=make_compressors(),
            chunk_key_encoding=_KEYS,
            dimension_names=dims,
            attributes=variable.attributes,
        )


def get_inner_chunks(dims: tuple[str, ...], shard: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the chunks within a shard: one procedure, θ and λ each."""
    single = ("procedure", "theta", "lam")
    return tuple(1 if dim in single else size for dim, size in zip(dims, shard, strict=True))


def get_shape(variable: Variable, manifest: Manifest) -> list[int]:
    """Return the current shape of a variable: paths, draws, then its other axes."""
    lengths = _get_axis_lengths(manifest.extent.grid) | get_other_lengths(manifest.test_points, manifest.dimension)
    return [manifest.extent.paths, manifest.extent.draws, *(lengths[dim] for dim in variable.dims)]


def get_chunk_shape(variable: Variable, cut: Group, manifest: Manifest) -> tuple[int, ...]:
    """Return the shape of a chunk (or shard) of a variable: a block, and the original length of inner axes."""
    lengths: Mapping[str, int] = {**cut.chunks, **get_other_lengths(manifest.test_points, manifest.dimension)}
    return (*cut.block, *(lengths[dim] for dim in variable.dims))
