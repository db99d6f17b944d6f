"""Refuse to decompress chunks that are larger than their array allows.

The header of a zstd frame has the size of its content. A chunk of a store has one frame of exactly the size of the
chunk, so that a small file that would expand to gigabytes is refused before anything is decompressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import zarr
from zarr.codecs import ZstdCodec
from zarr.registry import register_codec

_MAGIC = b"\x28\xb5\x2f\xfd"
_LONGEST_TEXT = 1 << 20
"""Largest chunk of text labels in bytes; texts have no fixed size."""


def read_content_size(frame: bytes) -> int | None:
    """Return the content size in the header of a zstd frame; None if it has none or the bytes are not a frame.

    Examples
    --------
    >>> from numcodecs.zstd import compress
    >>> read_content_size(bytes(compress(b"abc" * 1000))), read_content_size(b"abc")
    (3000, None)
    """
    if frame[:4] != _MAGIC or len(frame) < 18:
        return _read_short_frame(frame)
    return _read_header(frame[4:18])


def _read_short_frame(frame: bytes) -> int | None:
    """Return the content size of a frame that is shorter than the longest possible header."""
    return _read_header(frame[4:].ljust(14, b"\0")) if frame[:4] == _MAGIC and len(frame) > 6 else None


def _read_header(header: bytes) -> int | None:
    """Parse a frame header by RFC 8878, 3.1.1.1: descriptor, window, dictionary id, content size."""
    descriptor = header[0]
    single = bool(descriptor & 0x20)
    start = 1 + (not single) + (0, 1, 2, 4)[descriptor & 0x03]
    length = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    if not length:
        return None
    size = int.from_bytes(header[start : start + length], "little")
    return size + 256 if length == 2 else size


def check_frame(frame: bytes, size: int, exactly: bool = True) -> None:
    """Raise ValueError if the content of a frame does not have `size` bytes, or at most that many if not `exactly`."""
    found = read_content_size(frame)
    if found is None or found > size or (exactly and found != size):
        raise ValueError(f"the header of a chunk says {found} bytes, expected {size}")


class BoundedZstd(ZstdCodec):
    """Zarr's zstd codec with a check that the content of a frame has the size of its chunk."""

    def _decode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        _check_chunk(chunk_bytes, chunk_spec)
        return super()._decode_sync(chunk_bytes, chunk_spec)

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        _check_chunk(chunk_bytes, chunk_spec)
        return await super()._decode_single(chunk_bytes, chunk_spec)


def _check_chunk(chunk_bytes: Any, chunk_spec: Any) -> None:
    width = getattr(chunk_spec.dtype, "item_size", None)
    size = _LONGEST_TEXT if width is None else prod(chunk_spec.shape) * int(width)
    check_frame(chunk_bytes.to_bytes(), size, exactly=width is not None)


_NAME = f"{BoundedZstd.__module__}.{BoundedZstd.__qualname__}"
register_codec("zstd", BoundedZstd)


@contextmanager
def bounded_codecs() -> Iterator[None]:
    """Use `BoundedZstd` for all arrays that are opened within this context, as long as they exist."""
    with zarr.config.set({"codecs.zstd": _NAME}):
        yield
