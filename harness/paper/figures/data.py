"""Wiring: the samples of the figures, and the regions of some procedures on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.protocols import Sample, Target
from harness.core.types import Array
from harness.scenario.families import find_family
from scenarios.published import profiles


def _draw_heaviside(gamma: float) -> Sample:
    return profiles.draw_function_profile("heaviside", gamma)


SAMPLES: dict[str, Callable[[float], Sample]] = {
    "gp": profiles.draw_gp_profile,
    "far": profiles.draw_far_profile,
    "heaviside": _draw_heaviside,
}
"""Single samples in one dimension, by name, for a γ."""
SURFACES = {"gp": profiles.draw_gp_surface, "f2": profiles.draw_f2_surface}
"""Points over a square and values there, by name, for a γ."""
_CENTRED = "GPR-f"
"""Its intervals have the ridge prediction in their middle."""


@dataclass(frozen=True, eq=False)
class Bands:
    """The hulls of regions at every test point, each procedure's as (lower, upper), over x in order."""

    x: Array
    y: Array
    """Values at x, with their noise."""
    X: Array
    Y: Array
    """The train sample."""
    prediction: Array
    ends: Mapping[str, tuple[Array, Array]]
    pieces: int
    """How many of all regions are in several pieces."""


def compute_bands(data: Sample, procedures: Sequence[str], theta: float, lam: float, alpha: float) -> Bands:
    """From one fit."""
    krr, names = find_family("krr"), list(dict.fromkeys([*procedures, _CENTRED]))
    factor = krr.inputs(data.X, data.X_test).factor(theta, lam)
    target = Target(data.y[:, None], data.y_test[:, None], None)
    (found,) = krr.score([factor], [target], names, [alpha], [_make_unused_stream])
    ends = {name: (found.lower[0, p, :, 0], found.upper[0, p, :, 0]) for p, name in enumerate(names)}
    prediction = (ends[_CENTRED][0] + ends[_CENTRED][1]) / 2
    pieces = int((found.count[0, : len(procedures)] > 1).sum())
    kept = {name: ends[name] for name in procedures}
    return Bands(data.X_test[:, 0], data.y_test, data.X[:, 0], data.y, prediction, kept, pieces)


def _make_unused_stream(name: str) -> np.random.Generator:
    """These procedures take nothing from chance."""
    return np.random.default_rng(0)
