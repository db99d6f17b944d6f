"""Load the published scenarios, restricted to what the printed numbers and figures need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from harness.backends.address import join
from harness.paper.printed import SEARCH, PrintedNumber
from harness.scenario.load import Loaded, load


def group_by_study(asked: Sequence[PrintedNumber]) -> dict[str, list[PrintedNumber]]:
    """Group printed numbers by study."""
    return {name: [one for one in asked if one.study == name] for name in dict.fromkeys(one.study for one in asked)}


def load_published(name: str, asked: Sequence[PrintedNumber]) -> Loaded:
    """Load a published scenario at the n and θ of some printed numbers."""
    return load_subset(name, {one.n for one in asked}, {one.theta for one in asked})


def load_subset(name: str, sizes: Iterable[int], thetas: Iterable[str]) -> Loaded:
    """Load a published scenario at some n and θ only."""
    values = sorted(map(_parse_theta, thetas), key=lambda one: (isinstance(one, str), one))
    return load(f"paper/{name}", [f"grid.n={json.dumps(sorted(sizes))}", f"grid.theta={json.dumps(values)}"])


def _parse_theta(text: str) -> int | str:
    return text if text == SEARCH else int(text)


def get_store_url(folder: str, name: str) -> str:
    """Return the store of a study: the default one of the whole scenario, which can be completed later."""
    return join(folder, f"paper-{name}.zarr")
