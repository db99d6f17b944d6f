"""Compute statistics of nested replications: draws on the same path aren't independent.

With x_pd the value of draw d on path p, N values in all on P paths, and x̄ their mean, the standard error of x̄ is the
cluster-robust one, with paths as clusters ::

    se² = P/(P − 1) · Σ_p (Σ_d (x_pd − x̄))² / N²

because draws on one path share the function, the pool and the test values. With one path the error is unknown: NaN.
(`test_coverage_and_its_error_are_those_of_plain_loops`, `test_components_find_both_variances`)

The first two axes of all arrays are path and draw; others may follow. `ok` is a mask of the replications to include.
"""

from __future__ import annotations

import numpy as np

from harness.core.types import Array, Bools, Values


def mean(values: Values, ok: Bools) -> Array:
    """Return the mean over all replications that are ok; NaN where none is."""
    counts = ok.sum(axis=(0, 1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(ok, values, 0.0).sum(axis=(0, 1), dtype=float) / counts)


def clustered_error(values: Values, ok: Bools) -> tuple[Array, Array]:
    """Return the mean over all replications that are ok, and its standard error, clustered by path.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0]])              # two paths with two equal draws each
    >>> centre, error = clustered_error(x, np.ones_like(x, dtype=bool))
    >>> float(centre), float(error)
    (0.5, 0.5)
    """
    centre = mean(values, ok)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.where(ok, values - centre, 0.0).sum(axis=1, dtype=float)
        paths = count_paths(ok)
        square = paths / (paths - 1.0) * (sums**2).sum(axis=0) / ok.sum(axis=(0, 1)) ** 2
        return centre, np.where(paths > 1, np.sqrt(square), np.nan)


def count_paths(ok: Bools) -> Values:
    """Return the number of paths with at least one replication that is ok."""
    return np.asarray(ok.any(axis=1).sum(axis=0))


def sort_replications(values: Values, ok: Bools) -> Array:
    """Return the replications that are ok in ascending order, along the first axis; the others follow as NaN."""
    flat = np.where(ok, values, np.nan).reshape(-1, *values.shape[2:])
    return np.asarray(np.sort(flat, axis=0), dtype=float)  # NaN sorts last


def take_ranks(ordered: Array, counts: Values, ranks: Values) -> Array:
    """Return the value of rank `ranks` (1 is the smallest) among `counts` sorted ones; NaN where there is none."""
    places = np.clip(ranks, 1, np.maximum(counts, 1)).astype(np.intp) - 1
    return np.asarray(np.take_along_axis(ordered, places[None], axis=0)[0])


def quantile(values: Values, ok: Bools, q: float = 0.5) -> Array:
    """Return the q-quantile of the N replications that are ok: the ⌈qN⌉-th smallest.

    It isn't interpolated, because infinite values are common.

    Examples
    --------
    >>> x = np.array([[3.0], [np.inf], [1.0], [np.inf]])
    >>> float(quantile(x, np.ones_like(x, dtype=bool)))
    3.0
    """
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    return take_ranks(sort_replications(values, ok), counts, np.ceil(np.round(q * counts, 9)))


def variance_components(values: Values, ok: Bools) -> tuple[Array, Array]:
    """Estimate the variance between paths and the variance between draws of a path, by analysis of variance.

    With one draw per path the two can't be separated: the first is then their sum, and the second is NaN.

    Examples
    --------
    >>> x = np.array([[0.0, 0.2], [1.0, 1.2], [2.0, 2.2]])
    >>> between, within = variance_components(x, np.ones_like(x, dtype=bool))
    >>> float(between), float(within)
    (0.99, 0.02)
    """
    counts = np.broadcast_to(ok, values.shape).sum(axis=1)
    total, paths = counts.sum(axis=0), count_paths(np.broadcast_to(ok, values.shape))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(ok, values, 0.0).sum(axis=1, dtype=float) / counts
        centre = np.where(counts > 0, counts * means, 0.0).sum(axis=0) / total
        within = (np.where(ok, values - means[:, None], 0.0) ** 2).sum(axis=(0, 1)) / (total - paths)
        between = np.where(counts > 0, counts * (means - centre) ** 2, 0.0).sum(axis=0) / (paths - 1)
        usual = (total - (counts.astype(float) ** 2).sum(axis=0) / total) / (paths - 1)  # effective draws per path
        known = total > paths
        spread = np.where(known, np.maximum((between - within) / usual, 0.0), between)
        return np.where(paths > 1, spread, np.nan), np.where(known, within, np.nan)
