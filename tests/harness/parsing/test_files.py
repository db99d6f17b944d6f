"""Files are read whole, whatever the file system returns at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.parsing.files import UnsafePathError, read_file


@pytest.mark.parametrize("data", [b"", b"x", b"0123456789"])
def test_a_file_in_parts(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path, original = tmp_path / "file", os.read
    path.write_bytes(data)
    monkeypatch.setattr(os, "read", lambda file, count: original(file, min(count, 3)))
    assert read_file(str(path)) == data


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, original = tmp_path / "file", os.fstat
    path.write_bytes(b"0123456789")

    def grow(file: int) -> os.stat_result:
        found = original(file)
        with path.open("ab") as more:
            more.write(b"abcdefghij")
        return found

    monkeypatch.setattr(os, "fstat", grow)
    assert read_file(str(path)) == b"0123456789abcdefghij"
    with pytest.raises(UnsafePathError, match="more than the limit"):
        read_file(str(path), 25)
