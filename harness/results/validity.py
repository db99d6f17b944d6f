"""Decide which cells of a store keep their nominal coverage, with verdicts that hold for the whole grid at once.

`harness.statistics.verdicts` defines the verdicts. In a study of the **fixed** design, whose number of paths was given
in advance, intervals are simultaneous: each of G cells has the level 1 − (1 − 0.95)/G (Bonferroni), so that with
probability at least 0.95 no verdict in the whole grid is wrong. G is the number of cells of the whole grid, even if
only some of them are selected, but for cells that are the whole line by arithmetic. That holds at one look. In a study
of the **anytime** design, which isn't complete yet, grew in paths or runs until it is decided, it holds however often
somebody looks (`harness.statistics.sequential`).

The target L is the exact finite-sample level where a procedure has one (conformal procedures), and 1 − α otherwise. An
exact level assumes exchangeable points. With test points on a grid or from a shifted distribution, or with θ searched
for on the training sample, a verdict measures the cost of breaking exchangeability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.types import Values
from harness.cube.anytime import ANYTIME, FIXED, find_generations, make_cells
from harness.cube.judging import Judgement, get_level, judge_cells
from harness.cube.levels import count_judged_cells, tabulate_levels
from harness.parsing.selections import Selection
from harness.results.estimates import PARTS, find_measure, make_dataset
from harness.results.measures import MEASURES, Measure
from harness.results.replications import ReplicationReader, Slab, open_reader
from harness.statistics.intervals import Estimate
from harness.statistics.verdicts import BoundedShare, compute_tolerance, to_words
from harness.store.manifest import Manifest

_PARTS = (*PARTS, "code", "decided_at", "contradicted", "anytime", "added_later")


def verdicts(
    url: str,
    where: Selection | None = None,
    tolerance: float | None = None,
    level: float | None = None,
    measure: str | None = None,
    design: str | None = None,
) -> xr.Dataset:
    """Compute the verdict of every cell of a store, or of the selected ones.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    where : mapping or str, optional
        Values to select along some axes.
    tolerance : float, optional
        The tolerance τ. Default: 0.02, or α/5 if that is less.
    level : float, optional
        Probability that no verdict in the whole grid is wrong. Default: as `until` of the study says, or 0.95.
    measure : str, optional
        The measure that is compared with the level. Default: coverage, the expected one if the store has it.
    design : {"fixed", "anytime"}, optional
        Whether verdicts hold at one look, or however often somebody looks. Default: "fixed" at every n that is
        complete, if the study never grew in paths and its number of paths was given; "anytime" otherwise.

    Returns
    -------
    xarray.Dataset
        `verdict` ("" where there is no result), `value`, `se`, the simultaneous `low` and `high`, `target`,
        `tolerance`, `promised` (whether the target is an exact level), `exchangeable` (whether its assumptions hold,
        too), `distinct` (False where a cell repeats the result of another one, because its procedure doesn't use θ
        or λ), `decided_at` (the number of paths at which a cell was decided; 0 where it isn't), `contradicted` (whether
        later paths contradict the verdict), `anytime` (whether the cell is judged so) and `added_later` (whether it was
        added to a store that had results), over the axes of the cube.

    Raises
    ------
    UserError
        If the measure isn't a share, or the design is unknown.
    """
    if design not in (None, FIXED, ANYTIME):
        raise UserError(f"design must be {FIXED} or {ANYTIME}, got {design!r}")
    chosen = open_reader(url, where)
    manifest = chosen.manifest
    measure, level = measure or chosen.judged, level or get_level(manifest)
    found = _judge(chosen, find_measure(measure), level, tolerance, design)
    found["target"], found["promised"] = _compute_targets(found, manifest)
    found["tolerance"] = xr.DataArray(
        compute_tolerance(found["alpha"].to_numpy()) if tolerance is None else np.full(found.sizes["alpha"], tolerance),
        dims="alpha",
    )
    free = xr.DataArray(
        [[manifest.is_independent(text, name) for text in found["theta"].values] for name in found["procedure"].values],
        dims=("procedure", "theta"),
    )
    found["exchangeable"] = found["promised"] & free & (manifest.test == "iid")
    found["distinct"] = chosen.find_distinct()
    found["verdict"] = found["code"].copy(data=to_words(found["code"].to_numpy().astype(np.uint8)))
    designs = [name for name, here in ((FIXED, ~found["anytime"]), (ANYTIME, found["anytime"])) if bool(here.any())]
    found.attrs = {
        "description": f"verdicts on {MEASURES[measure].what}, at {level:g} for the whole grid",
        "level": level,
        "cells": count_judged_cells(manifest),
        "design": " and ".join(designs),
    }
    return found.drop_vars("code")


@dataclass(frozen=True, eq=False)
class _JudgedEstimate(Estimate):
    """Estimates of a slab with their verdicts."""

    code: Values
    decided_at: Values
    contradicted: Values
    anytime: Values
    added_later: Values


def _name_verdicts(one: Judgement, anytime: Values, added: Values) -> dict[str, Values]:
    return {
        "code": one.codes,
        "decided_at": one.paths,
        "contradicted": one.is_contradicted,
        "anytime": anytime,
        "added_later": added,
    }


def _judge(
    chosen: ReplicationReader, measure: Measure, level: float, tolerance: float | None, design: str | None
) -> xr.Dataset:
    """Estimate a share in every cell, with its verdict."""
    if measure.reduction not in ("share", "probability"):
        raise UserError(f"{measure.name} isn't a share: verdicts are on coverage, coverage_expected or coverage_f")
    manifest, is_counted = chosen.manifest, measure.reduction == "share"

    def of(slab: Slab) -> _JudgedEstimate:
        values, ok = measure.compute(chosen, slab)
        procedures, thetas = (slice(each.start, each.stop) for each in (slab.procedures, slab.thetas))
        status = chosen.read(slab, "status")
        cells = make_cells(
            manifest, slab.n, values, status, ok[..., 0], is_counted, procedures, thetas, level, tolerance
        )
        share = BoundedShare.from_replications(values, cells.ok, cells.failed, cells.points, is_counted)
        one = judge_cells(manifest, cells, share, level, design)
        added = find_generations(manifest, slab.n)[procedures, :, thetas] > 0
        anytime = np.full(one.codes.shape, one.design == ANYTIME)
        return _JudgedEstimate(**vars(one.estimate), **_name_verdicts(one, anytime, added))

    return make_dataset(chosen, measure.what, of, _PARTS)


def _compute_targets(found: xr.Dataset, manifest: Manifest) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the target level of each procedure, n, θ and α, and whether it is an exact one."""
    grid = manifest.extent.grid
    levels = xr.DataArray(
        np.array([tabulate_levels(manifest, n) for n in grid.n]),
        dims=("n", "procedure", "theta", "alpha"),
        coords={axis: np.array(list_axis_values(grid, axis), dtype=object) for axis in ("procedure", "theta")}
        | {"n": list(grid.n), "alpha": list(grid.alpha)},
    ).sel({axis: found[axis] for axis in ("n", "procedure", "theta", "alpha")})
    promised = levels.notnull()
    return levels.where(promised, 1 - found["alpha"]), promised
