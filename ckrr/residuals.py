"""Residuals of the augmented sample, linear in the candidate label.

Give the test point x* the candidate label z and let s = z − ŷ. Up to a common factor every kind of residual is ::

    r_i = (m a_i − W_i s) / D_i   (i ≤ n),        r_N = s

and the kinds differ in the scale D_i alone, with h_i = m Q_ii + W_i²:

==================  ==========  ==================================================
in-sample           D = 1       y_i minus the ridge fit to all N points
leave-one-out       D = h       y_i minus the ridge fit to the N − 1 other points
==================  ==========  ==================================================

because d_i = Q_ii + W_i²/m = h_i/m is the diagonal of the inverse of the augmented ridge matrix, by which an
in-sample residual is divided to leave its own point out. To add a kind of residual is to add its scale here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrr.checks import Array
from ckrr.scratch import Scratch

Scale = Callable[[Array, Array, Array, Scratch], Array]
"""(W, m, diag Q) → D, of a shape that broadcasts to W's, perhaps in the scratch buffer "first"."""


def in_sample(W: Array, m: Array, diag_Q: Array, scratch: Scratch) -> Array:
    """D = 1."""
    return np.ones((1, 1))


def leave_one_out(W: Array, m: Array, diag_Q: Array, scratch: Scratch) -> Array:
    """D = m Q_ii + W_i²."""
    D = np.multiply(W, W, out=scratch("first", W.shape))
    D += np.multiply.outer(m, diag_Q, out=scratch("second", W.shape))
    return D
