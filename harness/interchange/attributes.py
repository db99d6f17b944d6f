"""Make the attributes of exported variables, which say the same for stores of all versions.

They are those of `harness.core.schema` and `harness.store.layout`, not those in the store, which may come from a
stranger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from harness.core.schema.axes import CODES
from harness.core.schema.cube import CUBE
from harness.store.layout import LABELS, make_flag_meanings

_CUBE = {one.name: one for one in CUBE}


def cast_flags(attributes: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """Return attributes in which `flag_values` have the type of their variable, as the CF conventions require."""
    flags = {key: np.array(value, dtype) for key, value in attributes.items() if key == "flag_values"}
    return {**attributes, **flags}


def make_label_attributes(name: str) -> dict[str, str]:
    """Return name in plots, units (none for text) and description of a coordinate."""
    title, units, description = LABELS[name]
    return {"long_name": title, **({"units": units} if units else {}), "description": description}


def set_attributes(cube: xr.Dataset) -> xr.Dataset:
    """Return a cube with the attributes of its variables and coordinates, and no others."""
    found = cube.drop_encoding().drop_attrs()
    for name, one in found.variables.items():
        if name in _CUBE:
            one.attrs = cast_flags(_CUBE[str(name)].attributes, one.dtype)
        else:
            one.attrs = make_label_attributes(str(name))
        if name in CODES:
            words = make_flag_meanings(found[CODES[str(name)]].to_numpy())
            one.attrs |= {"flag_values": one.to_numpy(), "flag_meanings": words}
    return found
