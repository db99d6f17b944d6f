"""Stores that hold the printed numbers of the paper's tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.backends.base import open_backend
from harness.compute.block import BlockBuilder
from harness.core.types import Status
from harness.cube.refresh import refresh
from harness.execution import lifecycle, prepare
from harness.paper.printed import ALPHA, read_rows, select_printed
from harness.paper.studies import group_by_study, load_published
from harness.store import arrays, artifacts
from harness.worker.study import build_study


def fill(folder: Path, name: str, quick: bool = False) -> None:
    """A complete store whose coverages are as printed, and whose θ̂ are as recorded."""
    needs = group_by_study(select_printed((), quick))[name]
    loaded = load_published(name, needs)
    url = str(folder / f"paper-{name}.zarr")
    prepared = prepare.prepare(loaded, url, workers=2, speed=1e10)
    record = lifecycle.begin_run(prepared)
    for one, _ in prepared.plan.preparations:
        artifacts.write(open_backend(url), one.name, np.zeros(17602), 60.0)
    study = build_study(url, record)
    grid = record.extent.grid
    for unit in prepared.plan.units:
        block = BlockBuilder(study, unit).build()
        for variable, values in block.values.items():
            values[:] = Status.OK if variable == "status" else 0.0
        for one in needs:
            cell = (
                grid.procedure.index(one.procedure),
                grid.gamma.index(one.gamma),
                [str(each).removesuffix(".0") for each in grid.theta].index(one.theta),
                grid.lam.index(one.lam),
            )
            for a, alpha in enumerate(ALPHA):
                if one.alpha in (None, alpha):
                    # A MAD is reached at the smallest α alone: then it is the printed one.
                    error = alpha + float(one.text) / 100 * (a == 0) if one.alpha is None else float(one.text) / 100
                    block.values["coverage"][(slice(None), slice(None), *cell, a)] = 1 - error
        for row in read_rows("theta_ml.csv"):
            replication = int(row["replication"])
            here = (0, replication - unit.draws.start) if name == "gp2" else (replication - unit.paths.start, 0)
            inside = replication in (unit.draws if name == "gp2" else unit.paths)
            if row["study"] == name and inside and "ml-cobyla" in grid.theta:
                where = grid.gamma.index(float(row["gamma"])), len(grid.theta) - 1, grid.lam.index(float(row["lam"]))
                block.values["theta_hat"][(*here, *where)] = float(row["theta"])
        arrays.write_unit(url, record, block)
    refresh(url, record, grid.n)
