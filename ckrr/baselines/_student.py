"""Bayesian intervals with unknown σ² (GPR-t): see `ckrr.baselines`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from ckrr.fitted import Fit
from ckrr.levels import Alpha, parse_alphas
from ckrr.regions.bayesian import compute_deviation, make_normal_intervals
from ckrr.regions.intervals import Regions, stack_regions
from ckrr.ridge.constant_mean import ConstantMeanRidge


def student(fit: Fit, X_new: npt.ArrayLike, alpha: Alpha) -> Regions:
    """Return Bayesian intervals of y* with σ² unknown (GPR-t).

    Examples
    --------
    >>> import ckrr
    >>> fit = ckrr.fit([0.0, 0.3, 0.6, 0.9], [0.0, 0.4, 0.5, 1.0], theta=1.0, lam=0.1)
    >>> student(fit, [0.5], alpha=0.1).length / fit.regions([0.5], "GPR-f", alpha=0.1).length
    array([[1.296071]])
    """
    n = fit._ridge.n
    degrees = n - 1 if isinstance(fit._ridge, ConstantMeanRidge) else n
    t = -np.asarray(stdtrit(degrees, [float(each) / 2 for each in parse_alphas(alpha)]), dtype=np.float64)
    sigma2 = np.array(fit._estimated.sigma2 * n / degrees)
    blocks = fit._ridge.project(fit._check_points(X_new), [fit._target], weights=False)
    found = [make_normal_intervals(block.means[0], compute_deviation(block.m, sigma2), t) for block in blocks]
    return stack_regions(found).rescale(fit._target.unscale)
