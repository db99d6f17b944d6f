"""Parquet, Arrow and Feather: the same table as the .csv file gives, and what is said about bad ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scenarios.sources.columns import MEND_MISSING
from scenarios.sources.read_table import read_table

pa = pytest.importorskip("pyarrow", reason="tables in Parquet and Arrow files need ckrr[data]")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


MISSING = "file must have no missing values"
KINDS = "file must have numbers, text or booleans in its columns"


def write_arrow(table: Any, file: str) -> None:
    with pa.OSFile(file, "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS: dict[str, Callable[[Any, str], None]] = {
    ".parquet": parquet.write_table,
    ".feather": feather.write_feather,
    ".arrow": write_arrow,
}


def write(folder: Path, columns: dict[str, Any], suffix: str = ".parquet") -> str:
    file = str(folder / f"t{suffix}")
    WRITERS[suffix](columns if isinstance(columns, pa.Table) else pa.table(columns), file)
    return file


def make_frame(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "kind": pd.Categorical(rng.choice(["b", "a"], rows), categories=["c", "b", "a"]),
            "ok": rng.random(rows) < 0.5,
            "count": rng.integers(-5, 5, rows),
            "y": rng.normal(size=rows),
        }
    )


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_table_is_that_of_the_csv_file(suffix: str, tmp_path: Path) -> None:
    frame = make_frame()
    frame.to_csv(tmp_path / "t.csv", index=False)
    file = write(tmp_path, pa.Table.from_pandas(frame, preserve_index=False), suffix)
    for target in (None, "x"):
        for found, expected in zip(read_table(file, target), read_table(str(tmp_path / "t.csv"), target), strict=True):
            assert (found == expected).all()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1, 2, 3], pa.uint64()),
        pa.array([1, 2, 3], pa.float32()),
        pa.array(np.array([1, 2, 3], dtype=np.float16)),
        pa.array([Decimal(1), Decimal(2), Decimal(3)]),
    ],
)
def test_numbers_of_all_types(values: Any, tmp_path: Path) -> None:
    X, _ = read_table(write(tmp_path, {"a": values, "y": [1.0, 2.0, 3.0]}))
    assert X.tolist() == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, None]}, f"{MISSING}, got null in column 'a' at row 2 of FILE: {MEND_MISSING}"),
        ({"a": [1.0, np.nan]}, f"{MISSING}, got NaN in column 'a' at row 2 of FILE: {MEND_MISSING}"),
        ({"a": ["x", ""]}, f"{MISSING}, got '' in column 'a' at row 2 of FILE: {MEND_MISSING}"),
        ({"a": ["x", None]}, f"{MISSING}, got null in column 'a' at row 2 of FILE: .*"),
        ({"a": pa.nulls(2)}, f"{MISSING}, got null in column 'a' at row 1 of FILE: .*"),
        ({"a": [1.0, np.inf]}, "file must hold finite numbers, got inf in column 'a' at row 2 of FILE"),
        ({"a": pa.array([1, 2], pa.date32())}, rf"{KINDS}, got dates \('date32\[day\]'\) in column 'a' of FILE: .*"),
        (
            {"a": pa.array([1, 2], pa.timestamp("s"))},
            rf"{KINDS}, got dates \('timestamp.*'\) in column 'a' of FILE: .*",
        ),
        ({"a": [[1], [2]]}, f"{KINDS}, got the type .*list.* in column 'a' of FILE: .*"),
        ({"a": [b"x", b"x"]}, f"{KINDS}, got the type 'binary' in column 'a' of FILE: .*"),
        (
            {"a": ["p", "q"]},
            "file must have categories that repeat .* 2 different ones in 2 rows of column 'a' of FILE: .*",
        ),
        (
            {"__index_level_0__": [1, 2]},
            "file must have no index, got the column '__index_level_0__' in FILE: write .*",
        ),
        ({}, "file must have two columns or more .*, got only 'y' in FILE"),
    ],
)
def test_bad_columns(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = write(tmp_path, {**columns, "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match=f"^{message.replace('FILE', file)}$"):
        read_table(file)


@pytest.mark.parametrize("suffix", WRITERS)
def test_no_rows(suffix: str, tmp_path: Path) -> None:
    empty = pa.table({"a": pa.array([], pa.string()), "y": pa.array([], pa.float64())})
    with pytest.raises(ValueError, match=r"^file must have rows, got none in "):
        read_table(write(tmp_path, empty, suffix))


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_small_file_of_many_rows_is_refused(suffix: str, tmp_path: Path) -> None:
    """Runs of one value take next to no space in any of the formats, if they are compressed."""
    zeros = pa.array(np.zeros(17_000_000, dtype=np.int8))
    file, table = str(tmp_path / f"t{suffix}"), pa.table({"a": zeros, "y": zeros})
    if suffix == ".parquet":
        parquet.write_table(table, file, compression="zstd")
    else:
        feather.write_feather(table, file, compression="zstd", chunksize=len(zeros))
    assert Path(file).stat().st_size < 1 << 20
    with pytest.raises(ValueError, match=r"^file must hold at most 256 MB, got 259 MB unpacked in "):
        read_table(file)


def test_compressed_text_is_measured_before_it_is_read(tmp_path: Path) -> None:
    file = str(tmp_path / "t.feather")
    feather.write_feather(pa.table({"a": ["x" * 1_000_000] * 270, "y": np.arange(270.0)}), file, compression="zstd")
    assert Path(file).stat().st_size < 1 << 20
    with pytest.raises(ValueError, match=r"^file must hold at most 256 MB, got 257 MB unpacked in "):
        read_table(file)


def test_a_long_text_in_many_rows_is_held_once(tmp_path: Path) -> None:
    """As single texts these would take 500 MB."""
    words = pa.array(["a" * 50_000, "b"]).take(pa.array(np.arange(20_000) % 2))
    file = str(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"a": words, "y": np.arange(20_000.0)}), file, store_schema=False)
    code = (
        "import pyarrow; from scenarios.sources.read_table import read_table\n"
        f"print(read_table({file!r})[0].sum(axis=0).tolist(), pyarrow.default_memory_pool().max_memory() < 50e6)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[10000.0, 10000.0] True\n"


def test_an_end_before_the_last_batch_is_seen(tmp_path: Path) -> None:
    """The footer has the number of batches."""
    file = Path(write(tmp_path, {"a": np.arange(20.0), "y": np.arange(20.0)}, ".arrow"))
    whole, mark = file.read_bytes(), b"\xff" * 4
    starts = [i for i in range(0, len(whole), 8) if whole.startswith(mark, i) and whole[i + 4 : i + 8] != bytes(4)]
    assert len(starts) == 4  # the schema and three batches
    file.write_bytes(whole[: starts[-1] + 4] + bytes(4) + whole[starts[-1] + 8 :])
    with pytest.raises(ValueError, match=r"pyarrow says '2 of 3 batches found'$"):
        read_table(str(file))


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("share", [0, 0.3, 0.6, 0.9, 0.99])
def test_files_that_are_cut_off(suffix: str, share: float, tmp_path: Path) -> None:
    file = Path(write(tmp_path, pa.Table.from_pandas(make_frame(), preserve_index=False), suffix))
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=rf"^file must be a whole {suffix} file, got .*: pyarrow says ") as caught:
        read_table(str(file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".feather", ".arrow"])
def test_every_flipped_byte_is_told_or_makes_a_table(suffix: str, tmp_path: Path) -> None:
    """Formats without checksums: a flipped bit of a number is another number."""
    columns = {"a": np.arange(3.0), "c": ["p", "q", "p"], "y": np.arange(3.0)}
    file = Path(write(tmp_path, columns, suffix))
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            outcome = str(read_table(str(file))[0].shape[0])
        except ValueError as error:
            outcome = str(error)
        assert outcome in ("1", "2", "3") or outcome.startswith(("file must ", "target must ")), (place, outcome)
        assert "\n" not in outcome


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, {"a": [1.0, 2.0], "y": [1.0, 2.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as Python has it for a package that can't be imported
    with pytest.raises(ValueError, match=r"^file needs the package pyarrow, .*: run pip install 'ckrr\[data\]'$"):
        read_table(file)
