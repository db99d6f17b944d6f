"""Points in the box [low, high]^d: drawn uniformly, or on a regular grid."""

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
    """n independent points, shape (n, dimension); those for a smaller n are the first ones of those for a larger n.

    `first` changes their places along the first axis, which are uniform in [0, 1) without it.
    """
    low, high = domain
    places = rng.random((n, dimension))
    if first is not None:
        places[:, 0] = first(places[:, 0])
    return low + (high - low) * places


def compute_positions(X: Array, domain: tuple[float, float]) -> Array:
    """Where points are along the first axis: 0 at its low end, 1 at its high end."""
    low, high = domain
    return (X[:, 0] - low) / (high - low)


def make_grid(points: int, dimension: int, domain: tuple[float, float]) -> Array:
    """A regular grid with the ends of the domain on it, in the order of `np.meshgrid`, ravelled.

    Column 0 is the first axis; in two dimensions it runs fastest.

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
    """How many points a grid of `points` has along each axis.

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
    """The largest k with k**degree <= number."""
    k: int = round(number ** (1 / degree))  # at most 1 off
    return k if k**degree <= number else k - 1
