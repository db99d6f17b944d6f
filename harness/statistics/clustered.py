"""Statistics of nested replications: draws lie on paths, and draws on one path aren't independent.

With x_pd the value of draw d on path p, N of them in all on P paths, and x̄ their mean, the standard error of x̄ is that
of clusters ::

    se² = P/(P − 1) · Σ_p (Σ_d (x_pd − x̄))² / N²

because draws on one path see the same function, pool and test values. One path has no error between paths: NaN.

Arrays are over path, draw, and then whatever there is; `ok` says which replications count.
"""

from __future__ import annotations

import numpy as np

from harness.core.types import Array, Bools, Values


def mean(values: Values, ok: Bools) -> Array:
    """Over paths and draws, of those that are ok; NaN where none is."""
    counts = ok.sum(axis=(0, 1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(ok, values, 0.0).sum(axis=(0, 1), dtype=float) / counts)


def clustered_error(values: Values, ok: Bools) -> tuple[Array, Array]:
    """Mean over all replications, and its standard error between paths.

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
    """On how many paths there is a replication that counts."""
    return np.asarray(ok.any(axis=1).sum(axis=0))


def order_statistics(values: Values, ok: Bools, ranks: Values) -> Array:
    """Of all replications that are ok, the value of each rank (1 is the smallest); NaN where there is none."""
    flat = np.where(ok, values, np.nan).reshape(-1, *values.shape[2:])
    ordered = np.sort(flat, axis=0)  # NaN goes last
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    places = np.clip(ranks, 1, np.maximum(counts, 1)).astype(np.intp) - 1
    return np.asarray(np.take_along_axis(ordered, places[None], axis=0)[0], dtype=float)


def quantile(values: Values, ok: Bools, q: float = 0.5) -> Array:
    """Over paths and draws, of those that are ok: the ⌈qN⌉-th smallest, since inf is common.

    Examples
    --------
    >>> x = np.array([[3.0], [np.inf], [1.0], [np.inf]])
    >>> float(quantile(x, np.ones_like(x, dtype=bool)))
    3.0
    """
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    return order_statistics(values, ok, np.ceil(np.round(q * counts, 9)))


def variance_components(values: Values, ok: Bools) -> tuple[Array, Array]:
    """Variance between paths and variance between the draws of a path, by analysis of variance.

    With one draw a path the two can't be told apart: all of it is between paths, and the second is NaN.

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
        usual = (total - (counts.astype(float) ** 2).sum(axis=0) / total) / (paths - 1)  # draws a path
        known = total > paths
        spread = np.where(known, np.maximum((between - within) / usual, 0.0), between)
        return np.where(paths > 1, spread, np.nan), np.where(known, within, np.nan)
