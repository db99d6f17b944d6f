"""Split conformal prediction (Papadopoulos et al. 2002; Lei et al. 2018): fit to one half, calibrate on the other.

With μ the fit to the first half and c points in the other, the interval is μ(x*) ± the ⌈(1 − α)(c + 1)⌉-th smallest
|y_i − μ(x_i)| among them, and the whole line if there are fewer. It is exactly valid also where θ was searched for,
if the search used the first half alone.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.baselines._plus import Indices
from ckrr.levels import Alpha, Level, parse_alpha, parse_alphas
from ckrr.regions.intervals import Regions, make_intervals


class Predictor(Protocol):
    """A fitted model: `ckrr.Fit`, or a regressor of scikit-learn."""

    def predict(self, X: npt.ArrayLike, /) -> Array:
        """Predict values at m points, shape (m,)."""
        ...


def halves(order: Indices) -> tuple[Indices, Indices]:
    """Split a random order of a sample into the half to fit and the half to calibrate; the first may have one more.

    Examples
    --------
    >>> halves(np.array([3, 0, 2, 4, 1]))
    (array([3, 0, 2]), array([4, 1]))
    """
    middle = -(-len(order) // 2)
    return order[:middle], order[middle:]


def split_level(n: int, alpha: Level) -> float:
    """Return the exact coverage probability for n exchangeable points in two halves, without ties.

    Examples
    --------
    >>> split_level(100, 0.1), split_level(10, 0.1)
    (0.901960784, 1.0)
    """
    N = n // 2 + 1
    return float(Fraction(_compute_rank(N, parse_alpha(alpha)), N))


def split(
    fit: Predictor, X_calibration: npt.ArrayLike, y_calibration: npt.ArrayLike, X_new: npt.ArrayLike, alpha: Alpha
) -> Regions:
    """Return intervals around a fit to one half of a sample, calibrated on the other half.

    Parameters
    ----------
    fit : Fit, or any fitted model with a method `predict`
        A fit to the first half.
    X_calibration, y_calibration : (c, d) and (c,) arrays
        The other half, the calibration points.
    X_new : (m, d) array
    alpha : number or sequence of k numbers in (0, 1)

    Examples
    --------
    >>> import ckrr
    >>> fit = ckrr.fit([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], theta=1.0, lam=0.1)
    >>> split(fit, [0.2, 0.7], [0.3, 0.6], [0.5], alpha=[0.2, 0.5]).length.round(2)
    array([[ inf, 0.22]])
    """
    predicted = fit.predict(X_new)[:, None]
    held_out = np.asarray(y_calibration, dtype=np.float64)
    errors = np.sort(np.abs(held_out - fit.predict(X_calibration))) if held_out.size else held_out
    errors = np.append(errors, np.inf)
    half = errors[[_compute_rank(len(errors), each) - 1 for each in parse_alphas(alpha)]]
    return make_intervals(predicted - half, predicted + half)


def _compute_rank(N: int, alpha: Fraction) -> int:
    return ceil((1 - alpha) * N)
