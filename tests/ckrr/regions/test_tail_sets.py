"""The order-statistics formula against the definition of S_k."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ckrr.linalg.workspace import Workspace
from ckrr.regions.tail_sets import AffineMap, Votes, allocate_tops, compute_upper_tail, select

ends = st.one_of(st.integers(-5, 5).map(float), st.just(inf), st.just(-inf))
votes = st.integers(-5, 5).map(float)


def by_definition(u: list[float], v: list[float], k: int) -> list[tuple[float, float]]:
    """S_k from its votes at every breakpoint and between any two."""

    def has(y: float) -> bool:
        return sum(each >= y for each in u) + sum(each <= y for each in v) >= k

    spots = [x / 2 for x in range(-11, 12)]  # breakpoints are integers from −5 to 5, the halves are in the gaps
    components: list[tuple[float, float]] = []
    for y in spots:
        start, end = (-inf if y == spots[0] else y), (inf if y == spots[-1] else y)
        if has(y) and y > spots[0] and has(y - 0.5):
            components[-1] = (components[-1][0], end)
        elif has(y):
            components.append((start, end))
    return components


@given(
    u=st.lists(ends, min_size=1, max_size=7),
    v=st.lists(votes, max_size=5),
    k=st.lists(st.integers(0, 7), min_size=1, max_size=3),
)
def test_tail_is_the_set_with_k_votes(u: list[float], v: list[float], k: list[int]) -> None:
    needed = np.array([min(each, len(u)) for each in k])
    frame, others = AffineMap(np.zeros(2), np.ones(2)), Votes(np.full(len(v), 1), np.array(v))
    top = allocate_tops(2, int(needed.max()), Workspace(), "top")
    select(np.array([u, u]), top)
    found = compute_upper_tail(top, frame, others, needed)
    for row, its_v in ((0, []), (1, v)):
        for j, each in enumerate(needed):
            here = (found.beyond.row == row) & (found.beyond.level == j)
            first = [(-inf, float(found.end[row, j]))] if found.end[row, j] > -inf else []
            beyond = sorted(zip(found.beyond.lo[here].tolist(), found.beyond.hi[here].tolist(), strict=True))
            assert first + beyond == by_definition(u, its_v, each)


@pytest.mark.parametrize("n", [3, 64, 65, 200])
def test_selected_are_the_largest_in_order(n: int) -> None:
    t = np.random.default_rng(n).standard_normal((5, n))
    for count in {0, 1, n // 3, n}:
        top = allocate_tops(5, count, Workspace(), "top")
        select(t.copy(), top)
        assert np.array_equal(top[:, :count], np.sort(t, axis=1)[:, n - count :])
        assert np.array_equal(top[:, count:], [[inf, np.nan]] * 5, equal_nan=True)
