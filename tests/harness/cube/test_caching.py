"""What is kept in memory is what was used last, and never more than allowed."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given, strategies as st

from harness.cube.caching import SizedCache


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 25))
def test_as_a_plain_list(keys: list[int], most: int) -> None:
    """The slow twin sorts keys by their last use, and drops the first until all fit. Key k takes k bytes."""
    cache: SizedCache[bytes] = SizedCache(most, len)
    held: OrderedDict[int, None] = OrderedDict()
    for key in keys:
        made: list[int] = []
        assert cache.get(key, lambda key=key, made=made: made.append(key) or b"x" * key) == b"x" * key  # type: ignore[misc]
        assert bool(made) == (key not in held)
        held.pop(key, None)
        if key <= most:
            held[key] = None
            while sum(held) > most:
                held.popitem(last=False)


def test_a_failure_is_not_kept() -> None:
    cache: SizedCache[bytes] = SizedCache(10, len)

    def fail() -> bytes:
        raise ValueError

    for _ in range(2):
        try:
            cache.get("a", fail)
        except ValueError:
            continue
        raise AssertionError("the error must reach the caller")
    assert cache.get("a", lambda: b"1") == b"1"


def test_it_can_be_emptied() -> None:
    cache: SizedCache[bytes] = SizedCache(4, len)
    cache.get("a", lambda: b"1234")
    cache.clear()
    assert cache.get("a", lambda: b"abcd") == b"abcd"
    assert cache.get("a", lambda: b"1234") == b"abcd"


def test_it_can_be_widened_for_a_while() -> None:
    cache: SizedCache[bytes] = SizedCache(4, len)
    with cache.widen(8):
        cache.get("a", lambda: b"12345678")
        assert cache.get("a", lambda: b"anew") == b"12345678"
    assert cache.get("a", lambda: b"anew") == b"anew", "nothing is held after it"
    cache.get("b", lambda: b"12345678")
    assert cache.get("b", lambda: b"2") == b"2", "it holds as little as before"
