"""Reading past Zarr: Zarr itself is the slow twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings, strategies as st
from zarr.codecs import Crc32cCodec, ZstdCodec

from harness.store import chunk_io


def made(folder: Path, shape: tuple[int, ...], cut: tuple[int, ...], dtype: str, **more: Any) -> zarr.Array[Any]:
    """As the template makes them."""
    return zarr.create_array(
        folder,
        name="x",
        shape=shape,
        chunks=cut,
        dtype=dtype,
        fill_value=np.nan if np.dtype(dtype).kind == "f" else 255,
        compressors=[ZstdCodec(level=1), Crc32cCodec()],
        chunk_key_encoding={"name": "default", "separator": "."},
        overwrite=True,
        **more,
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], str, tuple[slice, ...], list[bool]]:
    """Shapes, cuts that needn't divide them, a box of it, and which chunks are there."""
    ndim = draw(st.integers(1, 4))
    shape = tuple(draw(st.integers(1, 7)) for _ in range(ndim))
    cut = tuple(draw(st.integers(1, 8)) for _ in range(ndim))
    ends = st.none() | st.integers(-9, 9)
    box = tuple(slice(draw(ends), draw(ends)) for _ in range(draw(st.integers(0, ndim))))
    count = int(np.prod([-(-length // size) for length, size in zip(shape, cut, strict=True)]))
    there = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return shape, cut, draw(st.sampled_from(["float64", "float32", "uint8"])), box, there


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases())
def test_the_same_as_zarr(tmp_path: Path, case: tuple[Any, ...]) -> None:
    shape, cut, dtype, box, there = case
    array = made(tmp_path, shape, cut, dtype)
    array[...] = np.arange(1, 1 + np.prod(shape)).reshape(shape) % 250
    for path, keep in zip(sorted((tmp_path / "x").glob("c*")), there, strict=True):
        if not keep:
            path.unlink()
    one = chunk_io.inspect_array(array)
    assert one is not None
    assert chunk_io.is_box(box)
    found = chunk_io.read(one, box)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, np.asarray(array[box or ...]))


@pytest.mark.parametrize("far", [0.0, 1.0])
def test_very_many_chunks(tmp_path: Path, far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are read at a time, also from a file system that is far away."""
    monkeypatch.setattr(chunk_io, "_FAR", far)
    array = made(tmp_path, (300, 2), (1, 2), "float32")
    array[...] = np.arange(600).reshape(300, 2)
    one = chunk_io.inspect_array(array)
    assert one is not None
    calls = []
    np.testing.assert_array_equal(chunk_io.read(one, (...,), lambda: calls.append(1)), np.asarray(array[...]))
    assert len(calls) == 4, "64 were tried first; the others came in batches"


@pytest.mark.parametrize("where", [(...,), (slice(1, 5),), (slice(None), slice(1, 2))])
def test_chunks_that_are_equal(tmp_path: Path, where: Any) -> None:
    """Their bytes are decoded once in a row; what comes between them isn't lost."""
    array = made(tmp_path, (6, 2), (1, 2), "float32")
    array[...] = np.array([1, 1, 2, 1, 1, 3], dtype="float32")[:, None] + np.array([0, 10], dtype="float32")
    (tmp_path / "x" / "c.3.0").unlink()
    one = chunk_io.inspect_array(array)
    assert one is not None
    np.testing.assert_array_equal(chunk_io.read(one, where), np.asarray(array[where]))


@pytest.mark.parametrize("where", [(...,), (slice(20, 280),), (slice(20, 280), slice(1, 2)), (slice(90, 110),)])
def test_of_most_of_an_array_only_what_is_there_is_looked_for(tmp_path: Path, where: Any) -> None:
    array = made(tmp_path, (300, 2), (1, 1), "float32")
    array[...] = np.arange(600).reshape(300, 2)
    for path in (tmp_path / "x").glob("c.*[1-8].1"):
        path.unlink()
    for name in ("c.5.1.0123abcd.partial", "c.5", "other"):
        (tmp_path / "x" / name).write_bytes(b"no chunk")
    one = chunk_io.inspect_array(array)
    assert one is not None
    np.testing.assert_array_equal(chunk_io.read(one, where), np.asarray(array[where]))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases(), st.data())
def test_bytes_are_those_of_zarr(tmp_path: Path, case: tuple[Any, ...], data: st.DataObject) -> None:
    """Of whole chunks along the first axis, up to its end."""
    shape, cut, dtype, _, _ = case
    blocks = -(-shape[0] // cut[0])
    first = data.draw(st.integers(0, blocks - 1))
    where = (slice(first * cut[0], min(shape[0], data.draw(st.integers(first + 1, blocks)) * cut[0])),)
    array = made(tmp_path, shape, cut, dtype)
    values = np.arange(np.prod(shape)).reshape(shape)[where] % 250
    array[where] = values.astype(dtype)
    one = chunk_io.inspect_array(array)
    assert one is not None
    files = {f"x/{path.name}": path.read_bytes() for path in (tmp_path / "x").glob("c*")}
    assert dict(chunk_io.encode_chunks(one, where, values)) == files


@pytest.mark.parametrize("where", [(1,), (slice(None), [0, 1]), (slice(0, 4, 2),), (slice(None, None, -1),)])
def test_what_is_no_box(where: tuple[Any, ...]) -> None:
    assert not chunk_io.is_box(where)


def test_what_is_not_ours_is_left_to_zarr(tmp_path: Path) -> None:
    assert chunk_io.inspect_array(made(tmp_path, (4, 4), (1, 1), "float64", shards=(2, 2))) is None
    assert chunk_io.inspect_array(zarr.create_array({}, shape=(2,), chunks=(1,), dtype="float64")) is None
    assert chunk_io.inspect_array(zarr.create_array(tmp_path / "y", shape=(2,), chunks=(1,), dtype="float64")) is None


@pytest.mark.parametrize("harm", [lambda raw: raw[:-1], lambda raw: b"", lambda raw: bytes([raw[0] ^ 4]) + raw[1:]])
def test_damage_is_an_error(tmp_path: Path, harm: Any) -> None:
    array = made(tmp_path, (4,), (4,), "float64")
    array[...] = 1.0
    path = tmp_path / "x" / "c.0"
    path.write_bytes(harm(path.read_bytes()))
    one = chunk_io.inspect_array(array)
    assert one is not None
    with pytest.raises(ValueError, match=r"^the checksum of a chunk is [0-9a-f]{8}, and \w* was stored$"):
        chunk_io.read(one, (...,))
