"""Draw the samples of the figures, and compute regions of procedures on them."""

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
"""Functions that draw a one-dimensional sample for a γ, by name."""
SURFACES = {"gp": profiles.draw_gp_surface, "f2": profiles.draw_f2_surface}
"""Functions that draw points over a square and their values for a γ, by name."""
_CENTRED = "GPR-f"
"""Procedure whose intervals are centred at the ridge prediction."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Hulls of regions at every test point."""

    x: Array
    """Test points, in ascending order."""
    y: Array
    """Noisy values at x."""
    X: Array
    Y: Array
    """Training values at X."""
    prediction: Array
    """Ridge prediction at x."""
    ends: Mapping[str, tuple[Array, Array]]
    """Lower and upper ends at x, by procedure."""
    pieces: int
    """Number of regions with several pieces, over all procedures."""


def compute_bands(data: Sample, procedures: Sequence[str], theta: float, lam: float, alpha: float) -> Bands:
    """Compute the regions of several procedures on a sample, from one fit."""
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
    """Return a generator for procedures that draw no random numbers."""
    return np.random.default_rng(0)
