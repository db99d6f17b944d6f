"""What people would use instead of conformal regions on kernel ridge regression, on the same fits.

- `student` (GPR-t) is GPR-f with σ² unknown: y′Qy/σ² has the law χ²_n and is independent of y* − ŷ, so that
  ŷ ± t·σ̂·sqrt(m), with t the 1 − α/2 quantile of Student's law of n degrees, has the level 1 − α at every n if the
  model is right. GPR-f, with the normal quantile, has less.
- `split` is split conformal prediction: half of the points to fit, half to judge (`split.py`).
- `jackknife_plus` and `cv_plus` are from fits that leave points out (`plus.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from ckrr.bayes import deviation, normal_intervals
from ckrr.fits import Fit
from ckrr.levels import Alpha, alphas
from ckrr.plus import FOLDS, cv_plus, jackknife_plus
from ckrr.regions import Regions, stacked
from ckrr.split import halves, split, split_level

__all__ = ["FOLDS", "cv_plus", "halves", "jackknife_plus", "split", "split_level", "student"]


def student(fit: Fit, X_new: npt.ArrayLike, alpha: Alpha) -> Regions:
    """Bayesian intervals of y* with σ² unknown.

    Examples
    --------
    >>> import ckrr
    >>> fit = ckrr.fit([0.0, 0.3, 0.6, 0.9], [0.0, 0.4, 0.5, 1.0], theta=1.0, lam=0.1)
    >>> student(fit, [0.5], alpha=0.1).length / fit.regions([0.5], "GPR-f", alpha=0.1).length
    array([[1.296071]])
    """
    t = -np.asarray(stdtrit(fit._ridge.n, [float(each) / 2 for each in alphas(alpha)]), dtype=np.float64)
    sigma2 = np.array(fit._target.sigma2)
    blocks = fit._ridge.project(fit._points(X_new), [fit._target], weights=False)
    found = [normal_intervals(block.means[0], deviation(block.m, sigma2), t) for block in blocks]
    return stacked(found).mapped(fit._target.unscaled)
