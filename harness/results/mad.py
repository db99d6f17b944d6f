"""Estimate MAD, the paper's measure: the largest distance over α between the mean error rate and α.

The error rate is averaged over replications first. As a maximum, MAD is biased upward, the more so the fewer paths
there are. Its standard error is from a bootstrap over paths, and the upper end of its interval is a quantile of the
bootstrap's MADs. These are biased upward once more, so their lower quantile may exceed the truth: the lower end is not
above v − d, with v the MAD of the data and d the same quantile of the largest distance over α between a bootstrap
sample's error rates and those of the data. MADs differ by no more than that, and a MAD of 0 can be in the interval
(`test_mad_is_biased_upward`, `test_the_error_of_mad_is_about_right`, `test_the_interval_of_mad_covers_even_0`).
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
    error, ok = 1.0 - runs.read(slab, runs.judged), runs.is_ok(slab)[..., None]
    alpha = np.array(runs.manifest.extent.grid.alpha)
    sums = np.where(ok, error, 0.0).sum(axis=1)
    counts = ok.sum(axis=1)
    value = _compute_mad(sums.sum(axis=0), counts.sum(axis=0), alpha)
    samples, deviations = bootstrap(sums, counts, alpha)
    paths = count_paths(ok)[..., 0]
    known = paths > 1
    se = np.where(known, samples.std(axis=0, ddof=1), np.nan)
    low, high = (np.where(known, end, np.nan) for end in compute_ends(value, samples, deviations, level))
    return _repeat_over_alpha(value, se, low, high, paths, ok.sum(axis=(0, 1))[..., 0], len(alpha))


def compute_ends(value: Array, samples: Array, deviations: Array, level: float) -> tuple[Array, Array]:
    """Return the ends of the interval of MAD, given that of the data and what `bootstrap` returns; see the module."""
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    apart = np.quantile(deviations, (1 + level) / 2, axis=0)
    return np.minimum(low, np.maximum(value - apart, 0.0)), np.maximum(high, value)


def bootstrap(sums: Array, counts: Values, alpha: Array) -> tuple[Array, Array]:
    """Compute MAD for samples of paths with replacement. The seed is fixed, so that the samples are always the same.

    Parameters
    ----------
    sums, counts : array
        Sum of error rates and number of replications on each path: path is the first axis, α the last.
    alpha : array
        The values of α.

    Returns
    -------
    samples, deviations : array
        MAD of each bootstrap sample, and the largest distance over α of its error rates from those of the data, along
        the first axis.
    """
    rng = np.random.default_rng(_SEED)
    paths = len(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = sums.sum(axis=0) / counts.sum(axis=0)
    samples, deviations = [], []
    for _ in range(SAMPLES):
        times = np.bincount(rng.integers(0, paths, paths), minlength=paths).astype(float)
        drawn = np.tensordot(times, sums, 1), np.tensordot(times, counts, 1)
        samples.append(_compute_mad(*drawn, alpha))
        deviations.append(_compute_mad(*drawn, rates))
    return np.array(samples), np.array(deviations)


def _compute_mad(sums: Array, counts: Values, alpha: Array) -> Array:
    """Return the largest |sums / counts − alpha| over α, the last axis."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(sums / counts - alpha).max(axis=-1))


def _repeat_over_alpha(
    value: Array, se: Array, low: Array, high: Array, paths: Values, count: Values, levels: int
) -> Estimate:
    """Make an estimate with the axis α, along which all values are repeated."""
    parts = [np.repeat(each[..., None], levels, axis=-1) for each in (value, se, low, high, paths, count)]
    return Estimate(*parts)
