"""Make the attributes of exported variables: descriptions, and the meaning of codes as the CF conventions have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.core.schema import OF_Y, STATUS, VERDICT_FLAGS, Variable
from harness.core.text import escape
from harness.core.types import Status
from harness.store.arrays import open_array
from harness.store.layout import get_group_name

STATUS_FLAGS = {"nan" if one is Status.NOT_A_NUMBER else one.name.lower(): int(one) for one in Status}
"""Codes of the status of a replication, by their words."""
FLAGS: Mapping[str, Mapping[str, int]] = {"verdict": VERDICT_FLAGS, STATUS.name: STATUS_FLAGS}
"""Codes of each variable that has words for its values."""

_TEXTS = ("long_name", "units", "description")


def make_attributes(name: str, dtype: Any, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a variable for another program, given those in the store.

    A store may come from a stranger: only the attributes that ckrr writes are kept, with control characters escaped.
    `flag_values` get the type of the variable, as the CF conventions require.
    """
    found: dict[str, Any] = {key: escape(stored[key]) for key in _TEXTS if isinstance(stored.get(key), str)}
    if name in FLAGS:
        values = np.array(list(FLAGS[name].values()), dtype=dtype)
        found |= {"flag_values": values, "flag_meanings": " ".join(FLAGS[name])}
    return found


def get_stored_attributes(url: str, generation: int, n: int, variable: Variable) -> dict[str, Any]:
    """Return the attributes of a variable of the replications; older stores have no more than its description."""
    stored = open_array(url, f"{get_group_name(n)}/{variable.name}", generation).attrs.asdict()
    units = OF_Y if variable.name == "point_width" else getattr(variable, "units", "1")
    default = {"long_name": variable.description, "units": units, "description": variable.description}
    return make_attributes(variable.name, variable.dtype, {**default, **stored})
