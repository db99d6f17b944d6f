"""Sums of squares y′Qy of whitened targets, with mean 0 or an unknown constant mean.

A target y is whitened by any linear map to v(y) with v(y)′v(z) = y′Qz. With a constant mean μ that is estimated by
generalised least squares, μ̂ = y′Q1/1′Q1, what is left is the square of v(y) without its part along v(1)::

    (y − μ̂1)′Q(y − μ̂1) = ‖v(y) − v(1)·(v(1)′v(y)/‖v(1)‖²)‖²

and not y′Qy − (1′Qy)²/1′Q1, a difference that loses digits where μ̂ is large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ckrr._validation import Array


def subtract_average(y: Array) -> Array:
    """Return y minus its average; exactly 0 if y is constant.

    Examples
    --------
    >>> subtract_average(np.array([0.1, 0.1, 0.1]))
    array([0., 0., 0.])
    """
    centred: Array = y - np.clip(y.mean(), y.min(), y.max())
    return centred


def add_ones(ys: Sequence[Array], has_mean: bool) -> list[Array]:
    """Return targets, followed by the vector of ones if their mean is to be estimated, as `compute_squares` expects.

    Examples
    --------
    >>> add_ones([np.array([2.0, 4.0])], has_mean=True)
    [array([2., 4.]), array([1., 1.])]
    """
    return [*ys, np.ones(len(ys[0]))] if has_mean else list(ys)


def compute_squares(V: Sequence[Array], has_mean: bool) -> list[float]:
    """Return the square of each whitened target; with `has_mean` the last one is that of ones.

    Examples
    --------
    >>> compute_squares([np.array([3.0, 4.0]), np.array([1.0, 0.0])], has_mean=False)
    [25.0, 1.0]
    >>> compute_squares([np.array([3.0, 4.0]), np.array([1.0, 0.0])], has_mean=True)
    [16.0]
    """
    if has_mean:
        *vs, ones = V
        c = np.vecdot(ones, ones)
        V = [v - ones * (np.vecdot(ones, v) / c) for v in vs]
    return [float(np.vecdot(v, v)) for v in V]


def remove_ones(V: Array) -> Array:
    """Remove from whitened targets, in place, their part along the last one; return a view of the others.

    Parameters
    ----------
    V : (…, targets, n) array

    Examples
    --------
    >>> remove_ones(np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[0., 4.]])
    """
    vs, ones = V[..., :-1, :], V[..., -1:, :]
    vs -= (np.vecdot(ones, vs) / np.vecdot(ones, ones))[..., None] * ones
    return vs
