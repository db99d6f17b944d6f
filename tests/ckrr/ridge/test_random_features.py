"""Random features: their law, and that they are the same however many there are."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from ckrr.kernels import KERNELS
from ckrr.ridge.random_features import SPECTRA, Features
from tests.oracles import to_arb


@pytest.mark.parametrize("name", sorted(SPECTRA))
@pytest.mark.parametrize("d", [1, 3])
def test_their_products_are_the_kernel_on_average(name: str, d: int) -> None:
    """Of 200,000 features every product is a mean of terms within ±2: six standard errors of at most 2/√D."""
    rng = np.random.default_rng(d)
    X = rng.random((12, d))
    F = Features.draw(name, 200_000, d, rng)(X, theta=2.0)
    assert np.abs(F.T @ F - KERNELS[name](X, X, 2.0)).max() < 6 * 2 / np.sqrt(200_000)


def test_they_are_the_formula() -> None:
    features = Features.draw("matern32", 40, 3, np.random.default_rng(0))
    X, theta = np.random.default_rng(1).normal(size=(5, 3)), 50.0
    F = features(X, theta)
    for j, (zeta, b) in enumerate(zip(features.frequencies, features.phases, strict=True)):
        for i, x in enumerate(X):
            angle = (2 * to_arb(theta)).sqrt() * sum(
                (to_arb(u) * to_arb(v) for u, v in zip(zeta, x, strict=True)), arb(0)
            )
            exact = (arb(2) / 40).sqrt() * (angle + to_arb(b)).cos()
            assert abs(F[j, i] - float(exact.mid())) <= 4e-16 * (4 + features.compute_reach(X, theta))


@pytest.mark.parametrize("name", sorted(SPECTRA))
def test_few_are_the_first_of_many(name: str) -> None:
    few, many = (Features.draw(name, count, 2, np.random.default_rng(5)) for count in (7, 400))
    assert np.array_equal(few.frequencies, many.frequencies[:7])
    assert np.array_equal(few.phases, many.phases[:7])
    assert ((many.phases >= 0) & (many.phases < 2 * np.pi)).all()


def test_a_point_has_its_bits_in_any_company() -> None:
    features = Features.draw("gaussian", 100, 3, np.random.default_rng(0))
    X = np.random.default_rng(1).random((77, 3))
    together = features(X, 10.0)
    assert all(np.array_equal(features(x[None], 10.0)[:, 0], column) for x, column in zip(X, together.T, strict=True))
