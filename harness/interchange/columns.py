"""Define the columns of tidy tables, and turn axes and variables of a study into them.

Text is held as indices into the words of its column. A variable with quantiles over test points is a column for each of
them: `width_q05`, `width_q50` and `width_q95`, with the standard errors `width_q05_se` and so on; a histogram is a
column for each bin: `pit_bin0` to `pit_bin9`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.schema.axes import PIT_BINS, QUANTILES, THETA_USES_LAM, USED_AXES
from harness.core.schema.cube import CUBE_DIMS, CubeVariable
from harness.core.schema.measures import Variable
from harness.core.types import Values


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    dtype: Any
    """Type of its values; for text, these are indices into `words`."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Name in plots, units and description: `long_name`, `units`, `description`."""
    words: tuple[str, ...] = ()
    """All texts that a column of text may have."""


@dataclass(frozen=True, eq=False)
class AxisColumn:
    """A column that depends on one axis of the grid."""

    column: Column
    axis: str
    values: Values


def list_axis_columns(cube: xr.Dataset) -> list[AxisColumn]:
    """Return the columns of the cube's axes, each followed by what is known of its values (`theta_value` and so on)."""
    more = {"procedure": tuple(USED_AXES), "theta": ("theta_value", THETA_USES_LAM)}
    names = (name for axis in CUBE_DIMS for name in (axis, *more.get(axis, ())) if name in cube.coords)
    return [_make_axis_column(cube[name]) for name in names]


def _make_axis_column(labels: xr.DataArray) -> AxisColumn:
    values, name, axis = labels.to_numpy(), str(labels.name), str(labels.dims[0])
    about = _get_texts(labels.attrs)
    if values.dtype.kind in "biuf":
        return AxisColumn(Column(name, values.dtype, about), axis, values)
    index = np.arange(len(values), dtype=np.int32)
    return AxisColumn(Column(name, index.dtype, about, tuple(map(str, values))), axis, index)


def list_columns(variable: Variable | CubeVariable, dims: Sequence[str]) -> list[Column]:
    """Return the columns of a variable: one, or one for each quantile or bin."""
    one = Column(variable.name, np.dtype(variable.dtype), _get_texts(variable.attributes))
    if variable.flags:
        return [replace(one, dtype=np.dtype("int32"), words=tuple(variable.flags))]
    if "pit_bin" in dims:
        return [replace(one, name=f"{one.name}_bin{i}") for i in range(PIT_BINS)]
    return [_make_quantile_column(one, q) for q in QUANTILES] if "quantile" in dims else [one]


def _make_quantile_column(one: Column, q: float) -> Column:
    base = one.name.removesuffix("_se")
    title = {"long_name": f"{one.attributes.get('long_name', one.name)} ({100 * q:g} % quantile over test points)"}
    return replace(
        one,
        name=f"{base}_q{100 * q:02.0f}{one.name.removeprefix(base)}",
        attributes={**one.attributes, **title},
    )


def split_values(url: str, variable: Variable | CubeVariable, dims: Sequence[str], values: Values) -> list[Values]:
    """Return the values of each column of a variable, over the other dimensions."""
    if variable.flags:
        return [_find_words(url, variable.name, variable.flags, values)]
    return list(np.moveaxis(values, -1, 0)) if {"quantile", "pit_bin"} & set(dims) else [values]


def _find_words(url: str, name: str, flags: Mapping[str, int], codes: Values) -> Values:
    """Return the index of each code's word."""
    places = np.full(256, -1, dtype=np.int32)
    places[list(flags.values())] = np.arange(len(flags))
    found: Values = places[codes]
    if (found < 0).any():
        known = ", ".join(f"{code} {word}" for word, code in flags.items())
        raise UserError(
            f"{url}: {name} has the code {codes[found < 0][0]}, which isn't one of {known}: "
            f"`ckrr status {url} --verify` finds the damage, and `ckrr run` repairs it"
        )
    return found


def _get_texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes that describe a column, where there are any."""
    names = ("long_name", "units", "description")
    return {name: str(attributes[name]) for name in names if attributes.get(name)}
