"""A file for HDF5 in which no write fails.

If a write fails, as on a full disk, HDF5 can't close its file: h5py prints a traceback for every open object, and the
process crashes when it ends. So HDF5 writes to a `SafeFile`, which keeps in memory what can't be written. The writer
calls `check` between its writes, and gets the error once HDF5 is in a good state.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


class SafeFile(io.RawIOBase):
    """An existing file, open for reading and writing, that remembers the first error instead of raising it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("r+b", buffering=0)
        self._size, self._at = os.fstat(self._file.fileno()).st_size, 0
        self._unwritten: list[tuple[int, bytes]] = []
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the first error of writing, if there was one."""
        if self._error is not None:
            raise self._error

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to an offset from the start, the current position or the end."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """Return the current position."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read bytes at the current position; those that were never written are 0."""
        view = memoryview(buffer).cast("B")
        view = view[: max(0, min(len(view), self._size - self._at))]
        self._file.seek(self._at)
        got = self._file.readinto(view) or 0
        view[got:] = bytes(len(view) - got)
        for start, data in self._unwritten:
            low, high = max(start, self._at), min(start + len(data), self._at + len(view))
            if low < high:
                view[low - self._at : high - self._at] = data[low - start : high - start]
        self._at += len(view)
        return len(view)

    def write(self, data: Any) -> int:
        """Write bytes at the current position, or keep them in memory once a write has failed."""
        view = memoryview(data).cast("B")
        self._try(lambda: self._write_all(view))
        if self._error is not None:
            self._unwritten.append((self._at, bytes(view)))
        self._at += len(view)
        self._size = max(self._size, self._at)
        return len(view)

    def _write_all(self, view: memoryview) -> None:
        self._file.seek(self._at)
        while len(view):
            view = view[self._file.write(view) :]

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file."""
        self._size = self._at if size is None else size
        self._try(lambda: self._file.truncate(self._size))
        return self._size

    def _try(self, action: Callable[[], object]) -> None:
        if self._error is None:
            try:
                action()
            except OSError as error:
                self._error = error

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
