"""The order-statistics formula against the definition of S_k."""

from __future__ import annotations

from math import inf

import numpy as np
from hypothesis import given, strategies as st

from ckrr.tails import Votes, largest, smallest, tail

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
    k=st.lists(st.integers(-1, 7), min_size=1, max_size=3),
)
def test_tail_is_the_set_with_k_votes(u: list[float], v: list[float], k: list[int]) -> None:
    k = [min(each, len(u)) for each in k]
    block = np.array([sorted(u, reverse=True), sorted(u, reverse=True)])
    found = tail(block[:, : max(1, *k)], Votes(np.full(len(v), 1), np.array(v)), np.array(k))
    for row, others in ((0, []), (1, v)):
        for j, needed in enumerate(k):
            here = (found.beyond.row == row) & (found.beyond.level == j)
            first = [(-inf, float(found.end[row, j]))] if found.end[row, j] > -inf else []
            beyond = sorted(zip(found.beyond.lo[here].tolist(), found.beyond.hi[here].tolist(), strict=True))
            assert first + beyond == by_definition(u, others, needed)


@given(st.lists(st.lists(ends, min_size=4, max_size=4), min_size=1, max_size=3), st.integers(1, 4))
def test_selection_is_sorting(rows: list[list[float]], count: int) -> None:
    t = np.array(rows)
    before = t.copy()
    assert largest(t, count).tolist() == [sorted(row, reverse=True)[:count] for row in rows]
    assert smallest(t, count).tolist() == [sorted(row)[:count] for row in rows]
    assert np.array_equal(t, before)
