"""Jackknife+ and CV+ (Barber, Candès, Ramdas & Tibshirani 2021) from one factorisation, without a refit.

Leave the points S out of the training sample. The ridge fit to the others has errors e_S at S, and predicts μ₋S at x*::

    e_S = y_S − μ₋S(X_S) = Q_SS⁻¹ a_S        μ₋S(x*) = ŷ − W_S′ e_S

with Q_SS the block of Q = (K + λI)⁻¹ for S. For a single point these are a_i/Q_ii and ŷ − W_i a_i/Q_ii. With
G = L⁻¹ and v = Gy we have Q_SS = G_S′G_S and a_S = G_S′v, so e_S solves a least-squares problem, G_S e ≈ v, whose
condition number is the root of that of Q_SS. For the linear kernel the d coefficients of each fold's fit are computed.

Every training point i then has its own interval, and the ends of the whole are order statistics of theirs: with
N = n + 1 and S(i) the points that are left out together with i ::

    from the ⌊Nα⌋-th smallest μ₋S(i)(x*) − |e_i|  to the ⌊Nα⌋-th largest μ₋S(i)(x*) + |e_i|

and the whole line where ⌊Nα⌋ = 0. The guaranteed coverage for exchangeable points is 1 − 2α (CV+: a little less).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from ckrr._validation import Array
from ckrr.fitted import Fit
from ckrr.levels import Alpha, compute_thresholds, parse_alphas
from ckrr.regions.intervals import Regions, make_intervals, stack_regions
from ckrr.ridge.exact import Ridge
from ckrr.ridge.linear import LinearRidge

Indices = npt.NDArray[np.intp]
FOLDS = 10
"""Number of folds of CV+; fewer points than that are left out one by one."""


def jackknife_plus(fit: Fit, X_new: npt.ArrayLike, alpha: Alpha) -> Regions:
    """Return jackknife+ intervals, from the fits that leave one point out.

    Examples
    --------
    >>> import ckrr
    >>> fit = ckrr.fit([0.0, 0.3, 0.6, 0.9], [0.0, 0.4, 0.5, 1.0], theta=1.0, lam=0.1)
    >>> jackknife_plus(fit, [0.5], alpha=[0.1, 0.4]).components(0, 1)
    [(0.34327, 0.81538)]
    """
    e = fit._target.a / fit._ridge.diag_Q
    return _make_regions(fit, X_new, alpha, e, lambda W, mean: mean[:, None] - W * e)


def cv_plus(fit: Fit, X_new: npt.ArrayLike, alpha: Alpha, order: Indices) -> Regions:
    """Return CV+ intervals, from the fits that leave one of ten folds out.

    Parameters
    ----------
    fit : Fit
        A fit with a kernel, not with random features.
    X_new : (m, d) array
    alpha : number or sequence of k numbers in (0, 1)
    order : (n,) array of int
        Random permutation of the training points; the folds are consecutive stretches of it.
    """
    folds = np.array_split(order, min(FOLDS, len(order)))
    e = _compute_left_out_errors(fit, folds)

    def predicted(W: Array, mean: Array) -> Array:
        found = np.empty(W.shape)
        for S in folds:
            found[:, S] = (mean - np.vecdot(W[:, S], e[S]))[:, None]
        return found

    return _make_regions(fit, X_new, alpha, e, predicted)


def _compute_left_out_errors(fit: Fit, folds: Sequence[Indices]) -> Array:
    """Return the errors e_S of all folds, shape (n,)."""
    if isinstance(fit._ridge, LinearRidge):
        return fit._ridge.compute_left_out_errors(fit._target.y, folds)
    if not isinstance(fit._ridge, Ridge):
        raise ValueError("kernel must not be on random features: CV+ needs the matrix of the kernel")
    e = np.empty(fit._ridge.n)
    for S in folds:
        Q, R = np.linalg.qr(fit._ridge.G[:, S])
        e[S] = solve_triangular(R, Q.T @ fit._target.v)
    return e


def _make_regions(
    fit: Fit, X_new: npt.ArrayLike, alpha: Alpha, e: Array, predicted: Callable[[Array, Array], Array]
) -> Regions:
    """Return the intervals; `predicted` maps W and ŷ of a block of test points to μ₋S(i)(x*), shape (points, n)."""
    blocks = fit._ridge.project(fit._check_points(X_new), [fit._target])
    found = [combine_left_out(predicted(block.W, block.means[0]), e, alpha) for block in blocks]
    return stack_regions(found).rescale(fit._target.unscale)


def combine_left_out(predicted: Array, errors: Array, alpha: Alpha) -> Regions:
    """Return jackknife+ or CV+ intervals from the fits of any model that leave points out.

    Parameters
    ----------
    predicted : (m, n) array
        μ₋S(i)(x*): predictions at each of m test points by the fit that leaves training point i out.
    errors : (n,) array
        e_i = y_i − μ₋S(i)(x_i): errors of these fits at the points that they leave out.
    alpha : number or sequence of k numbers in (0, 1)

    Examples
    --------
    >>> R = combine_left_out(np.array([[1.0, 2.0, 1.5]]), np.array([0.5, -0.25, 0.5]), alpha=[0.1, 0.3])
    >>> R.lower, R.upper
    (array([[-inf,  0.5]]), array([[ inf, 2.25]]))
    """
    spread, ranks = np.abs(errors), compute_thresholds(len(errors) + 1, parse_alphas(alpha), ">")
    return make_regions_between(predicted - spread, predicted + spread, ranks)


def make_regions_between(low: Array, high: Array, ranks: Indices) -> Regions:
    """Return intervals from the k-th smallest of each row of `low` to the k-th largest of `high`, for several ranks k.

    Rank 0 gives the whole line. Intervals are empty where the ends cross, as they may for α > 1/2.

    Examples
    --------
    >>> R = make_regions_between(np.array([[0.0, 1.0, 2.0]]), np.array([[3.0, 5.0, 4.0]]), np.array([0, 1, 2]))
    >>> R.lower, R.upper
    (array([[-inf, 0., 1.]]), array([[inf, 5., 4.]]))
    """
    n = low.shape[1]
    low, high = np.sort(low, axis=1), np.sort(high, axis=1)
    lower = np.where(ranks > 0, low[:, ranks - 1], -np.inf)
    upper = np.where(ranks > 0, high[:, np.minimum(n - ranks, n - 1)], np.inf)
    crossed = lower > upper
    return make_intervals(np.where(crossed, np.nan, lower), np.where(crossed, np.nan, upper))
