"""Estimate MAD, the paper's measure: the largest distance over α between the mean error rate and α.

The error rate is averaged over replications first. As a maximum, MAD is biased upward, the more so the fewer paths
there are. Its standard error and interval are from a bootstrap over paths, whose samples are biased once more. So with
v the MAD of the data and q the quantiles of the bootstrap, the upper end is q_{1−β}, and the lower end is the smaller
of q_β and the one that is free of that bias, (2v − q_{1−β})₊: a MAD of 0 can be in the interval.
"""

from __future__ import annotations

import numpy as np

from harness.core.types import Array, Values
from harness.results.replications import ReplicationReader, Slab
from harness.statistics.clustered import count_paths
from harness.statistics.intervals import Estimate

MAD = "mad"
SAMPLES = 400
"""Number of bootstrap samples."""
_SEED = 20190119


def estimate_mad(runs: ReplicationReader, slab: Slab, level: float) -> Estimate:
    """Estimate MAD in the cells of a slab, over procedure, γ, θ, λ and α; all α have the same value."""
    error, ok = 1.0 - runs.read(slab, "coverage"), runs.is_ok(slab)[..., None]
    alpha = np.array(runs.manifest.extent.grid.alpha)
    sums = np.where(ok, error, 0.0).sum(axis=1)
    counts = ok.sum(axis=1)
    value = _compute_mad(sums.sum(axis=0), counts.sum(axis=0), alpha)
    samples = bootstrap(sums, counts, alpha)
    paths = count_paths(ok)[..., 0]
    known = paths > 1
    tail = (1 - level) / 2
    se = np.where(known, samples.std(axis=0, ddof=1), np.nan)
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    low = np.minimum(low, np.maximum(2 * value - high, 0.0))
    low, high = np.where(known, np.minimum(low, value), np.nan), np.where(known, np.maximum(high, value), np.nan)
    return _repeat_over_alpha(value, se, low, high, paths, ok.sum(axis=(0, 1))[..., 0], len(alpha))


def bootstrap(sums: Array, counts: Values, alpha: Array) -> Array:
    """Compute MAD for samples of paths with replacement. The seed is fixed, so that the samples are always the same.

    Parameters
    ----------
    sums, counts : array
        Sum of error rates and number of replications on each path: path is the first axis, α the last.
    alpha : array
        The values of α.

    Returns
    -------
    array
        MAD of each bootstrap sample, along the first axis.
    """
    rng = np.random.default_rng(_SEED)
    paths = len(sums)
    found = []
    for _ in range(SAMPLES):
        times = np.bincount(rng.integers(0, paths, paths), minlength=paths).astype(float)
        found.append(_compute_mad(np.tensordot(times, sums, 1), np.tensordot(times, counts, 1), alpha))
    return np.array(found)


def _compute_mad(sums: Array, counts: Values, alpha: Array) -> Array:
    """Return the largest |sums / counts − α| over α, the last axis."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(sums / counts - alpha).max(axis=-1))


def _repeat_over_alpha(
    value: Array, se: Array, low: Array, high: Array, paths: Values, count: Values, levels: int
) -> Estimate:
    """Make an estimate with the axis α, along which all values are repeated."""
    parts = [np.repeat(each[..., None], levels, axis=-1) for each in (value, se, low, high, paths, count)]
    return Estimate(*parts)
