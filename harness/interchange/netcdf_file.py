"""Write a study as a NetCDF-4 file: the cube at the root and, if asked for, a group of replications for each n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from harness.core.schema.axes import get_other_lengths
from harness.core.schema.measures import Variable, list_variables
from harness.core.types import INNER
from harness.interchange.attributes import cast_flags, make_label_attributes
from harness.interchange.safe_file import SafeFile
from harness.interchange.study import StoredStudy
from harness.interchange.windows import choose_window, count_paths, get_cell_shape, iter_windows, read_window
from harness.store.layout import get_group_name

_ENGINE: Any = "h5netcdf"
_COMPRESSION: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


def write_netcdf(study: StoredStudy, about: Mapping[str, str | int], path: Path, replications: bool) -> None:
    """Write the cube and, if asked for, the replications, window by window."""
    sizes = [n for n in study.axes["n"] if replications and count_paths(study, n)]
    labels = {get_group_name(n): _make_labels(study, n) for n in sizes}
    tree = xr.DataTree.from_dict({"/": study.cube.assign_attrs(about), **labels})
    encoding = {node.path: _make_encoding(node.to_dataset()) for node in tree.subtree}
    path.write_bytes(tree.to_netcdf(engine=_ENGINE, encoding=encoding, write_inherited_coords=True))
    if sizes:
        _write_replications(study, sizes, path)


def _make_encoding(data: xr.Dataset) -> dict[Any, dict[str, Any]]:
    """Compress variables. Coordinates and codes have no fill value, as the CF conventions require."""
    plain: dict[Any, dict[str, Any]] = {name: {"_FillValue": None} for name in data.variables}
    return plain | {
        name: {**_COMPRESSION, "_FillValue": np.nan} for name, one in data.data_vars.items() if one.dtype.kind == "f"
    }


def _make_labels(study: StoredStudy, n: int) -> xr.Dataset:
    """Return the coordinates of the replications at one n."""
    outer = {name for name, one in study.cube.coords.items() if not set(one.dims) <= {*INNER, "quantile"}}
    labels = study.cube.drop_vars([*study.cube.data_vars, *outer])
    lengths = {"path": count_paths(study, n), "draw": study.manifest.extent.draws}
    numbers = {name: (name, np.arange(size), make_label_attributes(name)) for name, size in lengths.items()}
    return labels.assign_coords(numbers).assign_attrs(n=n)


def _write_replications(study: StoredStudy, sizes: Sequence[int], path: Path) -> None:
    """Add the variables of replications to the groups of a file."""
    import h5netcdf

    with closing(SafeFile(path)) as safe:
        with h5netcdf.File(safe, "r+") as file:
            for n in sizes:
                _write_group(study, n, file[get_group_name(n)], safe)
        safe.check()


def _write_group(study: StoredStudy, n: int, group: Any, safe: SafeFile) -> None:
    variables = list_variables(study.manifest.keep)
    lengths = get_other_lengths(study.manifest.test_points, study.manifest.dimension)
    added = lengths.keys() - {"quantile"}  # which the root has
    for dim in {dim for one in variables for dim in one.dims if dim in added}:
        group.dimensions[dim] = lengths[dim]
    chunk = choose_window(study, n, variables)  # so that each chunk is written once
    made = {one.name: _create_variable(study, one, chunk, group) for one in variables}
    for window in iter_windows(study, n, variables):
        for one in variables:
            made[one.name][window.box] = read_window(study, window, one)
        safe.check()


def _create_variable(study: StoredStudy, one: Variable, chunk: tuple[int, int], group: Any) -> Any:
    """Create an empty variable, given the paths and draws of its chunks."""
    made = group.create_variable(
        one.name,
        ("path", "draw", *one.dims),
        one.dtype,
        fillvalue=one.fill,
        chunks=(*chunk, *get_cell_shape(study, one)),
        **_COMPRESSION,
    )
    if one.flags:
        del made.attrs["_FillValue"]  # the code of what wasn't run isn't a missing value
    more = [name for name, each in study.cube.coords.items() if name not in each.dims and {*each.dims} <= {*one.dims}]
    for key, value in {**cast_flags(one.attributes, one.dtype), "coordinates": " ".join(map(str, more))}.items():
        made.attrs[key] = value
    return made
