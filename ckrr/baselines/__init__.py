"""Baselines for conformal regions on kernel ridge regression, computed from the same fits.

- `student` (GPR-t) is GPR-f with σ² unknown: y′Qy/σ² is χ²_n distributed and independent of y* − ŷ, so that
  ŷ ± t·σ̂·sqrt(m), with t the 1 − α/2 quantile of Student's t distribution with n degrees of freedom, has the level
  1 − α at every n if the model is right. GPR-f, with the normal quantile, has a lower one. With a constant mean, which
  takes one degree of freedom, n − 1 takes the place of n, also in σ̂².
- `split` is split conformal prediction: half of the points to fit, half to calibrate (`_split.py`).
- `jackknife_plus` and `cv_plus` combine fits that leave points out (`_plus.py`); `combine_left_out` does so for any
  model.
- `jackknife_plus_gp` (J+GP) is jackknife+ with errors in units of the posterior standard deviation (`_plus.py`).
"""

from ckrr.baselines._plus import FOLDS, combine_left_out, cv_plus, jackknife_plus, jackknife_plus_gp
from ckrr.baselines._split import halves, split, split_level
from ckrr.baselines._student import student

__all__ = [
    "FOLDS",
    "combine_left_out",
    "cv_plus",
    "halves",
    "jackknife_plus",
    "jackknife_plus_gp",
    "split",
    "split_level",
    "student",
]
