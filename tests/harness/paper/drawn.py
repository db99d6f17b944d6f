"""Stores that the paper's figures are drawn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.compute.block import BlockBuilder
from harness.core.types import Status
from harness.cube.refresh import refresh
from harness.execution import lifecycle, prepare
from harness.scenario.load import load
from harness.store import arrays
from harness.worker.study import build_study

LINE = [25, 50, 100, 200, 400, 600, 800, 1000, 1200, 1400, 1600]


SETTINGS = {"gp1": ['grid.theta=["ml-cobyla"]', "replications.draws=4"], "heaviside": ['grid.theta=[10,"ml-cobyla"]']}


Raw = dict[int, dict[str, Any]]
"""What was written at each n."""


def fill(url: str, study: str, sizes: Sequence[int], settings: Sequence[str]) -> Raw:
    """Numbers of chance: some replications failed, GPR-f at n = 25 all; at small n some regions are unbounded."""
    loaded = load(f"paper/{study}", [*settings, f"grid.n={json.dumps(list(sizes))}"])
    prepared = prepare.prepare(loaded, url, workers=2, speed=1e13)
    record = lifecycle.begin_run(prepared)
    made = build_study(url, record)
    rng, raw = np.random.default_rng(3), {n: {} for n in sizes}
    for unit in prepared.plan.units:
        block = BlockBuilder(made, unit).build()
        for values in block.values.values():
            if values.dtype.kind == "f":
                values[:] = rng.uniform(0.7, 1.0, values.shape)
        block.values["status"][:] = np.where(rng.random(block.values["status"].shape) < 0.1, Status.ERROR, Status.OK)
        if unit.n == 25:
            block.values["status"][:, :, 0] = Status.ERROR
        if "point_width" in block.values and unit.n <= 50:
            block.values["point_width"][..., 0, : 10 * unit.n] = np.inf
        arrays.write_unit(url, record, block)
        for name in ("coverage", "status", "point_width"):
            if name in block.values:
                raw[unit.n].setdefault(name, []).append(block.values[name])
    refresh(url, record, list(sizes))
    return {
        n: {name: np.concatenate([each.reshape(-1, *each.shape[2:]) for each in some]) for name, some in one.items()}
        for n, one in raw.items()
    }
