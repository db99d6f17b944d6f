"""A length scale in place of θ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ckrr
from tests.ckrr.samples import sample

KERNELS = ["gaussian", "laplacian", "matern32", "matern52", "gaussian-rff"]
X, y, X_NEW, _ = sample(20, 2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_length_scale_is_its_theta(kernel: str) -> None:
    """θ = 1/(2ℓ²) in each: as if the inputs were divided by ℓ, with θ = 1/2."""
    fit = ckrr.fit(X, y, lengthscale=0.25, lam=0.1, kernel=kernel)
    assert fit.theta == 8.0
    assert (fit.regions(X_NEW).lower == ckrr.fit(X, y, 8.0, 0.1, kernel).regions(X_NEW).lower).all()
    assert ckrr.Inputs(X, X_NEW, kernel).factor(lengthscale=0.25, lam=0.1).theta == 8.0
    scaled = ckrr.fit(X / 0.25, y, 0.5, 0.1, kernel)
    assert fit.predict(X_NEW) == pytest.approx(scaled.predict(X_NEW / 0.25))
    assert ckrr.ConformalKernelRidge(lengthscale=0.25, kernel=kernel).fit(X, y).theta_ == 8.0


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: ckrr.fit(X, y, 1.0, 0.1, lengthscale=2.0), r"theta must be left out where lengthscale is given, got 1\.0"),
    (lambda: ckrr.fit(X, y, "ml", 0.1, lengthscale=2.0), "theta must be left out where lengthscale is given, got 'ml'"),
    (lambda: ckrr.fit(X, y, lam=0.1), "theta must be given, or lengthscale in its place, got neither"),
    (lambda: ckrr.fit(X, y, lengthscale=2.0), "lam must be a finite number > 0, got None"),
    (lambda: ckrr.fit(X, y, lengthscale=-2.0, lam=0.1), r"lengthscale must be a finite number > 0, got -2\.0"),
    (lambda: ckrr.fit(X, y, lengthscale=1e-200, lam=0.1), "lengthscale must be between 1e-150 and 1e150, got 1e-200"),
    (lambda: ckrr.Inputs(X, X_NEW).factor(lam=0.1), "theta must be given, or lengthscale in its place, got neither"),
    (lambda: ckrr.Inputs(X, X_NEW).factor(1.0, 0.1, lengthscale=1.0), "theta must be left out where lengthscale is"),
    (lambda: ckrr.ConformalKernelRidge(theta=1.0, lengthscale=1.0).fit(X, y), "theta must be left out where lengthsc"),
    (lambda: ckrr.ConformalKernelRidge("RRCM", "median").fit(X, y), "theta must not be 'median', which takes"),
    (lambda: ckrr.ConformalKernelRidge(mean="none").fit(X, y), "mean must be one of zero, constant, got 'none'"),
]


@pytest.mark.parametrize(("ask", "message"), MISTAKES)
def test_mistakes_are_named(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        ask()


def test_the_estimator_estimates_the_mean() -> None:
    """Unless it is told not to: targets of most data sets aren't centred."""
    one, moved = (ckrr.ConformalKernelRidge(theta=5.0).fit(X, y + t) for t in (0.0, 1e4))
    assert moved.predict(X_NEW) - 1e4 == pytest.approx(one.predict(X_NEW), abs=1e-8)
    assert moved.fit_.mean == pytest.approx(one.fit_.mean + 1e4)
    zero = ckrr.ConformalKernelRidge(theta=5.0, mean="zero").fit(X, y)
    assert (zero.predict(X_NEW) == ckrr.fit(X, y, 5.0, 0.1).predict(X_NEW)).all()
    assert np.abs(zero.predict(X_NEW) - one.predict(X_NEW)).max() > 1e-6
