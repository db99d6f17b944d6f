"""Points in a box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from scenarios.sources.domain import draw_uniform, find_side, make_grid


def test_a_grid_on_the_line() -> None:
    assert (make_grid(1001, 1, (0.0, 1.0)) == np.linspace(0, 1, 1001)[:, None]).all()


def test_the_order_of_a_grid_in_the_plane() -> None:
    """As meshgrid's default order ravels it: the first axis runs fastest."""
    knots = np.linspace(-1, 1, 51)
    assert (make_grid(2601, 2, (-1.0, 1.0)) == np.array([(x, y) for y in knots for x in knots])).all()


def test_the_order_of_a_grid_in_space() -> None:
    knots = [0.0, 0.5, 1.0]
    expected = np.array([(x, y, z) for y in knots for x in knots for z in knots])
    assert (make_grid(27, 3, (0.0, 1.0)) == expected).all()


@given(k=st.integers(2, 10_000), dimension=st.integers(1, 6))
def test_sides(k: int, dimension: int) -> None:
    assert find_side(k**dimension, dimension) == k


@given(points=st.integers(1, 10**9), dimension=st.integers(2, 5))
def test_other_numbers_are_told_the_two_nearest(points: int, dimension: int) -> None:
    roots = [k for k in range(1, 2 + int(points ** (1 / dimension) + 1)) if k**dimension <= points]
    below = roots[-1]
    if below >= 2 and below**dimension == points:
        assert find_side(points, dimension) == below
        return
    with pytest.raises(ValueError, match=rf"^test_points must be k\*\*{dimension} .*, got {points}$") as caught:
        find_side(points, dimension)
    near = str(caught.value).split("(")[1].split(")")[0].split(" or ")
    assert [int(each) for each in near] == [k**dimension for k in (below, below + 1) if k >= 2]


def test_one_point_is_no_grid() -> None:
    with pytest.raises(ValueError, match=r"^test_points must be an integer >= 2 for a grid, got 1$"):
        make_grid(1, 1, (0.0, 1.0))


@given(low=st.floats(-5, 5), length=st.floats(0.1, 5), n=st.integers(1, 50), dimension=st.integers(1, 4))
def test_uniform_points_are_in_the_box_and_begin_longer_samples(
    low: float, length: float, n: int, dimension: int
) -> None:
    box = (low, low + length)
    X = draw_uniform(np.random.default_rng(1), n, dimension, box)
    assert X.shape == (n, dimension)
    assert ((box[0] <= X) & (box[1] >= X)).all()
    assert (draw_uniform(np.random.default_rng(1), n + 9, dimension, box)[:n] == X).all()


def test_uniform_points_fill_the_box() -> None:
    X = draw_uniform(np.random.default_rng(2), 20_000, 2, (-1.0, 1.0))
    assert abs(X.mean(axis=0)).max() < 5 / np.sqrt(3 * 20_000)
    assert abs((X**2).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 20_000)
