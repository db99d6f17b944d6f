"""Residuals of the augmented sample, linear in the candidate label.

Give the test point x* the candidate label z and let s = z − ŷ. Up to a common factor every kind of residual is ::

    r_i = (m a_i − W_i s) / D_i   (i ≤ n),        r_N = s

and the kinds differ in the scale D_i alone, with h_i = m Q_ii + W_i²:

==================  ==========  ==================================================
in-sample           D = 1       y_i minus the ridge fit to all N points
leave-one-out       D = h       y_i minus the ridge fit to the N − 1 other points
studentised         D = sqrt h  the geometric mean of the two: an in-sample residual over the root of its variance
==================  ==========  ==================================================

because d_i = Q_ii + W_i²/m = h_i/m is the diagonal of the inverse of the augmented ridge matrix, by which an
in-sample residual is divided to leave its own point out. Since sqrt h > |W|, regions from studentised residuals are
always intervals; the other kinds come in pieces where some |W_i| ≥ D_i. A new kind of residual needs only its scale.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace

Scale = Callable[[Array, Array, Array, Workspace], Array]
"""(W, m, diag Q, scratch) → D, of a shape that broadcasts to W's, possibly in the scratch buffer "first"."""


def compute_in_sample_scale(W: Array, m: Array, diag_Q: Array, scratch: Workspace) -> Array:
    """Return D = 1."""
    return np.ones((1, 1))


def compute_leave_one_out_scale(W: Array, m: Array, diag_Q: Array, scratch: Workspace) -> Array:
    """Return D = m Q_ii + W_i²."""
    D = np.multiply(W, W, out=scratch("first", W.shape))
    D += np.multiply(m[:, None], diag_Q, out=scratch("second", W.shape))
    return D


def compute_studentised_scale(W: Array, m: Array, diag_Q: Array, scratch: Workspace) -> Array:
    """Return D = sqrt(m Q_ii + W_i²)."""
    D = compute_leave_one_out_scale(W, m, diag_Q, scratch)
    return np.sqrt(D, out=D)
