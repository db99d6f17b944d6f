"""Name the axes and coordinates of a store. Imports nothing."""

from __future__ import annotations

QUANTILES = (0.05, 0.5, 0.95)
"""Quantiles of widths and lengths over the test points of a replication, by the method "inverted_cdf".

Interpolating methods are unsuitable, because infinite widths are common.
"""
PIT_BINS = 10
"""Number of bins of PIT histograms: bin i holds PITs from i/10 to (i + 1)/10."""
CODES = {"procedure_code": "procedure", "theta_code": "theta"}
"""Coordinates beside labels that are text: their numbers 0, 1, …, for readers that know no strings."""
COORDINATES = ("procedure", "gamma", "theta", "theta_value", "lam", "n", "alpha", "quantile", *CODES)
"""Coordinate arrays: labels along the axes."""
REPLICATION_AXES = ("path", "draw")
"""Axes that only replications have; their coordinates count from 0 and may be of any length."""
USED_AXES = {"uses_theta": "theta", "uses_lam": "lam"}
"""Coordinates along `procedure` of the cube, which say whether results depend on an axis."""
THETA_USES_LAM = "theta_uses_lam"
"""Coordinate along `theta` of the cube, which says whether results depend on λ; only where a search finds it."""
BESIDE_LABELS = ("theta_value", *CODES)
"""Coordinates that are not labels themselves: the attribute `coordinates` of a group names them for xarray."""
CELL = ("procedure", "gamma", "theta", "lam")
"""Axes of the status. α is not among them: another α costs nothing, so that no rule excludes one."""
RESULT = (*CELL, "alpha")
"""Axes of a measure within a replication."""
BINS = 36
"""Bins of x in which a store may keep coverage: 36 along one input variable, 6 × 6 over two."""


def get_other_lengths(test_points: int, dimension: int) -> dict[str, int]:
    """Return the lengths of the axes that replications have besides those of the cube."""
    own = {"point": test_points, "coordinate": dimension}
    return {"quantile": len(QUANTILES), "bin": BINS, "pit_bin": PIT_BINS, **own}


OF_Y, OF_THETA = "units of y", "per squared unit of x"
