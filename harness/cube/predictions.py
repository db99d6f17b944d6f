"""Predict what the verdicts of a planned study can decide, from the numbers of paths, draws and test points alone."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np

from harness.core.extent import find_included
from harness.core.types import Array, Bools, Extent
from harness.cube.levels import count_judged_cells, get_judged_measure, tabulate_levels
from harness.statistics.sample_size import (
    Design,
    assume_correlation,
    compute_decided_distance,
    compute_expected_error,
    compute_required_paths,
)
from harness.statistics.verdicts import compute_tolerance
from harness.store.manifest import Manifest


def predict_decisions(manifest: Manifest, asked: Extent) -> dict[str, Any]:
    """Return what the paths that are asked for can decide, as plain values.

    Parameters
    ----------
    manifest : Manifest
        The store's manifest, already extended to what is asked for. All its cells are judged together.
    asked : Extent
        What the scenario asks for.

    Returns
    -------
    dict
        `alphas` has an entry for each α, with the worst of its cells: the expected standard error `se` at its target,
        the distances `above` and `below` the border that are decided (None if none is), the `tolerance`, and
        `paths_at_level`, with which cells that have their level are shown valid. `whole_line` lists cells with the
        exact level 1.
    """
    points = manifest.test_points if get_judged_measure(manifest) == "coverage" else inf
    design = Design(asked.paths, asked.draws, points, count_judged_cells(manifest))
    target, is_asked = _tabulate_targets(manifest, asked)
    correlation = assume_correlation(np.array(asked.grid.n))[:, None, None]
    return {
        "paths": asked.paths,
        "cells": design.cells,
        "level": design.level,
        "power": design.power,
        "correlation": round(float(correlation.max()), 4),
        "alphas": [
            {"alpha": alpha, **_predict(target[..., place], is_asked, alpha, correlation, design)}
            for place, alpha in enumerate(asked.grid.alpha)
        ],
        "whole_line": _list_whole_lines(target, is_asked, asked),
    }


def _tabulate_targets(manifest: Manifest, asked: Extent) -> tuple[Array, Bools]:
    """Return the targets over n, procedure, θ and α, and a mask over n, procedure and θ of what is asked for."""
    levels = np.array([tabulate_levels(replace(manifest, extents=(asked,)), n) for n in asked.grid.n])
    is_asked = np.array([find_included(asked, n).any(axis=(1, 3)) for n in asked.grid.n])
    return np.where(np.isnan(levels), 1 - np.array(asked.grid.alpha), levels), is_asked


def _predict(target: Array, is_asked: Bools, alpha: float, correlation: Array, design: Design) -> dict[str, Any]:
    """Return the predictions for the worst of the cells at one α."""
    is_open = is_asked & (target < 1)
    tolerance = float(compute_tolerance(np.array(alpha)))
    if design.paths < 2 or not is_open.any():
        return {"se": None, "above": None, "below": None, "tolerance": tolerance, "paths_at_level": None}
    target, correlation = target[is_open], np.broadcast_to(correlation, target.shape)[is_open]
    above, below = compute_decided_distance(target - tolerance, correlation, design)
    paths = compute_required_paths(target, target - tolerance, correlation, design)
    return {
        "se": _round(compute_expected_error(target, correlation, design)),
        "above": _round(above),
        "below": _round(below),
        "tolerance": tolerance,
        "paths_at_level": int(paths.max()),
    }


def _round(values: Array) -> float | None:
    """Return the largest value with three digits; None if it isn't finite."""
    largest = float(values.max())
    return float(f"{largest:.3g}") if isfinite(largest) else None


def _list_whole_lines(target: Array, is_asked: Bools, asked: Extent) -> list[dict[str, Any]]:
    """List α, n and procedures whose regions are the whole line, because their exact level is 1."""
    found = []
    for place, alpha in enumerate(asked.grid.alpha):
        for n, is_whole in zip(asked.grid.n, ((target[..., place] == 1) & is_asked).any(axis=2), strict=True):
            if is_whole.any():
                names = [name for name, is_it in zip(asked.grid.procedure, is_whole, strict=True) if is_it]
                found.append({"alpha": alpha, "n": n, "procedures": names})
    return found
