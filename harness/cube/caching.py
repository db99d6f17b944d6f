"""Keep results in memory up to a number of bytes, the most recently used ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class SizedCache(Generic[T]):
    """Cache of results by key, which forgets those that weren't used for longest when they take too many bytes.

    Parameters
    ----------
    most : float
        Largest number of bytes in the cache; an attribute, too. A larger result is returned, but not kept.
    weigh : callable
        Function from a result to its number of bytes.

    Examples
    --------
    >>> cache = SizedCache(10, len)
    >>> cache.get("a", lambda: b"12345"), cache.get("a", lambda: b"never called")
    (b'12345', b'12345')
    """

    def __init__(self, most: float, weigh: Callable[[T], int]) -> None:
        self.most, self._usual, self._weigh = most, most, weigh
        self._held: OrderedDict[Hashable, T] = OrderedDict()
        self._bytes, self._lock = 0, Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result at a key; call `make` for it if there is none."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()  # without the lock: two threads may make the same
        with self._lock:
            self._keep(key, made)
        return made

    def _keep(self, key: Hashable, made: T) -> None:
        size = self._weigh(made)
        if size > self.most or key in self._held:
            return
        while self._bytes + size > self.most:
            self._bytes -= self._weigh(self._held.popitem(last=False)[1])
        self._held[key] = made
        self._bytes += size

    @contextmanager
    def widen(self, most: float) -> Iterator[None]:
        """Hold up to `most` bytes within this context, and nothing after it."""
        self.most = most
        try:
            yield
        finally:
            self.most = self._usual
            self.clear()

    def clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._held.clear()
            self._bytes = 0
