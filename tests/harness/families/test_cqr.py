"""MAPIE's conformalised quantile regression, beside the same in plain loops."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from math import ceil

import numpy as np
import pytest

from ckrr.baselines import split_level
from harness.core.types import Array
from harness.families.cqr import NAME, QuantileRegression
from tests.harness.families.scoring import sample, scored, streams
from tests.house import ROOT

FAMILY = QuantileRegression()
ALPHA = (0.02, 0.1, 0.25, 0.6)
needs_mapie = pytest.mark.skipif(find_spec("mapie") is None, reason="MAPIE isn't installed: ckrr[peers]")


def compute(X: Array, y: Array, X_test: Array, alpha: float) -> list[tuple[float, float]]:
    """Two quantiles of boosted trees, corrected by an order statistic."""
    from sklearn.ensemble import GradientBoostingRegressor

    n = len(X)
    order, seed = streams(0)("order").permutation(n), int(streams(0)(NAME).integers(2**31))
    first, second = order[: ceil(n / 2)], order[ceil(n / 2) :]
    low, high = (
        GradientBoostingRegressor(loss="quantile", alpha=level, random_state=seed).fit(X[first], y[first]).predict
        for level in (alpha / 2, 1 - alpha / 2)
    )
    scores = sorted(max(low(X[[i]])[0] - y[i], y[i] - high(X[[i]])[0]) for i in second)
    correction = scores[ceil((1 - alpha) * (len(scores) + 1)) - 1]
    return [(float(a - correction), float(b + correction)) for a, b in zip(low(X_test), high(X_test), strict=True)]


@needs_mapie
@pytest.mark.parametrize("n", [20, 41])
def test_mapie_gives_what_plain_loops_give(n: int) -> None:
    X, X_test, target = sample(0, n)
    (found,) = scored(FAMILY, [NAME], 1, n, ALPHA)
    assert (found.lower[..., 0] == -np.inf).all()  # 0.02 is too small for n
    assert (found.upper[..., 0] == np.inf).all()
    for g, y in enumerate(target.Y.T):
        for k, alpha in list(enumerate(ALPHA))[1:]:
            for i, (lower, upper) in enumerate(compute(X, y, X_test, alpha)):
                expected = (lower, upper) if lower <= upper else (np.nan, np.nan)
                ends = found.lower[g, 0, i, k], found.upper[g, 0, i, k]
                assert ends == pytest.approx(expected, nan_ok=True)
    assert (found.count == 0).any() == (n == 20)  # some of each kind


@needs_mapie
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.15, 0.3, 0.9])
def test_whole_lines_are_where_mapie_refuses(alpha: float) -> None:
    """And the level is 1 there, and that of split elsewhere."""
    from mapie.regression import ConformalizedQuantileRegressor
    from sklearn.ensemble import GradientBoostingRegressor

    X, _, target = sample(0, 50)
    for c in range(1, 25):
        boosting = GradientBoostingRegressor(loss="quantile", n_estimators=1)
        model = ConformalizedQuantileRegressor(boosting, confidence_level=round(1 - alpha, 9)).fit(X, target.Y[:, 0])
        try:
            model.conformalize(X[:c], target.Y[:c, 0]).predict_interval(X, symmetric_correction=True)
        except ValueError:
            expected = 1.0
        else:
            expected = split_level(2 * c, alpha)
        assert FAMILY.level(NAME, 2 * c, alpha) == expected


@needs_mapie
def test_the_process_keeps_its_loggers() -> None:
    """MAPIE configures the root logger where quantiles cross, and pytest has configured it already."""
    code = """
import logging
from harness.families.cqr import NAME, QuantileRegression
from tests.harness.families.scoring import scored
(found,) = scored(QuantileRegression(), [NAME], 1, 20, (0.6,))
print((found.count == 0).any(), logging.getLogger().handlers)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("True []\n", "")


@needs_mapie
def test_the_version_names_the_packages() -> None:
    assert FAMILY.version.startswith("1, MAPIE 1.")
    assert (FAMILY.procedures, FAMILY.axes) == ((NAME,), ())
