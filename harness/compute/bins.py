"""Average over the test points in each bin of x: coverage given x, without results at every test point.

A box ∏[low_j, high_j] around the inputs is cut into equal parts: `BINS` along one input variable, √BINS × √BINS over
two, the first of which varies fastest. A point outside the box belongs to the nearest bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np
import numpy.typing as npt

from harness.core.schema.axes import BINS
from harness.core.types import Array, Values

Box = Sequence[tuple[float, float]]


def find_bins(X: Array, box: Box) -> npt.NDArray[np.intp]:
    """Return the bin of each point, shape (points,).

    Examples
    --------
    >>> find_bins(np.array([[0.0], [0.5], [1.0], [7.0]]), [(0.0, 1.0)])
    array([ 0, 18, 35, 35])
    >>> find_bins(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [(0.0, 1.0), (0.0, 1.0)])
    array([ 0,  5, 30])
    """
    side = BINS if len(box) == 1 else isqrt(BINS)
    low, high = np.array(box, dtype=float).T
    place = np.clip(np.floor((X - low) * (side / (high - low))), 0, side - 1).astype(np.intp)
    return np.asarray(place @ side ** np.arange(len(box)))


def average_by_bin(values: Values, bins: npt.NDArray[np.intp]) -> Array:
    """Return the mean over the points of each bin, which are on the last axis; NaN for a bin without points.

    Examples
    --------
    >>> average_by_bin(np.array([[1.0, 0.0, 1.0]]), np.array([2, 2, 0]))[:, :3]
    array([[1. , nan, 0.5]])
    """
    order = np.argsort(bins, kind="stable")
    some, starts, counts = np.unique(bins[order], return_index=True, return_counts=True)
    found = np.full((*values.shape[:-1], BINS), np.nan)
    found[..., some] = np.add.reduceat(values[..., order].astype(float), starts, axis=-1) / counts
    return found
