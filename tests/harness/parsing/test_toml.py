"""TOML from strangers: bounded in size and depth, and never a hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.parsing.files import read_regular_file
from harness.parsing.toml import DEEPEST, LARGEST, parse_toml, read_toml


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#" * (LARGEST + 1), "has more than 256 kB"),
        ("a = " + "[" * 50_000, "is nested more than 16 levels deep"),
        ("a = " + "[" * 100 + "]" * 100, "is nested more than 16 levels deep"),
        ("a = " + "{a=" * 50 + "1" + "}" * 50, "is nested more than 16 levels deep"),
        (".".join("a" * 100_000) + " = 1", "has a key of more than 16 parts"),
        (f"[{'.'.join(['a'] * 17)}]", "has a key of more than 16 parts"),
        (" . ".join(['"a b"'] * 17) + " = 1", "has a key of more than 16 parts"),
        ("\t.\t".join(["'='"] * 17) + " = 1", "has a key of more than 16 parts"),
        (".".join([r'"\""'] * 17) + " = 1", "has a key of more than 16 parts"),
        ("a = {" + ".".join("a" * 17) + " = 1}", "has a key of more than 16 parts"),
        (f"a = {'9' * 5000}", "has a whole number of more than 64 bits"),
        (f"a = [{{b = 0x{'f' * 17}}}]", "has a whole number of more than 64 bits"),
        (f"a = {2**63}", "has a whole number of more than 64 bits"),
        (f"a = {-(2**63) - 1}", "has a whole number of more than 64 bits"),
        ("a = '\0'", "is not TOML: Found invalid character"),
        (r'a = "\ud800"', "is not TOML: Escaped character"),
        ("a = '\udcff'", "is not text in UTF-8"),
        ("a = 1\na = 2", "is not TOML: Cannot overwrite a value"),
    ],
)
def test_too_much_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}"):
        parse_toml(text)


def test_what_is_allowed_is_plenty() -> None:
    deep = "a = " + "[" * DEEPEST + "]" * DEEPEST
    key = ".".join("a" * DEEPEST) + " = 1"
    for text in (deep, key, f"a = {2**63 - 1}\nb = {-(2**63)}", "#" * LARGEST, "a = [" + "0.1, " * 10_000 + "]"):
        assert isinstance(parse_toml(text), dict)
    assert parse_toml('a = "one.two.three, 1.2.3, and so on ..."') == {"a": "one.two.three, 1.2.3, and so on ..."}


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "good").write_text("a = 1")
    (tmp_path / "link").symlink_to("good")
    for name in ("fifo", "device"):
        with pytest.raises(ValueError, match=r"^can't be read: it is no regular file$"):
            read_toml(tmp_path / name)
    with pytest.raises(ValueError, match=r"^can't be read: Is a directory$"):
        read_toml(tmp_path)
    with pytest.raises(ValueError, match=r"^can't be read: no file has such a name$"):
        read_toml("a\0b")
    assert read_toml(tmp_path / "link") == {"a": 1}


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match=r"^has more than 1 kB$"):
        read_regular_file(tmp_path / "sparse", 1024)


def test_it_loads_nothing_else() -> None:
    """`ckrr status` uses it."""
    heavy = {"pydantic", "numpy", "zarr", "dask", "distributed", "xarray"}
    code = f"import sys, harness.parsing.toml; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
