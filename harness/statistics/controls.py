"""Adjust estimates by control variates: coverages whose expectation is known exactly.

In a replication with exchangeable points, the coverages c_j of conformal procedures at a fixed θ have known
expectations L_j. For any other number x of the same replication, with x̄ and c̄ the means over replications, ::

    x̄ − β′(c̄ − L)

estimates the same mean as x̄, and its variance is smaller the better the c_j explain x. β is by least squares over
paths, so the estimate is the intercept of the regression of the path means x_p on (1, c_p − L).

**Weights.** Path p has the weight w_p, its number of draws, so x̄ and c̄ are means over replications as in
`harness.statistics.clustered.mean`. The estimand is that of the plain estimate for any numbers of draws; with equal
numbers it is ordinary least squares. Only draws enter where x and all controls in use are ok. This presumes that
failures of a control depend neither on x nor on coverages.

**Standard error.** With X the matrix of the rows (1, c_p − L)′, W = diag(w_p), residuals e_p and leverages h_p, the
variance is HC3, the entry of the intercept in ::

    (X′WX)⁻¹ · Σ_p X_p X_p′·(w_p·e_p/(1 − h_p))² · (X′WX)⁻¹,    h_p = w_p·X_p′(X′WX)⁻¹X_p

The quantile t is that of Student's t with P − 1 − k degrees of freedom, for P paths and k controls.

**Choice of controls.** It never depends on x. There are k ≤ min(4, ⌊P/10⌋) controls, and none with fewer than 30 paths.
The first in the caller's order are used if they fit together. Otherwise they are tried one after the other, and each is
added to those before it if the set still fits. A set fits if, over paths,

- no control is constant: its standard deviation exceeds 1e-6 of its largest value;
- the controls have full rank: in a QR factorisation with pivoting of the columns, centred and scaled to length 1, the
  last diagonal entry of R exceeds `RANK_TOLERANCE`. Rounding to single precision, as in the store, is well below;
- the rank doesn't hinge on one path: 1 − h_p > `RANK_TOLERANCE`² for all p. HC3 isn't defined otherwise.

**Intervals.** Those of means are x̂ ± t·se, with x̂ the adjusted estimate. Those of shares are by Agresti & Coull as in
`harness.statistics.intervals`, with the effective sample size ::

    n* = max(x̂(1 − x̂), t·s/2)/s²,    s² = se² + 3/M²

where M = P·points is the number of different test points. 3/M² stands for three more points on which x departs from its
regression. It is negligible unless there are few such points in all. Without it, if x equals a control but for λ points
in a study, the intervals cover in 19 % of studies for λ = 0.2, 63 % for λ = 1 and 89 % for λ = 3, since se is 0 when
there are no such points; with it they cover in at least 94 %. t·s/2 keeps the interval from being much longer than
2t·s when x̂ is by chance very near 0 or 1, while se isn't small. Where x̂ isn't in (0, 1), the interval is the nearer
of 0 and 1, ± t·s. All intervals of shares are clipped to [0, 1].

In simulated studies with 30 to 400 paths and error rates of 10, 1 and 0.2 %, nominal 95 % intervals cover in at least
94.7 %. With few errors and good controls they cover in up to 100 %. β is estimated, so the estimate has a bias of
order 1/P unless E(x | c) is linear: up to half a standard error at an error rate of 0.2 %, an eighth at 10 %
(`tests/harness/statistics/test_controls.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.special import stdtrit

from harness.core.types import Array, Bools, Reduction, Values
from harness.statistics.intervals import LEVEL, Estimate
from harness.statistics.reduce import reduce_replications

MOST_CONTROLS = 4
"""Largest number of controls."""
LEAST_PATHS = 30
"""Smallest number of paths with controls."""
PATHS_PER_CONTROL = 10
"""Smallest number of paths for each control."""
RANK_TOLERANCE = 1e-4
"""Smallest part of a control, relative to its spread over paths, that other controls leave unexplained."""
CONSTANT_TOLERANCE = 1e-6
"""Smallest spread of a control over paths, relative to its largest value."""
ADDED_POINTS = 3.0
"""Number of test points, added in intervals of shares, on which x departs from its regression."""


@dataclass(frozen=True, eq=False)
class AdjustedEstimate(Estimate):
    """Estimates adjusted by control variates, with standard errors and confidence intervals, over cells.

    Where controls are used, `paths` and `replications` count those where all of them are ok as well. A `value` that
    is a share may exceed 1 or be negative; its interval is always in [0, 1].
    """

    controls: Values
    """Number of controls that are used; where it is 0, the estimate is the plain one."""
    worth: Array
    """Plain variance divided by adjusted variance: how many times as many paths the plain estimate would need."""


def adjust(
    values: Values,
    ok: Bools,
    controls: Values,
    controls_ok: Bools,
    levels: Array,
    reduction: Reduction,
    level: float = LEVEL,
    points: int = 1,
) -> AdjustedEstimate:
    """Estimate means over replications, adjusted by controls with known expectations; see the module for the formulas.

    Parameters
    ----------
    values, ok : array, shape (paths, draws, ...)
        A number for each replication and cell, and whether to include it.
    controls, controls_ok : array, shape (paths, draws, controls, ...)
        The same for each control. The axes of cells are broadcast to those of `values`.
    levels : array, shape (controls, ...)
        Exact expectations of the controls; NaN where a control has none, and isn't used.
    reduction : {"share", "probability", "mean"}
        How the measure is reduced.
    level : float
        Confidence level of the intervals.
    points : int
        Number of test points in a replication, for ``"share"`` and ``"probability"``.

    Returns
    -------
    AdjustedEstimate
        It equals the result of `harness.statistics.reduce.reduce_replications` in cells where no control can be used,
        where a value is infinite, and where all path means are equal, as no control can explain anything there.

    Raises
    ------
    ValueError
        If `reduction` isn't the mean over replications, or if shapes don't match.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> common, own = rng.beta(90, 10, (2, 200, 1))
    >>> control, values = common, 0.9 * common + 0.1 * own   # both have the expectation 0.9
    >>> ok = np.ones((200, 1), dtype=bool)
    >>> found = adjust(values, ok, control[:, :, None], ok[:, :, None], np.array([0.9]), "share", points=500)
    >>> int(found.controls), round(float(found.worth))
    (1, 77)
    """
    if reduction == "median":
        raise ValueError(f"reduction is {reduction!r}: controls adjust means over replications, not quantiles")
    plain = reduce_replications(values, ok, reduction, points, level=level)
    cells = values.shape[2:]
    if np.ndim(levels) < 1 or controls.shape[:3] != (*values.shape[:2], len(levels)):
        raise ValueError(f"shapes don't match: values {values.shape}, controls {controls.shape}, levels {levels.shape}")
    with np.errstate(invalid="ignore"):
        usable = np.broadcast_to(controls_ok, controls.shape) & np.isfinite(controls)
    x, x_ok = _put_cells_first(values, 2, cells), _put_cells_first(np.broadcast_to(ok, values.shape), 2, cells)
    c, c_ok = _put_cells_first(controls, 3, cells), _put_cells_first(usable, 3, cells)
    exact = _put_cells_first(levels, 1, cells)

    value, se = np.array(plain.value, dtype=float), np.array(plain.se, dtype=float)
    low, high = np.array(plain.low, dtype=float), np.array(plain.high, dtype=float)
    paths, replications = np.array(plain.paths), np.array(plain.replications)
    used, worth = np.zeros(cells, dtype=int), np.ones(cells)
    for cell in np.ndindex(cells):
        if not np.isfinite(x[cell][x_ok[cell]]).all():
            continue
        basis = _choose_controls(x_ok[cell], c[cell], c_ok[cell], exact[cell])
        if basis is None:
            continue
        found = _regress(x[cell], basis)
        if found is not None:
            value[cell], se[cell] = found
            used[cell], paths[cell] = len(basis.shift), len(basis.weights)
            replications[cell] = basis.common.sum()

    adjusted = used > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        worth[adjusted] = plain.se[adjusted] ** 2 / se[adjusted] ** 2
    freedom = (paths - 1.0 - used)[adjusted]
    if reduction != "mean":
        s = np.sqrt(se[adjusted] ** 2 + ADDED_POINTS / (paths[adjusted] * points) ** 2)
        low[adjusted], high[adjusted] = compute_share_interval(value[adjusted], s, freedom, level)
    else:
        half = stdtrit(freedom, 0.5 + level / 2) * se[adjusted]
        low[adjusted], high[adjusted] = value[adjusted] - half, value[adjusted] + half
    return AdjustedEstimate(value, se, low, high, paths, replications, used, worth)


def compute_share_interval(share: Array, se: Array, freedom: Array, level: float = LEVEL) -> tuple[Array, Array]:
    """Compute the confidence interval of an adjusted share.

    Parameters
    ----------
    share, se : array
        The share, which may be outside of (0, 1), and its standard error.
    freedom : array
        Degrees of freedom of Student's t.
    level : float
        Confidence level.

    Returns
    -------
    low, high : array
        Ends of the interval, in [0, 1]; NaN where `share` or `se` is.

    Examples
    --------
    >>> low, high = compute_share_interval(np.array([0.99, 1.001]), np.array([0.002, 0.002]), np.array([95, 95]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.985, 0.996], [0.9934, 1.0])
    """
    t = stdtrit(freedom, 0.5 + level / 2)
    clipped = np.clip(share, 0.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.maximum(clipped * (1 - clipped), t * se / 2) / se**2
        middle = (effective * clipped + t**2 / 2) / (effective + t**2)
        half = t * np.sqrt(middle * (1 - middle) / (effective + t**2))
        inside = (share > 0) & (share < 1) & (se > 0)
    low = np.where(inside, np.minimum(middle - half, clipped), clipped - t * se)
    high = np.where(inside, np.maximum(middle + half, clipped), clipped + t * se)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Basis:
    """An orthonormal basis of the controls in one cell."""

    common: Bools
    """Draws in use, of shape (paths, draws): those where x and all controls are ok."""
    weights: Array
    """Number of these draws on each path that has any."""
    q: Array
    """Basis of the centred path means of controls, times the roots of the weights, of shape (paths, k)."""
    shift: Array
    """Coordinates of c̄ − L: the adjusted estimate is x̄ − shift · (coordinates of x)."""


def _put_cells_first(array: Values, axes: int, cells: tuple[int, ...]) -> Values:
    """Move the first `axes` axes behind those of the cells, and broadcast the latter.

    Controls come before paths then: (paths, draws, controls, ...) becomes (..., controls, paths, draws).
    """
    order = {1: (0,), 2: (0, 1), 3: (2, 0, 1)}[axes]
    moved = np.ascontiguousarray(np.moveaxis(array, order, range(-axes, 0)))
    return np.broadcast_to(moved, (*cells, *moved.shape[-axes:]))


def _choose_controls(ok: Bools, controls: Values, controls_ok: Bools, levels: Array) -> _Basis | None:
    """Return a basis of the controls to use in one cell; None if there are none. It doesn't depend on x."""
    known = [int(j) for j in np.flatnonzero(np.isfinite(levels))]

    def try_set(trial: list[int]) -> _Basis | None:
        return _orthonormalise(ok, controls[trial], controls_ok[trial], levels[trial])

    first = known[: min(MOST_CONTROLS, int(ok.any(axis=1).sum()) // PATHS_PER_CONTROL)]
    best = try_set(first) if first else None
    if best is not None or not first:
        return best
    chosen: list[int] = []
    for j in known:
        found = try_set([*chosen, j])
        if found is not None:
            best, chosen = found, [*chosen, j]
        if len(chosen) == MOST_CONTROLS:
            break
    return best


def _orthonormalise(ok: Bools, controls: Values, controls_ok: Bools, levels: Array) -> _Basis | None:
    """Return an orthonormal basis of all given controls in one cell; None if the set doesn't fit."""
    k = len(levels)
    common = ok & controls_ok.all(axis=0)
    counts = common.sum(axis=1)
    present = counts > 0
    weights = counts[present].astype(float)
    if len(weights) < max(LEAST_PATHS, PATHS_PER_CONTROL * k):
        return None
    total = weights.sum()
    means = np.where(common, controls, 0.0).sum(axis=2, dtype=float)[:, present] / weights
    centre = means @ weights / total
    columns = ((means - centre[:, None]) * np.sqrt(weights)).T
    lengths = np.sqrt((columns**2).sum(axis=0))
    if not (lengths > CONSTANT_TOLERANCE * np.sqrt(total) * np.abs(means).max(axis=1)).all():
        return None
    q, r, order = qr(columns / lengths, mode="economic", pivoting=True, check_finite=False)
    if abs(r[-1, -1]) <= RANK_TOLERANCE:
        return None
    if (1 - weights / total - (q**2).sum(axis=1)).min() <= RANK_TOLERANCE**2:
        return None
    shift = solve_triangular(r, ((centre - levels) / lengths)[order], trans="T", check_finite=False)
    return _Basis(common, weights, q, shift)


def _regress(values: Values, basis: _Basis) -> tuple[float, float] | None:
    """Return the adjusted mean of one cell, and its HC3 standard error; None where all path means are equal."""
    common, weights, q = basis.common, basis.weights, basis.q
    sums = np.where(common, values, 0.0).sum(axis=1, dtype=float)
    means = sums[common.any(axis=1)] / weights
    if np.ptp(means) <= 1e-12 * np.abs(means).max():
        return None
    total, roots = weights.sum(), np.sqrt(weights)
    centre = means @ weights / total
    scaled = (means - centre) * roots
    coordinates = q.T @ scaled
    residuals = scaled - q @ coordinates
    leverage = weights / total + (q**2).sum(axis=1)
    influence = roots / total - q @ basis.shift
    se = np.sqrt(((influence * residuals / (1 - leverage)) ** 2).sum())
    return float(centre - basis.shift @ coordinates), float(se)
