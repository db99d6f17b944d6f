"""Seeds: from content, all different, and equal to NumPy's own way of spawning."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, strategies as st

from harness.core.seeds import Seeds

SOURCE = {"function": "gp", "theta": 100}


def test_streams_are_all_different() -> None:
    """Over sources, seeds, paths, draws, whole paths and names."""
    seen = set()
    for source, seed in product([SOURCE, {**SOURCE, "theta": 10}], [0, 1, 2**40]):
        seeds = Seeds.from_source(seed, source)
        for name, path in product(["noise", "inputs"], range(4)):
            seen.add(seeds.make_path_streams(path)(name).bytes(16))
            seen |= {seeds.make_draw_streams(path, draw)(name).bytes(16) for draw in range(4)}
    assert len(seen) == 2 * 3 * 2 * 4 * 5


def test_the_order_of_parameters_does_not_matter() -> None:
    assert Seeds.from_source(1, {"a": 1, "b": 2}) == Seeds.from_source(1, {"b": 2, "a": 1})


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 2), st.integers(0, 2**32 - 2))
def test_keys_are_words_of_32_bits(seed: int, path: int, draw: int) -> None:
    """Longer words would be split in two, and two keys could then be one."""
    key = Seeds.from_source(seed, SOURCE).make_spawn_key(path, draw, "noise")
    assert len(key) == 7
    assert all(0 <= word < 2**32 for word in key)


def test_numbers_are_frozen() -> None:
    """What a scenario drew yesterday it draws tomorrow."""
    seeds = Seeds.from_source(20160919, {"function": "heaviside"})
    assert seeds.source == (2929871356, 51118819, 3972046979, 2654767468)
    np.testing.assert_array_equal(seeds.make_draw_streams(3, 7)("noise").integers(0, 1000, 4), [702, 163, 512, 308])
    np.testing.assert_array_equal(seeds.make_path_streams(3)("inputs").integers(0, 1000, 4), [500, 203, 309, 758])
