"""Data of the paper's figures of single samples: profiles at regular knots on a line, and surfaces over the square.

Profiles have separate random streams: every sample took one normal number for each test knot, then one for each
training knot. A training knot has its own noise even where it coincides with a test knot. y already includes the noise.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from scenarios.published import tiles
from scenarios.published.as_run import published_study
from scenarios.published.streams import EXPERIMENTS, GAMMA, LAM, THETA, replay_stream
from scenarios.sources import functions
from scenarios.sources.domain import make_grid
from scenarios.sources.types import Array, Sample

TEST_KNOTS = 501
_SIZES = (50, 200)
"""Sizes of training samples, in the order in which they were drawn; a sample has size + 1 knots."""
_GP_SEED, _FUNCTION_SEED = 0x7A5F2F22, 0x4A04E61B
_FAR_SEED = 2016
"""Our choice: the published seed isn't known."""
_STUDIES = {"f6": functions.f6, "heaviside": functions.heaviside, "pressure2": functions.pressure2}
_THETA = 100.0


def draw_gp_profile(gamma: float, size: int = 50) -> Sample:
    """Draw a path of GP(0, K + γ·δ), θ = 100, at 501 test knots on [0, 1] and size + 1 training knots on [0.05, 0.95].

    Examples
    --------
    >>> sample = draw_gp_profile(0.1)
    >>> len(sample.y), len(sample.y_test), sample.y_test[:2].round(4)
    (51, 501, array([ 0.3047, -0.6915]))
    """
    X, X_test = _make_knots(size)
    stream = np.random.RandomState(_GP_SEED)
    for here in product(_SIZES, GAMMA):
        e = stream.normal(size=TEST_KNOTS + here[0] + 1)
        if here == (size, gamma):
            return _draw_path(X, X_test, gamma, e)
    raise ValueError(f"size and gamma must be among {_SIZES} and {GAMMA}, got {size} and {gamma}")


def draw_function_profile(study: str, gamma: float, size: int = 50) -> Sample:
    """Draw y = f(x) + γ·e at the knots of `draw_gp_profile`, for f6, heaviside or pressure2.

    Examples
    --------
    >>> draw_function_profile("heaviside", 1e-6).y.round(3)[[0, 25, 26]]
    array([-0., -0.,  1.])
    """
    X, X_test = _make_knots(size)
    stream = np.random.RandomState(_FUNCTION_SEED)
    for here in product(_STUDIES, _SIZES, GAMMA):
        e = stream.normal(size=TEST_KNOTS + here[1] + 1)
        if here == (study, size, gamma):
            f = _STUDIES[study]
            y, y_test = f(X) + gamma * e[TEST_KNOTS:], f(X_test) + gamma * e[:TEST_KNOTS]
            return Sample(X, y, None, X_test, y_test, None)
    raise ValueError(f"there is no profile of {study} with size {size} and gamma {gamma}")


def draw_far_profile(gamma: float) -> Sample:
    """Draw a path of GP(0, K + γ·δ), θ = 100, at 201 training knots on [0, 1] and 601 test knots on [−1, 2].

    The seed is our choice, since the published one isn't known.
    """
    X, X_test = np.linspace(0.0, 1.0, 201)[:, None], np.linspace(-1.0, 2.0, 601)[:, None]
    e = np.random.RandomState(_FAR_SEED).normal(size=len(X_test) + len(X))
    return _draw_path(X, X_test, gamma, e)


def draw_gp_surface(gamma: float) -> tuple[Array, Array]:
    """Return the 51 × 51 test points of the published path over [0, 1]², and the path there.

    Test points came first and L is triangular, so the factor of their block and their normal numbers suffice.
    """
    (experiment,) = (one for one in EXPERIMENTS if "gp2" in one.studies)
    X = make_grid(experiment.test_points, 2, (0.0, 1.0))
    return X, tiles.correlate_noise(X, _THETA, gamma, replay_stream(experiment).draw_normals(gamma)[: len(X)])


def draw_f2_surface(gamma: float) -> tuple[Array, Array]:
    """Return the test points of the first published replication of f2, and their noisy values."""
    source = published_study("f2")
    at = {"gamma": gamma, "lam": LAM[0], "theta": THETA[0], "path": 0, "draw": 0}
    sample = source.draw(_make_unused_stream, source.experiment.n[0], at)
    return sample.X_test, sample.y_test


def _make_knots(size: int) -> tuple[Array, Array]:
    return np.linspace(0.05, 0.95, size + 1)[:, None], np.linspace(0.0, 1.0, TEST_KNOTS)[:, None]


def _draw_path(X: Array, X_test: Array, gamma: float, e: Array) -> Sample:
    """Draw a path at test and training knots from the normal numbers e; test knots come first."""
    y = tiles.correlate_noise(np.concatenate([X_test, X]), _THETA, gamma, e)
    return Sample(X, y[len(X_test) :], None, X_test, y[: len(X_test)], None)


def _make_unused_stream(name: str) -> np.random.Generator:
    """Return a generator that isn't used: published sources draw from the published stream."""
    return np.random.default_rng(0)
