"""Place points in the box [low, high]^d: uniformly at random, or on a regular grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scenarios.sources.types import Array


def draw_uniform(
    rng: np.random.Generator,
    n: int,
    dimension: int,
    domain: tuple[float, float],
    first: Callable[[Array], Array] | None = None,
) -> Array:
    """Draw n independent uniform points, shape (n, dimension).

    With the same generator state, the points for a smaller n are the first ones of those for a larger n. `first`
    transforms the positions along the first axis, which are uniform in [0, 1) before it is applied.
    """
    low, high = domain
    places = rng.random((n, dimension))
    if first is not None:
        places[:, 0] = first(places[:, 0])
    return low + (high - low) * places


def compute_positions(X: Array, domain: tuple[float, float]) -> Array:
    """Return the position of each point along the first axis: 0 at the low end of the domain, 1 at the high end."""
    low, high = domain
    return (X[:, 0] - low) / (high - low)


def make_grid(points: int, dimension: int, domain: tuple[float, float]) -> Array:
    """Return a regular grid of `points` points that includes the ends of the domain, shape (points, dimension).

    The order is that of `np.meshgrid`, ravelled. Column 0 is the first axis; in two dimensions it varies fastest.

    Examples
    --------
    >>> make_grid(4, 2, (0.0, 1.0))
    array([[0., 0.],
           [1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    axis = np.linspace(*domain, find_side(points, dimension))
    return np.stack([each.ravel() for each in np.meshgrid(*[axis] * dimension)], axis=1)


def find_side(points: int, dimension: int) -> int:
    """Return the number of points along each axis of a grid of `points`; raise ValueError if there is no such grid.

    Examples
    --------
    >>> find_side(2601, 2)
    51
    >>> find_side(2600, 2)
    Traceback (most recent call last):
    ...
    ValueError: test_points must be k**2 with k >= 2 for a grid in 2 dimensions (2500 or 2601), got 2600
    """
    if dimension == 1 and points >= 2:
        return points
    if dimension == 1:
        raise ValueError(f"test_points must be an integer >= 2 for a grid, got {points}")
    below = _compute_integer_root(points, dimension)
    if below >= 2 and below**dimension == points:
        return below
    near = " or ".join(str(k**dimension) for k in (below, below + 1) if k >= 2)
    raise ValueError(
        f"test_points must be k**{dimension} with k >= 2 for a grid in {dimension} dimensions ({near}), got {points}"
    )


def _compute_integer_root(number: int, degree: int) -> int:
    """Return the largest k with k**degree <= number."""
    k: int = round(number ** (1 / degree))  # at most 1 off
    return k if k**degree <= number else k - 1
