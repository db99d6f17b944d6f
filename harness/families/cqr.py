"""Conformalised quantile regression (Romano, Patterson & Candès 2019) by MAPIE: `pip install 'ckrr[peers]'`.

For each α, gradient boosting fits the quantiles α/2 and 1 − α/2 to one half of the sample, the half that `split` of the
family `baselines` fits to. With q₁ and q₂ these fits and c points in the other half, the interval is
[q₁(x*) − s, q₂(x*) + s], where s is the ⌈(1 − α)(c + 1)⌉-th smallest of max(q₁(x_i) − y_i, y_i − q₂(x_i)) among them.
It is empty where the ends cross. Its level is that of split conformal prediction.

MAPIE is used as in its documentation, with `symmetric_correction=True`: by default it corrects each end on its own, and
the level is not exact. The `random_state` of the fits comes from the replication's stream "MAPIE-CQR".
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from ckrr.baselines import split_level
from harness.families.intervals import Ends, IntervalFamily, Task
from harness.families.packages import provide_family
from harness.families.peers import compute_confidence

NAME = "MAPIE-CQR"
VERSION = 1
"""Version of the numerics of this module; those of the packages are added to it."""


@dataclass(frozen=True)
class QuantileRegression(IntervalFamily):
    """Family of MAPIE's conformalised quantile regression on scikit-learn's gradient boosting."""

    procedures: Sequence[str] = (NAME,)

    @property
    def version(self) -> str:
        """Versions of this module, MAPIE and scikit-learn."""
        return f"{VERSION}, MAPIE {version('mapie')}, scikit-learn {version('scikit-learn')}"

    def compute_ends(self, procedure: str, task: Task) -> Ends:
        """Compute the intervals level by level; at levels that MAPIE refuses, return the whole line."""
        seed = int(task.streams(NAME).integers(2**31))
        shape = len(task.X_test), len(task.alpha)
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        for k, alpha in enumerate(task.alpha):
            if is_reached(len(task.y), alpha):
                lower[:, k], upper[:, k] = _compute_intervals(task, alpha, seed)
        crossed = lower > upper
        return np.where(crossed, np.nan, lower), np.where(crossed, np.nan, upper)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level: that of split conformal prediction, and 1 where the interval is the whole line."""
        return split_level(n, alpha) if is_reached(n, alpha) else 1.0


def is_reached(n: int, alpha: float) -> bool:
    """Whether MAPIE accepts a level: half of the sample must have at least 1/α and 1/(1 − α) points.

    Examples
    --------
    >>> is_reached(20, 0.1), is_reached(19, 0.1)
    (True, False)
    """
    return n // 2 >= max(1 / alpha, 1 / (1 - alpha))


def _compute_intervals(task: Task, alpha: float, seed: int) -> Ends:
    """Compute the intervals at one level, each end of shape (test points,)."""
    from mapie.regression import ConformalizedQuantileRegressor
    from sklearn.ensemble import GradientBoostingRegressor

    X, y, X_calibration, y_calibration = task.halves
    boosting = GradientBoostingRegressor(loss="quantile", random_state=seed)
    (confidence,) = compute_confidence([alpha])
    model = ConformalizedQuantileRegressor(boosting, confidence_level=confidence)
    with _keep_logging():
        model.fit(X, y).conformalize(X_calibration, y_calibration)
        _, found = model.predict_interval(task.X_test, symmetric_correction=True)
    return found[:, 0, 0], found[:, 1, 0]


@contextmanager
def _keep_logging() -> Iterator[None]:
    """Keep MAPIE from configuring the root logger of the process, which it does where quantiles cross."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


__getattr__ = provide_family(__name__, QuantileRegression(), ("mapie", "sklearn"))
