"""Jackknife+ and CV+ (Barber, Candès, Ramdas & Tibshirani 2021) from one factorisation, without a refit.

Leave the points S out of the training sample. The ridge fit to the others has errors e_S at S, and predicts μ₋S at x*::

    e_S = y_S − μ₋S(X_S) = Q_SS⁻¹ a_S        μ₋S(x*) = ŷ − W_S′ e_S

with Q_SS the block of Q = (K + λI)⁻¹ for S. For a single point these are a_i/Q_ii and ŷ − W_i a_i/Q_ii. With
G = L⁻¹ and v = Gy we have Q_SS = G_S′G_S and a_S = G_S′v, so e_S solves a least-squares problem, G_S e ≈ v, whose
condition number is the root of that of Q_SS. With a constant mean, which every fit estimates anew, Q̃, W̃ and G̃ take
their places (`ckrr.ridge.constant_mean`).
For the linear kernel the d coefficients of each fold's fit are computed.

Every training point i then has its own interval, and the ends of the whole are order statistics of theirs: with
N = n + 1 and S(i) the points that are left out together with i ::

    from the ⌊Nα⌋-th smallest μ₋S(i)(x*) − |e_i|  to the ⌊Nα⌋-th largest μ₋S(i)(x*) + |e_i|

and the whole line where ⌊Nα⌋ = 0. The guaranteed coverage for exchangeable points is 1 − 2α (CV+: a little less).

J+GP (Jaber et al. 2024) measures errors in posterior standard
deviations. Without point i these are, in units of σ, ::

    s₋ᵢ(x_i)² = 1/Q_ii        s₋ᵢ(x*)² = m + W_i²/Q_ii

so that |e_i| is replaced by |e_i|·s₋ᵢ(x*)/s₋ᵢ(x_i) = |a_i|/√Q_ii · √(m + W_i²/Q_ii): intervals are wider where the
model knows less. The guarantee is that of jackknife+.
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
from ckrr.ridge.constant_mean import ConstantMeanRidge
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


def jackknife_plus_gp(fit: Fit, X_new: npt.ArrayLike, alpha: Alpha) -> Regions:
    """Return J+GP intervals: jackknife+ with errors in posterior standard deviations.

    Examples
    --------
    >>> import ckrr
    >>> fit = ckrr.fit([0.0, 0.3, 0.6, 0.9], [0.0, 0.4, 0.5, 1.0], theta=1.0, lam=0.1)
    >>> jackknife_plus_gp(fit, [0.5], alpha=[0.1, 0.4]).components(0, 1)
    [(0.34645, 0.78806)]
    """
    a, Q = fit._target.a, fit._ridge.diag_Q
    scores, ranks = np.abs(a) / np.sqrt(Q), compute_thresholds(len(a) + 1, parse_alphas(alpha), ">")
    found = []
    for block in fit._ridge.project(fit._check_points(X_new), [fit._target]):
        predicted = block.means[0][:, None] - block.W * (a / Q)
        spread = scores * np.sqrt(block.m[:, None] + block.W**2 / Q)
        found.append(make_regions_between(predicted - spread, predicted + spread, ranks))
    return stack_regions(found).rescale(fit._target.unscale)


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
    ridge = fit._ridge
    exact = ridge.base if isinstance(ridge, ConstantMeanRidge) else ridge
    if isinstance(exact, LinearRidge):
        return exact.compute_left_out_errors(fit._target.y, folds, has_mean=exact is not ridge)
    if not isinstance(exact, Ridge):
        raise ValueError("kernel must not be on random features: CV+ needs the matrix of the kernel")
    e = np.empty(ridge.n)
    for S in folds:
        G: Array = exact.G[:, S]
        Q, R = np.linalg.qr(ridge.remove_mean(G, S) if isinstance(ridge, ConstantMeanRidge) else G)
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
